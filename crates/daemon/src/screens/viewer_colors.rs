//! The colours of viewers' terminals, for children that ask which colours their terminal has.
//!
//! A viewer's terminal is asked when it attaches. Its answers belong to the viewed run and go into its
//! checkpoint. A run without a viewer so far answers with the colours of the terminal with which any run was
//! last viewed: its first viewer is most likely the same person at the same terminal. A viewer that may not
//! type changes nothing.

use std::sync::{Arc, Mutex, PoisonError};

use proto::terminal::{ColorScheme, TerminalReport};
use term::{ColorTable, Rgb, Scheme, Screen};

use super::run::Run;
use super::viewer::Viewer;

/// What a terminal shows.
type TerminalColors = (ColorTable, Option<Scheme>);

/// The colours of the terminal with which any run was last viewed, shared by all workers.
#[derive(Clone, Default)]
pub(crate) struct LastColors(Arc<Mutex<Option<TerminalColors>>>);

impl LastColors {
    fn set(&self, shown: TerminalColors) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
    }

    /// Gives a new run's screen the last viewer's colours; a run of an earlier daemon brings its own.
    pub(super) fn exchange(&self, screen: &mut Screen) {
        let (table, scheme) = screen.viewer_colors();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            _ if table.is_empty() && scheme.is_none() => {
                if let Some((table, scheme)) = last.clone() {
                    screen.set_viewer_colors(table, scheme);
                }
            }
            None => *last = Some((table.clone(), scheme)),
            Some(_) => {}
        }
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
        self.last_colors.set(shown.clone());
        let handle = Arc::clone(&self.handle);
        let mut screen = handle.screen();
        let (table, scheme) = screen.viewer_colors();
        if (table, scheme) == (&shown.0, shown.1) {
            return;
        }
        screen.set_viewer_colors(shown.0, shown.1);
        let replies = screen.take_replies();
        drop(screen);
        if !replies.is_empty() && self.ended.is_none() {
            self.input_queue.answer(&replies, &self.handle, &mut self.link);
        }
        if self.seen >= self.ready_at {
            self.keep_everything();
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
