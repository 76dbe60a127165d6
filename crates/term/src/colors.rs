//! The colours of one terminal: those that the child has set and those that the last viewer's terminal shows.
//! The answer to a colour query uses the child's own first, then the viewer's. Without either there is no
//! answer, because programs choose their own colours by it. Colours are kept as numbers, so that no answer
//! repeats text from the child.

/// Index of the default foreground; below it is the palette.
pub(crate) const FOREGROUND: u16 = 256;
/// Index of the default background.
pub(crate) const BACKGROUND: u16 = 257;
/// Index of the cursor.
pub(crate) const CURSOR: u16 = 258;

/// Colour names that programs use for a cursor or a background. X11 knows hundreds; these are enough.
const NAMES: [(&[u8], u32); 19] = [
    (b"black", 0x00_00_00),
    (b"blue", 0x00_00_ff),
    (b"brown", 0xa5_2a_2a),
    (b"cyan", 0x00_ff_ff),
    (b"darkgray", 0xa9_a9_a9),
    (b"gold", 0xff_d7_00),
    (b"gray", 0xbe_be_be),
    (b"green", 0x00_ff_00),
    (b"grey", 0xbe_be_be),
    (b"lightgray", 0xd3_d3_d3),
    (b"magenta", 0xff_00_ff),
    (b"navy", 0x00_00_80),
    (b"orange", 0xff_a5_00),
    (b"pink", 0xff_c0_cb),
    (b"purple", 0xa0_20_f0),
    (b"red", 0xff_00_00),
    (b"violet", 0xee_82_ee),
    (b"white", 0xff_ff_ff),
    (b"yellow", 0xff_ff_00),
];

/// How often colours may be pushed. One more push drops the oldest.
pub(crate) const PUSHED_MAX: usize = 10;

/// A colour with sixteen bits for red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rgb(pub u16, pub u16, pub u16);

impl Rgb {
    /// Reads `rgb:r/g/b`, `#rrggbb` or a common name.
    pub fn parse(text: &[u8]) -> Option<Rgb> {
        if let Some(parts) = text.strip_prefix(b"rgb:") {
            let mut parts = parts.split(|byte| *byte == b'/').map(scaled);
            let color = Rgb(parts.next()??, parts.next()??, parts.next()??);
            return parts.next().is_none().then_some(color);
        }
        if let Some(digits) = text.strip_prefix(b"#") {
            let width = digits.len() / 3;
            let is_even = digits.len() == 3 * width && (1..=4).contains(&width);
            let mut parts = digits.chunks(width.max(1)).map(scaled);
            return is_even.then(|| Some(Rgb(parts.next()??, parts.next()??, parts.next()??)))?;
        }
        let name = text.to_ascii_lowercase();
        let (_, color) = NAMES.iter().find(|(known, _)| *known == name)?;
        let part = |shift: u32| (color >> shift & 0xff) as u16 * 0x101;
        Some(Rgb(part(16), part(8), part(0)))
    }

    /// Formats the colour as answers and setting sequences write it.
    pub(crate) fn spec(self) -> String {
        let Rgb(red, green, blue) = self;
        format!("rgb:{red:04x}/{green:04x}/{blue:04x}")
    }

    /// Returns true if text on this colour should be light.
    fn is_dark(self) -> bool {
        let Rgb(red, green, blue) = self;
        let luminance = 299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue);
        luminance < 1000 * 0x8000
    }
}

/// Scales one to four hexadecimal digits to sixteen bits.
fn scaled(digits: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(digits).ok()?;
    let value = u32::from_str_radix(text, 16).ok().filter(|_| digits.iter().all(u8::is_ascii_hexdigit))?;
    let most = match digits.len() {
        1 => 0xf,
        2 => 0xff,
        3 => 0xfff,
        4 => 0xffff,
        _ => return None,
    };
    u16::try_from(value * 0xffff / most).ok()
}

/// Whether a terminal is light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Light text on a dark ground.
    Dark,
    /// The other way round.
    Light,
}

/// Colours by index: 0 to 255 the palette, then foreground, background and cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColorTable(Vec<(u16, Rgb)>);

impl ColorTable {
    /// Returns the colour with this index, if it is known.
    pub fn get(&self, index: u16) -> Option<Rgb> {
        self.0.binary_search_by_key(&index, |(known, _)| *known).ok().map(|at| self.0[at].1)
    }

    /// Sets a colour. An index beyond the cursor's is ignored.
    pub fn set(&mut self, index: u16, color: Rgb) {
        match self.0.binary_search_by_key(&index, |(known, _)| *known) {
            Ok(at) => self.0[at].1 = color,
            Err(at) if index <= CURSOR => self.0.insert(at, (index, color)),
            Err(_) => {}
        }
    }

    /// Returns true if no colour is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns every colour with its index, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = (u16, Rgb)> + '_ {
        self.0.iter().copied()
    }

    fn retain(&mut self, is_kept: impl Fn(u16) -> bool) {
        self.0.retain(|(index, _)| is_kept(*index));
    }
}

/// What is known about the colours of one terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Colors {
    /// What the child has set.
    pub(crate) set: ColorTable,
    /// What the last viewer's terminal shows.
    pub(crate) shown: ColorTable,
    /// What the last viewer's terminal says it is.
    pub(crate) scheme: Option<Scheme>,
    /// The child's colours at each push (XTPUSHCOLORS), oldest first.
    pub(crate) pushed: Vec<ColorTable>,
}

impl Colors {
    pub(crate) fn get(&self, index: u16) -> Option<Rgb> {
        self.set.get(index).or_else(|| self.shown.get(index))
    }

    /// Returns light or dark: by the background in effect, or else by what the viewer's terminal reports.
    pub(crate) fn scheme(&self) -> Option<Scheme> {
        let by_ground = |color: Rgb| if color.is_dark() { Scheme::Dark } else { Scheme::Light };
        let set = self.set.get(BACKGROUND).map(by_ground);
        set.or(self.scheme).or_else(|| self.shown.get(BACKGROUND).map(by_ground))
    }

    /// Drops what the child has set: one colour, or the whole palette.
    pub(crate) fn reset(&mut self, index: Option<u16>) {
        self.set.retain(|known| index.map_or(known >= FOREGROUND, |index| known != index));
    }

    pub(crate) fn reset_all(&mut self) {
        self.set = ColorTable::default();
        self.pushed.clear();
    }

    /// Saves the child's colours (XTPUSHCOLORS).
    pub(crate) fn push(&mut self) {
        if self.pushed.len() >= PUSHED_MAX {
            self.pushed.remove(0);
        }
        self.pushed.push(self.set.clone());
    }

    /// Restores the colours of the last push (XTPOPCOLORS).
    pub(crate) fn pop(&mut self) {
        if let Some(set) = self.pushed.pop() {
            self.set = set;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m10a_colours_are_read_as_numbers_in_every_form() {
        for (text, color) in [
            ("rgb:ff/80/00", Some(Rgb(0xffff, 0x8080, 0))),
            ("rgb:f/8/0", Some(Rgb(0xffff, 0x8888, 0))),
            ("rgb:1234/abcd/0000", Some(Rgb(0x1234, 0xabcd, 0))),
            ("#fff", Some(Rgb(0xffff, 0xffff, 0xffff))),
            ("#102030", Some(Rgb(0x1010, 0x2020, 0x3030))),
            ("Orange", Some(Rgb(0xffff, 0xa5a5, 0))),
            ("rgb:ff/80", None),
            ("rgb:ff/80/00/00", None),
            ("rgb:+f/80/00", None),
            ("#12345", None),
            ("#", None),
            ("?", None),
            (";touch x;", None),
        ] {
            assert_eq!(Rgb::parse(text.as_bytes()), color, "{text}");
        }
    }
}
