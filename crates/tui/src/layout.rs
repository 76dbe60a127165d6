//! Tabs and splits from one start of the deck to the next, one file per project. They are the deck's own: the daemon
//! knows nothing of them. Another deck of the same project may differ; the last change wins.

use std::path::{Path, PathBuf};

use crate::model::deck::Deck;
use crate::model::hints::Hints;

/// The file beside the layouts that counts hints.
const HINTS: &str = "hints.json";

/// The file that keeps a project's layout.
#[derive(Debug)]
pub(crate) struct LayoutFile {
    path: PathBuf,
    /// It is written here, and not only read.
    is_kept: bool,
}

impl LayoutFile {
    /// The file of the project with this key, in the deck's own directory below `data`.
    pub(crate) fn of(data: &Path, project: &str, is_kept: bool) -> Self {
        Self { path: data.join("tui").join(format!("{project}.json")), is_kept }
    }

    /// The layout as it was kept; an empty deck when there is none or it does not read.
    pub(crate) fn read(&self) -> Deck {
        let text = std::fs::read_to_string(&self.path).ok();
        let deck: Option<Deck> = text.and_then(|text| serde_json::from_str(&text).ok());
        deck.filter(is_sound).unwrap_or_default()
    }

    /// How often each hint was shown, by its name.
    pub(crate) fn hints(&self) -> Hints {
        let text = std::fs::read_to_string(self.path.with_file_name(HINTS)).unwrap_or_default();
        Hints::new(serde_json::from_str(&text).unwrap_or_default())
    }

    /// Keeps how often hints were shown, for all projects.
    pub(crate) fn keep_hints(&self, hints: Option<&Hints>) {
        if let Some(Ok(text)) = hints.map(|hints| serde_json::to_vec(&hints.counts)) {
            write(&self.path.with_file_name(HINTS), &text);
        }
    }

    /// Keeps a layout. A layout that cannot be written is no reason to disturb anybody.
    pub(crate) fn keep(&self, deck: &Deck) {
        let Ok(text) = serde_json::to_vec(deck) else { return };
        if !self.is_kept {
            return;
        }
        write(&self.path, &text);
    }
}

/// Writes a file as a whole, or leaves it as it was.
fn write(path: &Path, text: &[u8]) {
    let part = path.with_extension("part");
    let kept = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&part, text))
        .and_then(|()| std::fs::rename(&part, path));
    drop(kept);
}

/// Returns true if every tab shows panes that exist, and its focus is one of them.
fn is_sound(deck: &Deck) -> bool {
    let has_panes = |tab: &crate::model::deck::Tab| {
        let panes = tab.root.panes();
        panes.contains(&tab.focus) && panes.iter().all(|pane| deck.panes.contains_key(pane))
    };
    deck.tabs.iter().all(has_panes) && (deck.tabs.is_empty() || deck.active < deck.tabs.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::splits::Axis;
    use proto::ProcessId;

    #[test]
    fn a_layout_is_there_again_at_the_next_start() {
        let directory = tempfile::tempdir().unwrap();
        let file = LayoutFile::of(directory.path(), "00aa", true);
        assert_eq!(file.read(), Deck::default());
        let mut deck = Deck::default();
        deck.open(ProcessId::from_entropy(1));
        deck.split(ProcessId::from_entropy(2), Axis::Columns);
        file.keep(&deck);
        assert_eq!(file.read(), deck);
        assert_ne!(LayoutFile::of(directory.path(), "00bb", true).read(), deck);
        // A deck inside a process reads it and does not change it.
        let inner = LayoutFile::of(directory.path(), "00aa", false);
        inner.keep(&Deck::default());
        assert_eq!(inner.read(), deck);
    }

    #[test]
    fn a_layout_that_does_not_read_is_an_empty_deck() {
        let directory = tempfile::tempdir().unwrap();
        let file = LayoutFile::of(directory.path(), "x", true);
        std::fs::create_dir_all(directory.path().join("tui")).unwrap();
        std::fs::write(directory.path().join("tui/x.json"), "{").unwrap();
        assert_eq!(file.read(), Deck::default());
    }
}
