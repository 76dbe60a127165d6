//! Text to the clipboard: of the person's terminal (OSC 52, wrapped where tmux is between), and by a command.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64_STANDARD;

/// Most bytes that are sent: terminals drop longer ones without a word.
const MAX: usize = 100 << 10; // 100 KiB

/// What was done with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// Sent to the terminal, which may take it or not.
    Sent(usize),
    /// The same, by tmux, which keeps it back unless it is set to pass it on.
    ThroughTmux(usize),
    /// Too long for a terminal: only the deck's own register has it.
    OwnOnly(usize),
}

/// Starts a command that takes the text from its standard input. It is a file, so that nobody waits for the command.
pub(crate) fn start(command: &[String], text: &str) -> io::Result<Child> {
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::other("the command has no program"))?;
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::memfd_create("qd-copy", flags)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::from(file))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// Where a copy was sent, in words; none if it was sent nowhere.
fn receivers(sent: Option<Copied>, command: Option<&str>) -> Option<String> {
    let terminal = match sent {
        Some(Copied::Sent(_)) => Some("your terminal's clipboard".to_owned()),
        Some(Copied::ThroughTmux(_)) => {
            Some("your terminal's clipboard (tmux needs `set-clipboard on`)".to_owned())
        }
        Some(Copied::OwnOnly(_)) | None => None,
    };
    let command = command.map(|command| proto::Printable(command).to_string());
    let to: Vec<String> = terminal.into_iter().chain(command).collect();
    (!to.is_empty()).then(|| to.join(" and "))
}

/// What a person is told about the copy of a program: nothing of it is kept in the deck.
pub(crate) fn words_of_child(
    name: &str,
    sent: Option<Copied>,
    command: Option<&str>,
    bytes: usize,
) -> String {
    match receivers(sent, command) {
        Some(to) => format!("{name} sent {} to {to}", counted(bytes)),
        None => format!("{name} wanted to copy {}: the clipboard is switched off", counted(bytes)),
    }
}

/// What a person is told about a copy: where it was sent, and that the deck has it.
pub(crate) fn words(sent: Option<Copied>, command: Option<&str>, bytes: usize) -> String {
    let what = counted(bytes);
    match (receivers(sent, command), sent) {
        (Some(to), _) => format!("{what} sent to {to}, and kept here"),
        (None, Some(Copied::OwnOnly(_))) => {
            format!("{what} kept here only: too long for a terminal's clipboard")
        }
        (None, _) => format!("{what} kept here only: the clipboard is switched off"),
    }
}

fn counted(bytes: usize) -> String {
    if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") }
}

/// Appends the sequence that hands a text to the terminal's clipboard.
pub(crate) fn copy(text: &str, is_tmux: bool, out: &mut Vec<u8>) -> Copied {
    if text.len() > MAX {
        return Copied::OwnOnly(text.len());
    }
    let sequence = format!("\x1b]52;c;{}\x07", BASE64_STANDARD.encode(text));
    wrapped(&sequence, is_tmux, out);
    if is_tmux { Copied::ThroughTmux(text.len()) } else { Copied::Sent(text.len()) }
}

/// Appends a sequence for the person's terminal, also for one that has tmux between.
pub(crate) fn wrapped(sequence: &str, is_tmux: bool, out: &mut Vec<u8>) {
    if is_tmux {
        // tmux passes on what is inside, where every Escape stands twice.
        out.extend_from_slice(b"\x1bPtmux;");
        out.extend_from_slice(sequence.replace('\x1b', "\x1b\x1b").as_bytes());
        out.extend_from_slice(b"\x1b\\");
    }
    out.extend_from_slice(sequence.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u20_a_copy_is_one_sequence_and_inside_tmux_a_wrapped_one_too() {
        let mut out = Vec::new();
        assert_eq!(copy("héllo", false, &mut out), Copied::Sent(6));
        assert_eq!(out, b"\x1b]52;c;aMOpbGxv\x07");
        out.clear();
        copy("hi", true, &mut out);
        assert_eq!(out, b"\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\\x1b]52;c;aGk=\x07");
    }

    #[test]
    fn u20_a_hundred_kilobytes_go_by_sequence_by_tmux_and_by_command_and_the_words_say_so() {
        let text = "x".repeat(100_000);
        for is_tmux in [false, true] {
            let mut out = Vec::new();
            let expected = if is_tmux { Copied::ThroughTmux(100_000) } else { Copied::Sent(100_000) };
            assert_eq!(copy(&text, is_tmux, &mut out), expected);
            assert!(out.len() > 133_000 * (1 + usize::from(is_tmux)));
        }
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("copied");
        let script = format!("cat > {}", file.display());
        let mut child = start(&["sh".to_owned(), "-c".to_owned(), script], &text).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        assert!(start(&["/nonexistent".to_owned()], "x").is_err());
        let sent = Some(Copied::Sent(3));
        assert_eq!(words(sent, None, 3), "3 bytes sent to your terminal's clipboard, and kept here");
        assert_eq!(words(None, Some("wl-copy"), 3), "3 bytes sent to wl-copy, and kept here");
        assert!(words(None, None, 3).contains("kept here only"));
        assert!(words(Some(Copied::OwnOnly(3)), None, 3).contains("too long"));
        let through_tmux = words(Some(Copied::ThroughTmux(1)), None, 1);
        let expected =
            "1 byte sent to your terminal's clipboard (tmux needs `set-clipboard on`), and kept here";
        assert_eq!(through_tmux, expected);
        assert_eq!(words_of_child("vim", sent, None, 3), "vim sent 3 bytes to your terminal's clipboard");
        assert!(words_of_child("vim", None, None, 3).contains("switched off"));
    }

    #[test]
    fn u20_a_text_that_no_terminal_takes_is_not_sent() {
        let mut out = Vec::new();
        let long = "x".repeat(MAX + 1);
        assert_eq!(copy(&long, false, &mut out), Copied::OwnOnly(MAX + 1));
        assert!(out.is_empty());
    }
}
