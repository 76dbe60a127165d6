//! The streams that children print: plain lines, coloured lines, and a full-screen program's repaints. They
//! are deterministic, so that two runs compare, and do not contain `~`, which the end marker uses.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Which stream, in the order of the table.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Plain,
    Colour,
    Repaint,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Plain, Self::Colour, Self::Repaint];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Colour => "colour",
            Self::Repaint => "repaint",
        }
    }
}

/// A small linear congruential generator: the numbers need not be good, but always the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

const WORDS: &[&str] = &[
    "error",
    "warning",
    "building",
    "src/main.rs",
    "ok",
    "test",
    "finished",
    "0x7fff",
    "the",
    "in",
    "of",
    "passed",
];

/// Writes about `bytes` of a stream into `directory` and returns the file.
pub(crate) fn write(directory: &Path, kind: Kind, bytes: usize) -> Result<PathBuf, String> {
    let path = directory.join(format!("{}-{bytes}.stream", kind.name()));
    generate(&path, kind, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// Writes `count` numbered lines.
pub(crate) fn write_history(directory: &Path, count: usize) -> Result<PathBuf, String> {
    let path = directory.join(format!("history-{count}.stream"));
    let text: String = (1..=count).map(|number| format!("line {number:05} of a long history\n")).collect();
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

fn generate(path: &Path, kind: Kind, bytes: usize) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    let mut dice = Dice(7);
    let mut written = 0;
    let mut piece = String::new();
    while written < bytes {
        piece.clear();
        match kind {
            Kind::Plain => plain_line(&mut dice, &mut piece),
            Kind::Colour => colour_line(&mut dice, &mut piece),
            Kind::Repaint => repaint_frame(&mut dice, &mut piece),
        }
        out.write_all(piece.as_bytes())?;
        written += piece.len();
    }
    out.flush()
}

fn plain_line(dice: &mut Dice, line: &mut String) {
    let length = 20 + dice.roll(58) as usize;
    while line.len() < length {
        line.push_str(WORDS[dice.roll(WORDS.len() as u64) as usize]);
        line.push(' ');
    }
    line.push('\n');
}

/// As compilers, test runners and `ls` colour: the sixteen colours, some of the 256, bold, reset.
fn colour_line(dice: &mut Dice, line: &mut String) {
    for _ in 0..4 + dice.roll(6) {
        let word = WORDS[dice.roll(WORDS.len() as u64) as usize];
        let style = match dice.roll(4) {
            0 => format!("\x1b[1;{}m", 31 + dice.roll(6)),
            1 => format!("\x1b[38;5;{}m", dice.roll(256)),
            2 => format!("\x1b[{}m", 90 + dice.roll(7)),
            _ => "\x1b[4m".to_owned(),
        };
        line.push_str(&format!("{style}{word}\x1b[0m "));
    }
    line.push('\n');
}

/// As full-screen programs draw: a synchronised frame of addressed, styled runs, some rows cleared.
fn repaint_frame(dice: &mut Dice, frame: &mut String) {
    frame.push_str("\x1b[?2026h\x1b[?25l");
    for row in 1..=22 {
        if dice.roll(3) == 0 {
            continue;
        }
        frame.push_str(&format!("\x1b[{row};{}H", 1 + dice.roll(20)));
        for _ in 0..1 + dice.roll(4) {
            let word = WORDS[dice.roll(WORDS.len() as u64) as usize];
            frame.push_str(&format!("\x1b[38;2;{};120;{}m{word} ", 40 * dice.roll(6), 40 * dice.roll(6)));
        }
        frame.push_str("\x1b[0m\x1b[K");
    }
    frame.push_str("\x1b[23;3H\x1b[?25h\x1b[?2026l");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_stream_holds_the_byte_that_begins_the_end_marker() {
        let directory = std::env::temp_dir().join(format!("qdbench-stream-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        for kind in Kind::ALL {
            let text = std::fs::read(write(&directory, kind, 200_000).unwrap()).unwrap();
            assert!((200_000..210_000).contains(&text.len()), "{}: {}", kind.name(), text.len());
            assert!(!text.contains(&b'~'), "{}", kind.name());
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
