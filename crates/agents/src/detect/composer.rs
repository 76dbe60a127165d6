//! The place where prompts are written: whether it is on the screen, and whether somebody has begun to write there.
//!
//! Owns the difference between a draft and the hint that stands in an empty composer. Refuses guessing: a composer that is
//! not recognised is unknown, not empty.

use std::ops::Range;

use proto::agent::Composer;
use term::Screen;

use super::rows::{Rows, StyledRow};
use super::spec::ComposerSpec;

/// A composer on a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its first row.
    pub(crate) row: usize,
    /// What it holds.
    pub(crate) holds: Composer,
}

/// Finds the composer.
pub(crate) fn find(spec: &ComposerSpec, rows: &Rows, screen: &Screen) -> Option<Place> {
    let region = rows.region(spec.region, None);
    let text = rows.text(&region);
    if spec.not.as_ref().is_some_and(|not| not.is_in(text)) {
        return None;
    }
    let found = spec.prompt.last_captures(text)?;
    let row = rows.row_at(&region, found.get(0)?.start());
    let written = found.name("text").map_or(0..0, |written| written.range());
    let is_empty = || {
        let held = text.get(written.clone()).unwrap_or_default();
        let held = without_frame(spec, held);
        let held = held.trim();
        held.is_empty()
            || spec.placeholders.iter().any(|hint| hint.is_in(held))
            || (spec.faint_is_empty && is_faint(rows, screen, &region, &written))
    };
    let holds = if is_empty() { Composer::Empty } else { Composer::Draft };
    Some(Place { row, holds })
}

fn without_frame(spec: &ComposerSpec, text: &str) -> String {
    match &spec.frame {
        None => text.to_owned(),
        Some(frame) => text.lines().map(|row| frame.cut_from(row)).collect::<Vec<_>>().join("\n"),
    }
}

/// Whether all that is written there is shown faint: a hint, or the tail of a suggestion.
fn is_faint(rows: &Rows, screen: &Screen, region: &Range<usize>, written: &Range<usize>) -> bool {
    let base = |row: usize| rows.text(&(region.start..row)).len() + usize::from(row > region.start);
    let first = rows.row_at(region, written.start);
    let last = rows.row_at(region, written.end.max(written.start + 1) - 1);
    (first..=last).all(|row| {
        let start = written.start.saturating_sub(base(row));
        let end = written.end.saturating_sub(base(row));
        StyledRow::of(screen, row).is_faint(&(start..end))
    })
}
