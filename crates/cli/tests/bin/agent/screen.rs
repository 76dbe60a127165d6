//! The fake agent's screen: the layout that its manifest's rules read.

use std::io::Write;

/// Lines of the conversation that stay visible.
const LINES: usize = 8;

/// A question with numbered answers.
pub(crate) struct Dialog {
    pub(crate) title: String,
}

impl Dialog {
    pub(crate) fn new(title: &str) -> Self {
        Self { title: title.to_owned() }
    }
}

/// Everything that is drawn.
#[derive(Default)]
pub(crate) struct Screen {
    lines: Vec<String>,
    pub(crate) composer: String,
    pub(crate) dialog: Option<Dialog>,
    pub(crate) is_secret: bool,
    /// It searches old prompts: Enter submits the last one again.
    pub(crate) is_searching: bool,
    pub(crate) shells: u32,
    drawn: String,
}

impl Screen {
    pub(crate) fn begin(&mut self) {
        write("\x1b[?2004h");
    }

    pub(crate) fn say(&mut self, line: &str) {
        self.lines.push(line.to_owned());
        let excess = self.lines.len().saturating_sub(LINES);
        self.lines.drain(..excess);
    }

    /// A program status report.
    pub(crate) fn status(&self, state: &str) {
        write(&format!("\x1b]7501;state={state}:app=fake\x1b\\"));
    }

    /// Draws everything, unless it is unchanged.
    pub(crate) fn draw(&mut self, is_busy: bool) {
        let picture = self.picture(is_busy);
        if picture != self.drawn {
            write(&format!("\x1b[?2026h\x1b[H\x1b[2J{}\x1b[?2026l", picture.replace('\n', "\r\n")));
            self.drawn = picture;
        }
    }

    fn composer_row(&self) -> String {
        let lines = self.composer.lines().count();
        match self.composer.strip_prefix('!') {
            _ if self.is_searching => format!("search: {}", self.composer),
            Some(command) => format!("! {command}"),
            None if lines > 1 || self.composer.chars().count() > 60 => format!("> [Pasted {lines} lines]"),
            None => format!("> {}", self.composer),
        }
    }

    fn picture(&self, is_busy: bool) -> String {
        let mut rows = self.lines.clone();
        rows.push(String::new());
        if is_busy && self.dialog.is_none() && !self.is_secret {
            rows.push("* Working… (esc to interrupt)".to_owned());
        }
        if let Some(dialog) = &self.dialog {
            rows.push(format!("[?] {}", dialog.title));
            rows.extend(["  1. Yes", "  2. Yes, always", "  3. No"].map(str::to_owned));
        } else if self.is_secret {
            rows.push("Password:".to_owned());
        } else {
            rows.push(self.composer_row());
        }
        if self.shells > 0 {
            rows.push(format!("{} shells running", self.shells));
        }
        rows.join("\n")
    }
}

fn write(text: &str) {
    let mut out = std::io::stdout();
    let _gone = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
