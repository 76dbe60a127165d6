//! The colours of viewers' terminals, for children that ask which colours their terminal has.
//!
//! A viewer's terminal is asked when it attaches. Its answers belong to the viewed run and go into its
//! checkpoint. A run without a viewer so far answers with the colours of the terminal with which any run was
//! last viewed, whether that was before the run started or after: its first viewer is most likely the same
//! person at the same terminal. A viewer that may not type changes nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use proto::terminal::{ColorScheme, TerminalReport};
use term::{ColorTable, Rgb, Scheme, Screen};

use super::run::Run;
use super::viewer::Viewer;

/// What a terminal shows.
type TerminalColors = (ColorTable, Option<Scheme>);

/// The colours of the terminal with which any run was last viewed, shared by all workers.
#[derive(Clone, Default)]
pub(crate) struct LastColors(Arc<Shared>);

#[derive(Default)]
struct Shared {
    colors: Mutex<Option<TerminalColors>>,
    /// Grows with each change, so that a run finds out about one without the lock.
    version: AtomicU64,
}

impl LastColors {
    fn set(&self, shown: TerminalColors) {
        *self.0.colors.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
        self.0.version.fetch_add(1, Ordering::Release);
    }

    fn get(&self) -> Option<TerminalColors> {
        self.0.colors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn version(&self) -> u64 {
        self.0.version.load(Ordering::Acquire)
    }
}

/// Where the colours of one run's screen come from.
pub(super) struct RunColors {
    last: LastColors,
    /// The version of the shared colours that the screen has.
    version: u64,
    /// The run has had a viewer with colours of its own.
    is_own: bool,
}

impl RunColors {
    /// Gives a new run's screen the last viewer's colours; a run of an earlier daemon brings its own, which
    /// count for others too while no other terminal is known.
    pub(super) fn new(last: &LastColors, screen: &mut Screen) -> Self {
        let (table, scheme) = screen.viewer_colors();
        let is_own = !table.is_empty() || scheme.is_some();
        if is_own && last.get().is_none() {
            last.set((table.clone(), scheme));
        }
        let mut colors = Self { last: last.clone(), version: 0, is_own };
        colors.update(screen);
        colors
    }

    /// Gives the screen of a run without colours of its own those of the last viewer of any run.
    pub(super) fn update(&mut self, screen: &mut Screen) {
        let version = self.last.version();
        if self.is_own || self.version == version {
            return;
        }
        self.version = version;
        if let Some((table, scheme)) = self.last.get() {
            screen.set_viewer_colors(table, scheme);
        }
    }

    /// Records the colours of a viewer of this run.
    fn note_own(&mut self, shown: TerminalColors) {
        self.is_own = true;
        self.last.set(shown);
    }
}

impl Run {
    /// Records the colours of a viewer's terminal: children that ask get them, and a child that wants to know
    /// about light and dark gets a report.
    pub(super) fn note_viewer_colors(&mut self, viewer: &Viewer, report: &TerminalReport) {
        if viewer.read_only || report.is_colorless() {
            return;
        }
        let shown = reported_colors(report);
        self.colors.note_own(shown.clone());
        let handle = Arc::clone(&self.handle);
        let mut screen = handle.screen();
        let (table, scheme) = screen.viewer_colors();
        if (table, scheme) == (&shown.0, shown.1) {
            return;
        }
        screen.set_viewer_colors(shown.0, shown.1);
        let replies = screen.take_replies();
        drop(screen);
        if !replies.is_empty() && self.end.announced().is_none() {
            self.input_queue.answer(&replies, &self.handle, &mut self.link);
        }
        if !self.position.is_replaying() {
            self.checkpoint_sender().keep_everything();
        }
    }
}

fn reported_colors(report: &TerminalReport) -> TerminalColors {
    let mut table = ColorTable::default();
    for (index, [red, green, blue]) in &report.colors {
        table.set(*index, Rgb(*red, *green, *blue));
    }
    let scheme = report.scheme.map(|scheme| match scheme {
        ColorScheme::Dark => Scheme::Dark,
        ColorScheme::Light => Scheme::Light,
    });
    (table, scheme)
}

#[cfg(test)]
mod tests {
    use term::{GridSize, Limits};

    use super::*;

    fn screen() -> Screen {
        Screen::new(GridSize::clamped(80, 24), Limits { history_lines: 0 })
    }

    fn shown(red: u16) -> TerminalColors {
        let mut table = ColorTable::default();
        table.set(257, Rgb(red, 0, 0));
        (table, Some(Scheme::Dark))
    }

    /// Returns what a child that asks for its ground is answered.
    fn answer(colors: &mut RunColors, screen: &mut Screen) -> String {
        colors.update(screen);
        screen.feed(b"\x1b]11;?\x1b\\");
        String::from_utf8(screen.take_replies()).unwrap()
    }

    #[test]
    fn m10f_a_run_that_nobody_has_viewed_answers_with_the_terminal_that_viewed_another_later() {
        let last = LastColors::default();
        let (mut first, mut second) = (screen(), screen());
        let mut viewed = RunColors::new(&last, &mut first);
        let mut unviewed = RunColors::new(&last, &mut second);
        assert_eq!(answer(&mut unviewed, &mut second), "", "no terminal is known");
        viewed.note_own(shown(0x1111));
        assert_eq!(answer(&mut unviewed, &mut second), "\x1b]11;rgb:1111/0000/0000\x1b\\");
        unviewed.note_own(shown(0x2222));
        second.set_viewer_colors(shown(0x2222).0, None);
        viewed.note_own(shown(0x3333));
        let own = "\x1b]11;rgb:2222/0000/0000\x1b\\";
        assert_eq!(answer(&mut unviewed, &mut second), own, "its own viewer's colours stay");
    }
}
