//! A terminal window with `qd` in it: output goes through an emulator, so a test asks what a person would
//! see.

use std::ffi::OsStr;
use std::process::ExitStatus;
use std::time::Instant;

use proto::Size;
use term::{Limits, Screen, Wraps};
use testkit::{DEADLINE, Pty, TestDaemon};

/// One window.
pub(crate) struct Window {
    pub(crate) pty: Pty,
    pub(crate) screen: Screen,
    /// Every byte drawn so far.
    pub(crate) drawn: Vec<u8>,
    /// True if it answers queries, like a person's terminal.
    pub(crate) answers: bool,
}

impl Window {
    /// Opens a window of this size with `qd` and these arguments in it.
    pub(crate) fn open(stage: &TestDaemon, size: Size, arguments: &[&str]) -> Self {
        Self::running(stage, size, env!("CARGO_BIN_EXE_qd"), arguments).0
    }

    /// Opens a window of this size with a program in it; returns its pid too.
    pub(crate) fn running(stage: &TestDaemon, size: Size, program: &str, arguments: &[&str]) -> (Self, i32) {
        let mut window = Self::without_program(size, b"");
        let pid = window.start(stage, program, arguments);
        (window, pid)
    }

    /// Opens a window without a program, as it is after these bytes were drawn in it.
    pub(crate) fn without_program(size: Size, drawn: &[u8]) -> Self {
        let mut screen = Screen::new(term_size(size), Limits::default());
        screen.feed(drawn);
        Self { pty: Pty::open(size), screen, drawn: Vec::new(), answers: true }
    }

    /// Starts a program in a window that has none, or whose program has ended; returns its pid.
    pub(crate) fn start(&mut self, stage: &TestDaemon, program: &str, arguments: &[&str]) -> i32 {
        let variables = stage.variables();
        let variables: Vec<(&str, &OsStr)> =
            variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
        self.pty.spawn(OsStr::new(program), arguments, &variables)
    }

    /// Opens a window of 80x24 that is attached to `x`, once it shows `text`.
    pub(crate) fn attached(stage: &TestDaemon, text: &str) -> Self {
        let mut window = Self::open(stage, Size::DEFAULT, &["attach", "x"]);
        window.until_shows(text);
        window
    }

    /// Returns what is visible.
    pub(crate) fn text(&self) -> String {
        self.screen.text(Wraps::Keep).trim_end().to_owned()
    }

    /// Draws until the screen meets the condition.
    pub(crate) fn until(&mut self, what: &str, wanted: impl Fn(&Screen) -> bool) {
        let until = Instant::now() + DEADLINE;
        while !wanted(&self.screen) {
            let is_drawn = self.draw(until);
            assert!(is_drawn, "never: {what}; the window shows:\n{}", self.text());
        }
    }

    /// Draws until this text is visible.
    pub(crate) fn until_shows(&mut self, text: &str) {
        self.until(&format!("`{text}`"), |screen| screen.text(Wraps::Keep).contains(text));
    }

    /// Draws until these bytes have come, however soon something else was drawn over them.
    pub(crate) fn until_drawn(&mut self, needle: &[u8]) {
        let until = Instant::now() + DEADLINE;
        while !self.has_drawn(needle) {
            let is_drawn = self.draw(until);
            assert!(is_drawn, "never: {}; the window shows:\n{}", needle.escape_ascii(), self.text());
        }
    }

    /// Draws what comes next; returns false if nothing came.
    pub(crate) fn draw(&mut self, until: Instant) -> bool {
        let bytes = self.pty.take_drawn(until);
        self.screen.feed(&bytes);
        let replies = self.screen.take_replies();
        if self.answers && !replies.is_empty() {
            self.pty.type_keys(&replies);
        }
        self.drawn.extend_from_slice(&bytes);
        !bytes.is_empty()
    }

    /// Types.
    pub(crate) fn type_keys(&self, keys: &str) {
        self.pty.type_keys(keys.as_bytes());
    }

    /// Presses the detach keys once.
    pub(crate) fn detach(&mut self) -> ExitStatus {
        self.type_keys("\u{1c}d");
        self.wait_exit()
    }

    /// Waits until `qd` has ended, and draws its last output.
    pub(crate) fn wait_exit(&mut self) -> ExitStatus {
        let status = self.pty.wait_exit(DEADLINE);
        while self.draw(Instant::now()) {}
        status
    }

    /// Gives the window another size.
    pub(crate) fn resize(&mut self, size: Size) {
        self.screen.resize(term_size(size));
        self.pty.resize(size);
    }

    /// Returns true if these bytes were drawn.
    pub(crate) fn has_drawn(&self, needle: &[u8]) -> bool {
        self.drawn.windows(needle.len()).any(|window| window == needle)
    }
}

fn term_size(size: Size) -> term::GridSize {
    term::GridSize::clamped(size.cols.into(), size.rows.into())
}
