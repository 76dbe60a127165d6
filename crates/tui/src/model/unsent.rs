//! What the person wrote and the daemon has not taken. It is offered again where it was written.

use std::path::{Path, PathBuf};

use super::overlay::Purpose;

/// Texts that are not where they were meant to go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unsent {
    /// Lines, by what they were for.
    texts: Vec<(Purpose, String)>,
    /// Scratchpads, with the file that has what was written. Other texts of an editor have no name here.
    drafts: Vec<(String, PathBuf)>,
}

impl Unsent {
    /// Keeps a line until the person is asked for the same again.
    pub(crate) fn keep_text(&mut self, purpose: Purpose, text: String) {
        self.texts.retain(|(other, _)| *other != purpose);
        self.texts.push((purpose, text));
    }

    /// Takes the line out that was meant for this.
    pub(crate) fn take_text(&mut self, purpose: &Purpose) -> Option<String> {
        let at = self.texts.iter().position(|(other, _)| other == purpose)?;
        Some(self.texts.remove(at).1)
    }

    /// Keeps the file with the text of a scratchpad.
    pub(crate) fn keep_draft(&mut self, name: &str, file: PathBuf) {
        self.forget_draft(&file);
        self.drafts.push((name.to_owned(), file));
    }

    /// The file with the newest text of a scratchpad that was not saved.
    pub(crate) fn draft(&self, name: &str) -> Option<&PathBuf> {
        self.drafts.iter().rev().find(|(other, _)| other == name).map(|(_, file)| file)
    }

    /// The newest scratchpad that was not saved.
    pub(crate) fn newest_draft(&self) -> Option<&str> {
        self.drafts.iter().rev().map(|(name, _)| name.as_str()).find(|name| !name.is_empty())
    }

    pub(crate) fn forget_draft(&mut self, file: &Path) {
        self.drafts.retain(|(_, other)| other != file);
    }

    /// All files with texts that were not saved.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.drafts.iter().map(|(_, file)| file)
    }
}
