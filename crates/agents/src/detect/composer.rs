//! Finds the composer, where prompts are written, and reads its text.
//!
//! It distinguishes a draft from the hint in an empty composer, and a prompt's composer from the program's
//! shell mode. A composer that no pattern recognises is unknown, never empty.

use std::ops::Range;

use proto::agent::Composer;
use term::Screen;

use super::rows::{Rows, StyledRow};
use super::spec::ComposerSpec;

/// A composer with at least this many rows may show only a part of a long text; a smaller one must show all
/// of it.
const WINDOW_ROWS: usize = 3;

/// A composer on a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComposerFound {
    /// Its first row.
    pub(crate) row: usize,
    /// What it holds.
    pub(crate) holds: Composer,
    /// The text in it, when that is a draft.
    pub(crate) written: Written,
}

/// The text that a composer shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    text: String,
    rows: usize,
    is_folded: bool,
}

impl Written {
    /// Returns true if the composer shows this text and nothing else: all of it, the placeholder that the
    /// program shows for a long paste, or the end of a text that is longer than the composer is high.
    ///
    /// Blanks, combining characters and symbols are not compared: programs wrap lines and draw these in their
    /// own ways.
    #[must_use]
    pub fn reads_as(&self, sent: &str) -> bool {
        let (shown, sent) = (comparable(&self.text), comparable(sent));
        let is_window = self.rows >= WINDOW_ROWS && !shown.is_empty() && sent.ends_with(&shown);
        self.is_folded || shown == sent || is_window
    }
}

fn comparable(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric() || c.is_ascii_punctuation()).collect()
}

/// Finds the composer.
pub(crate) fn find(spec: &ComposerSpec, rows: &Rows, screen: &Screen) -> Option<ComposerFound> {
    let region = rows.region(spec.region, None);
    let text = rows.text(&region);
    if spec.not.as_ref().is_some_and(|not| not.is_in(text)) {
        return None;
    }
    if let Some(found) = spec.shell.as_ref().and_then(|shell| shell.last_captures(text)) {
        let row = rows.row_at(&region, found.get(0)?.start());
        return Some(ComposerFound { row, holds: Composer::Shell, written: Written::default() });
    }
    let found = spec.prompt.last_captures(text)?;
    let row = rows.row_at(&region, found.get(0)?.start());
    let written = found.name("text").map_or(0..0, |written| written.range());
    let held = without_frame(spec, text.get(written.clone()).unwrap_or_default());
    let held = held.trim();
    if spec.needs_placeholder && held.is_empty() {
        return None;
    }
    let is_empty = held.is_empty()
        || spec.placeholders.iter().any(|hint| hint.is_in(held))
        || (spec.faint_is_empty && is_faint(rows, screen, &region, &written));
    if is_empty {
        return Some(ComposerFound { row, holds: Composer::Empty, written: Written::default() });
    }
    if spec.is_command(held) {
        return Some(ComposerFound { row, holds: Composer::Shell, written: Written::default() });
    }
    let is_folded = spec.folds.iter().any(|fold| fold.is_in(held));
    let written = Written { text: held.to_owned(), rows: held.lines().count(), is_folded };
    Some(ComposerFound { row, holds: Composer::Draft, written })
}

fn without_frame(spec: &ComposerSpec, text: &str) -> String {
    match &spec.frame {
        None => text.to_owned(),
        Some(frame) => text.lines().map(|row| frame.cut_from(row)).collect::<Vec<_>>().join("\n"),
    }
}

/// Returns true if all text there is faint: a hint, or the rest of a suggestion.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Written {
        Written { text: text.to_owned(), rows: text.lines().count(), is_folded: false }
    }

    #[test]
    fn c17_a_composer_reads_as_a_text_only_when_it_shows_that_text_and_nothing_else() {
        let sent = "[peer:a 1234]\n│ first line, which is long\n│ second 👩‍💻 line";
        assert!(
            written("[peer:a 1234]\n│ first line,\nwhich is long\n│ second \u{fffd} line").reads_as(sent)
        );
        assert!(!written("x[peer:a 1234]\n│ first line, which is long\n│ second line").reads_as(sent));
        assert!(!written("[peer:a 1234]\n│ first line, which is long\n│ second line!").reads_as(sent));
        assert!(!written("an old prompt").reads_as(sent));
        assert!(!Written::default().reads_as(sent));
    }

    #[test]
    fn c17_a_long_text_may_show_its_end_or_a_mark_but_a_short_end_is_not_taken_for_it() {
        let lines: Vec<String> = (0..40).map(|number| format!("line {number}")).collect();
        let sent = lines.join("\n");
        assert!(written(&lines[34..].join("\n")).reads_as(&sent));
        assert!(!written("line 39").reads_as(&sent));
        assert!(!written(&lines[..6].join("\n")).reads_as(&sent));
        assert!(Written { is_folded: true, ..written("[Pasted 40 lines]") }.reads_as(&sent));
    }
}
