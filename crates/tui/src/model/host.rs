//! What the person's terminal has said about itself.

use crate::frame::ColorDepth;
use crate::host::input::Answer;

/// The index of the ground's colour in a report.
const GROUND: u16 = 257;

/// Returns true if a colour is nearer to white than to black.
fn is_light(color: [u16; 3]) -> bool {
    let [red, green, blue] = color.map(|part| u32::from(part >> 8));
    red * 299 + green * 587 + blue * 114 > 128_000
}

/// The terminal as far as it is known. It is asked once; its answers may come at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostFacts {
    pub(crate) colors: ColorDepth,
    /// It has the kitty keyboard protocol, or told the deck otherwise how modified keys are written.
    pub(crate) has_keys: bool,
    /// It shows a picture at once.
    pub(crate) has_sync: bool,
    /// Its ground is light.
    pub(crate) is_light: Option<bool>,
    /// Everything that was asked is answered.
    pub(crate) is_known: bool,
}

impl HostFacts {
    /// Notes an answer.
    pub(crate) fn note(&mut self, answer: &Answer) {
        match answer {
            Answer::KeyboardFlags(_) => self.has_keys = true,
            Answer::Mode(2026, is_known) => self.has_sync = *is_known,
            Answer::Color(GROUND, color) => self.is_light = Some(is_light(*color)),
            Answer::IsLight(is_light) => self.is_light = Some(*is_light),
            Answer::Last => self.is_known = true,
            Answer::Color(..) | Answer::Mode(..) | Answer::Status | Answer::Other => {}
        }
    }

    /// What the terminal can do, in one line for a person.
    pub(crate) fn words(&self) -> String {
        let has = |is_there: bool| if is_there { "yes" } else { "no" };
        let colors = match self.colors {
            ColorDepth::True => "24-bit",
            ColorDepth::Indexed => "256",
            ColorDepth::Basic => "16",
            ColorDepth::None => "none",
        };
        format!(
            "Your terminal tells all keys apart: {}; draws without flicker: {}; colours: {colors}.",
            has(self.has_keys),
            has(self.has_sync)
        )
    }
}
