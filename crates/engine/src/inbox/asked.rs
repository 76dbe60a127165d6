//! What an agent's hooks asked permission for: the whole command, where its screen shows only a part.
//!
//! A request is used for a dialog only if the dialog shows a part of it: with several requests at once a person must
//! never read one command and allow another.

use proto::Evidence;
use proto::agent::{BlockedKind, Dialog, Source};

use crate::agent::Agent;

/// Most requests that are remembered.
const MOST: usize = 16;
/// So many characters of a command, spaces left out, prove that a dialog shows it.
const PROOF: usize = 24;
/// What stands for a command that can be read nowhere.
const UNREAD: &str = "(the screen is too small to show what it asks for: attach to it, or make it larger)";

/// The requests since the agent was last not blocked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked(Vec<(String, String)>);

impl Asked {
    /// Remembers a request.
    pub(crate) fn push(&mut self, title: String, body: String) {
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push((title, body));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the request that a dialog with this text is about.
    fn find_shown_in(&self, text: &str) -> Option<&(String, String)> {
        if bare(text).is_empty() {
            return if let [only] = self.0.as_slice() { Some(only) } else { None };
        }
        let shown = bare(text);
        let whole = self.0.iter().find(|(_, body)| !bare(body).is_empty() && shown.contains(&bare(body)));
        let mut parts = self.0.iter().filter(|(_, body)| is_part(&shown, &bare(body)));
        let first = parts.next()?;
        // Several that begin alike could be confused: then the screen's own words stay.
        whole.or_else(|| parts.all(|other| other == first).then_some(first))
    }
}

impl Agent {
    /// Returns what blocks the agent with the whole of what it asks permission for.
    pub(crate) fn whole_words(&self, mut evidence: Evidence) -> Evidence {
        if evidence.kind.is_some_and(|kind| kind != BlockedKind::Permission) {
            return evidence;
        }
        let server =
            self.live.evidence.table.get(Source::Server).and_then(|slot| slot.evidence.dialog.as_ref());
        let Some(dialog) = evidence.dialog.as_mut() else { return evidence };
        let is_its = |known: &&Dialog| is_part(&bare(&dialog.body), &bare(&known.body));
        if let Some((title, body)) = self.live.dialogs.asked.find_shown_in(&dialog.body) {
            (dialog.title, dialog.body) = (title.clone(), body.clone());
        } else if let Some(known) = server.filter(is_its) {
            dialog.body.clone_from(&known.body);
        } else if dialog.body.trim().is_empty() && evidence.kind.is_some() {
            UNREAD.clone_into(&mut dialog.body);
        }
        evidence
    }
}

/// Returns true if a screen's text shows a part of a command that proves it is that one. Both without spaces.
fn is_part(shown: &str, whole: &str) -> bool {
    if whole.is_empty() {
        return false;
    }
    let head: String = whole.chars().take(PROOF).collect();
    let tail: String = whole.chars().skip(whole.chars().count().saturating_sub(PROOF)).collect();
    shown.contains(&head) || shown.contains(&tail)
}

/// A text without spaces: a screen breaks lines wherever it has to.
fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
