//! Streams as programs print them, for measuring a screen. Figures of different versions are compared over
//! these texts.

use std::fmt::Write;

pub(crate) fn plain(lines: usize) -> String {
    (0..lines).fold(String::new(), |mut text, number| {
        let _ = write!(text, "{number:06} the quick brown fox jumps over the lazy dog and runs away\r\n");
        text
    })
}

pub(crate) fn colour(lines: usize) -> String {
    (0..lines).fold(String::new(), |mut text, number| {
        let (color, shade) = (number % 8, number % 256);
        let _ = write!(
            text,
            "\x1b[3{color}mdrwxr-xr-x\x1b[0m 2 user \x1b[1;3{color}mdirectory{number}\x1b[0m \x1b[38;5;{shade}mfile\x1b[0m\r\n"
        );
        text
    })
}

/// Pairs of colours that never repeat.
pub(crate) fn true_colour(pairs: u32) -> String {
    (0..pairs).fold(String::new(), |mut text, number| {
        let [_, red, green, blue] = number.wrapping_mul(2_654_435_761).to_be_bytes();
        let _ = write!(text, "\x1b[38;2;{red};{green};{blue};48;2;{blue};{red};{green}m##");
        text
    })
}

pub(crate) fn utf8(lines: usize) -> String {
    (0..lines).fold(String::new(), |mut text, number| {
        let _ = write!(text, "{number} 日本語のテキスト grün é \u{1f600} e\u{301} ─│┌┐ текст\r\n");
        text
    })
}

/// Returns a full-screen program that draws itself anew.
pub(crate) fn tui(frames: usize) -> String {
    (0..frames).fold(String::new(), |mut text, frame| {
        text.push_str("\x1b[?2026h\x1b[?25l");
        for row in 1..=24 {
            let _ = write!(
                text,
                "\x1b[{row};1H\x1b[0m│ \x1b[1;34mitem {row:02}\x1b[0m value {:04} \x1b[2mdetails\x1b[0m\x1b[K",
                frame * row
            );
        }
        text.push_str("\x1b[?25h\x1b[?2026l");
        text
    })
}
