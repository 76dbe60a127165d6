//! Keys that move the cursor through the lines of a process, and that begin a selection there.

use crate::keymap::Action;
use crate::model::history::{History, SelectBy, WordClass, word_class};

/// Does what a key means that moves or selects.
pub(super) fn step(history: &mut History, action: Action) {
    let half = isize::try_from(history.rows / 2).unwrap_or(1).max(1);
    match action {
        Action::Down => history.move_lines(1),
        Action::Up => history.move_lines(-1),
        Action::PageDown => history.page(half),
        Action::PageUp => history.page(-half),
        Action::Bottom => history.go_to_last_line(),
        Action::FocusLeft => history.cursor.col = history.cursor.col.saturating_sub(1),
        Action::FocusRight => history.cursor.col += 1,
        Action::LineStart => history.cursor.col = 0,
        Action::LineEnd => {
            let text = history.text_of(history.cursor.line);
            history.cursor.col = usize::from(crate::frame::width::columns(&text)).saturating_sub(1);
        }
        Action::WordForward => word(history, WordMove::Forward, false),
        Action::WordBack => word(history, WordMove::Back, false),
        Action::WordEnd => word(history, WordMove::End, false),
        Action::LongWordForward => word(history, WordMove::Forward, true),
        Action::LongWordBack => word(history, WordMove::Back, true),
        Action::LongWordEnd => word(history, WordMove::End, true),
        Action::ParagraphForward => history.paragraph(false),
        Action::ParagraphBack => history.paragraph(true),
        Action::SelectText => select(history, SelectBy::Character),
        Action::SelectLines => select(history, SelectBy::Line),
        Action::SelectBlock => select(history, SelectBy::Block),
        _ => {}
    }
}

/// Begins a selection here, or ends the one that there is.
fn select(history: &mut History, by: SelectBy) {
    let is_same = history.anchor.is_some() && history.select_by == by;
    history.anchor = if is_same { None } else { history.anchor.or(Some(history.cursor)) };
    history.select_by = by;
}

/// Where to among the words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordMove {
    Forward,
    Back,
    End,
}

/// Moves to another word of the line; at its ends to the next or the previous line. Long words end at blanks only.
fn word(history: &mut History, to: WordMove, is_long: bool) {
    let cells = history.lines.get(history.cursor.line).map_or(&[][..], |line| &line.cells);
    let class = |at: usize| match word_class(cells, at) {
        WordClass::Sign if is_long => WordClass::Word,
        class => class,
    };
    let is_word = |at: usize| class(at) != WordClass::Blank;
    let starts = |at: &usize| is_word(*at) && (*at == 0 || class(at - 1) != class(*at));
    let ends = |at: &usize| is_word(*at) && class(at + 1) != class(*at);
    let col = history.cursor.col;
    let found = match to {
        WordMove::Forward => (col + 1..cells.len()).find(starts),
        WordMove::End => (col + 1..cells.len()).find(ends),
        WordMove::Back => (0..col.min(cells.len())).rev().find(starts),
    };
    match (found, to) {
        (Some(col), _) => history.cursor.col = col,
        (None, WordMove::Back) => history.move_lines(-1),
        (None, _) => {
            history.move_lines(1);
            history.cursor.col = 0;
        }
    }
}
