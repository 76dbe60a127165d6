//! The fake agent's input: bytes become keys, a prompt becomes steps.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

/// The default length of a turn.
const TURN: Duration = Duration::from_millis(20);
/// How long it works before it asks for something: an observer must be able to see that it accepted the
/// prompt.
const BEFORE_ASKING: Duration = Duration::from_millis(250);
const PASTE_BEGIN: &[u8] = concat!("\x1b[", "200~").as_bytes();
const PASTE_END: &[u8] = concat!("\x1b[", "201~").as_bytes();

/// One step of a turn.
pub(crate) enum Step {
    Work(Duration),
    WorkUntil(PathBuf),
    Ask(String),
    Permit(String),
    ChildPermit(String),
    Say(String),
    Secret,
    Shells(u32),
    Fail(String),
    Exit(u8),
}

/// Returns the steps a prompt asks for.
pub(crate) fn steps(prompt: &str) -> VecDeque<Step> {
    let step = |line: &str| {
        // Text from another process comes with a bar before each line.
        let line = line.trim_start_matches('│').trim();
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "work" => rest.parse().ok().map(|time| Step::Work(Duration::from_millis(time))),
            "until" => Some(Step::WorkUntil(PathBuf::from(rest))),
            "ask" => Some(Step::Ask(rest.to_owned())),
            "permit" => Some(Step::Permit(rest.to_owned())),
            "child-permit" => Some(Step::ChildPermit(rest.to_owned())),
            "say" => Some(Step::Say(rest.to_owned())),
            "secret" => Some(Step::Secret),
            "shells" => rest.parse().ok().map(Step::Shells),
            "fail" => Some(Step::Fail(rest.to_owned())),
            "exit" => rest.parse().ok().map(Step::Exit),
            _ => None,
        }
    };
    let steps = prompt.lines().filter_map(step).collect::<VecDeque<Step>>();
    let work = match steps.front() {
        // An agent that ends at once has shown nothing.
        Some(Step::Work(_) | Step::WorkUntil(_) | Step::Exit(_)) => None,
        Some(Step::Ask(_) | Step::Permit(_) | Step::ChildPermit(_) | Step::Secret) => Some(BEFORE_ASKING),
        _ => Some(TURN),
    };
    work.map(Step::Work).into_iter().chain(steps).collect()
}

/// One thing that was typed.
pub(crate) enum Input {
    Text(String),
    Paste(String),
    Enter,
    Erase,
    EraseAll,
    Interrupt,
    Search,
    Quit,
}

/// Bytes on their way to becoming keys.
#[derive(Default)]
pub(crate) struct Keys {
    unread: Vec<u8>,
}

impl Keys {
    /// Returns the keys that these bytes complete.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Vec<Input> {
        self.unread.extend_from_slice(bytes);
        let mut inputs = Vec::new();
        while let Some((input, length)) = first(&self.unread) {
            self.unread.drain(..length);
            inputs.extend(input);
        }
        inputs
    }
}

/// Returns the first key of these bytes and its length; `None` when more must come.
fn first(bytes: &[u8]) -> Option<(Option<Input>, usize)> {
    let (&byte, rest) = bytes.split_first()?;
    if bytes.starts_with(PASTE_BEGIN) {
        let end = bytes.windows(PASTE_END.len()).position(|window| window == PASTE_END)?;
        let text = String::from_utf8_lossy(&bytes[PASTE_BEGIN.len()..end]).replace('\r', "\n");
        return Some((Some(Input::Paste(text)), end + PASTE_END.len()));
    }
    match (byte, rest.first()) {
        (b'\r', _) => Some((Some(Input::Enter), 1)),
        (0x7f, _) => Some((Some(Input::Erase), 1)),
        (0x15, _) => Some((Some(Input::EraseAll), 1)),
        (0x12, _) => Some((Some(Input::Search), 1)),
        (0x03 | 0x04, _) => Some((Some(Input::Quit), 1)),
        (0x1b, None) => Some((Some(Input::Interrupt), 1)),
        (0x1b, Some(b'[')) => {
            let end = bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte))?;
            Some((None, end + 3))
        }
        (0x1b, Some(_)) => Some((None, 2)),
        _ => {
            let end =
                bytes.iter().position(|byte| *byte < 0x20 || *byte == 0x7f).unwrap_or(bytes.len()).max(1);
            Some((Some(Input::Text(String::from_utf8_lossy(&bytes[..end]).into_owned())), end))
        }
    }
}
