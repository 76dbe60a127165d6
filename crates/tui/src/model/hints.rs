//! Hints for new situations: each is shown three times at most, in the status line, and never again after that.

use std::collections::BTreeMap;

use super::Model;
use super::overlay::Overlay;
use crate::keymap::{Action, Context};

/// How often each hint is shown.
const TIMES: u8 = 3;
/// How long a hint stays, in milliseconds.
const HINT_MS: u64 = 8_000;

/// A situation that a person may be in for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Situation {
    /// Somebody needs the person.
    Needed,
    /// A tab has a second pane.
    Beside,
}

impl Situation {
    const ALL: [Self; 2] = [Self::Needed, Self::Beside];

    /// Its name in the file that counts.
    fn word(self) -> &'static str {
        match self {
            Self::Needed => "needed",
            Self::Beside => "beside",
        }
    }

    fn is_on(self, model: &Model) -> bool {
        match self {
            Self::Needed => model.crew.processes.iter().any(|process| model.crew.need(process).is_some()),
            Self::Beside => model.deck.tab().is_some_and(|tab| tab.root.panes().len() > 1),
        }
    }
}

/// Which hints were shown, and the one that is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    /// How often each was shown, by its name.
    pub(crate) counts: BTreeMap<String, u8>,
    /// The situations that the person is in.
    on: Vec<Situation>,
    /// The hint that is shown, and until when.
    shown: Option<(Situation, u64)>,
}

impl Hints {
    pub(crate) fn new(counts: BTreeMap<String, u8>) -> Self {
        Self { counts, ..Self::default() }
    }

    /// When the hint that is shown goes.
    pub(crate) fn until(&self) -> Option<u64> {
        self.shown.map(|(_, until)| until)
    }
}

/// Notes which situations the person is in; returns true if a hint is shown that was not. Who needs the person is judged only
/// where that may have changed, because it takes a look at every process.
pub(crate) fn note(model: &mut Model, crew_changed: bool) -> bool {
    let Some(mut hints) = model.hints.take() else { return false };
    let now = model.now.ms;
    hints.shown = hints.shown.filter(|(situation, until)| *until > now && situation.is_on(model));
    let mut is_new = false;
    for situation in Situation::ALL.into_iter().filter(|one| crew_changed || *one != Situation::Needed) {
        let was_on = hints.on.contains(&situation);
        let is_on = situation.is_on(model);
        hints.on.retain(|other| *other != situation);
        hints.on.extend(is_on.then_some(situation));
        let count = hints.counts.get(situation.word()).copied().unwrap_or(0);
        if is_on && !was_on && count < TIMES && model.looks.has_hints {
            hints.counts.insert(situation.word().to_owned(), count + 1);
            hints.shown = Some((situation, now + HINT_MS));
            is_new = true;
        }
    }
    model.hints = Some(hints);
    is_new
}

/// The hint that is shown, in words. They fit into half of 80 columns.
pub(crate) fn words(model: &Model) -> Option<String> {
    let (situation, _) = model.hints.as_ref()?.shown?;
    let keymap = &model.looks.keymap;
    let prefix = keymap.prefix_text();
    let key = |action: Action| keymap.key_of(Context::Deck, action);
    match situation {
        // Who is in the inbox has found it.
        Situation::Needed if matches!(model.overlays.last(), Some(Overlay::Inbox(_))) => None,
        Situation::Needed => {
            let (next, inbox) = (key(Action::NextNeed)?, key(Action::Inbox)?);
            Some(format!("{prefix} {next} goes there, {prefix} {inbox} answers"))
        }
        Situation::Beside => {
            let (left, zoom) = (key(Action::FocusLeft)?, key(Action::Zoom)?);
            Some(format!("{prefix} {left} other pane, {prefix} {zoom} zooms"))
        }
    }
}
