//! `qd pads edit`: opens a copy in a person's editor. If anything fails, the text stays in a file that the
//! error names.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use client::{ClientError, Connection};
use proto::pads::PadOutcome;
use proto::request::{Pad, PadAct};
use proto::{ErrorCode, Printable};
use serde_json::json;

use crate::context::Context;
use crate::errors::CliError;

/// Opens a scratchpad, or a new one, in the person's editor and writes it back.
pub(super) fn edit(
    context: &mut Context,
    mut connection: Connection,
    project: Option<String>,
    name: &str,
) -> Result<(), CliError> {
    let editor = editor(|variable| std::env::var(variable).ok())?;
    let (before, revision) = current(&mut connection, project.clone(), name)?;
    // Editing takes long: the connection is closed, and a daemon that was replaced meanwhile is found again.
    drop(connection);
    let draft = Draft::new(&std::env::temp_dir(), name, &before)?;
    let edited = draft.edited_with(&editor).and_then(|()| draft.text());
    let after = match edited {
        Ok(after) => after,
        Err(error) => return Err(draft.kept(error, &before)),
    };
    if after == before {
        draft.discard();
        let words = format!("{name} stays at revision {revision}");
        return context.print(&json!({"name": name, "revision": revision}), |_, out| out.line(&words));
    }
    let write = PadAct::Write { name: name.to_owned(), content: after, expected_revision: Some(revision) };
    let written = context.connect().and_then(|mut connection| super::ask(&mut connection, project, write));
    match written {
        Ok(outcome) => {
            draft.discard();
            super::show(context, outcome)
        }
        Err(error) => Err(draft.kept(error, &before)),
    }
}

/// Returns the text and its revision; a missing pad is empty, at revision 0.
fn current(
    connection: &mut Connection,
    project: Option<String>,
    name: &str,
) -> Result<(String, u64), CliError> {
    let act = PadAct::Read { name: name.to_owned(), revision: None };
    match connection.pad(Pad { project, act }) {
        Ok(PadOutcome::Text { content, revision, .. }) => Ok((content, revision)),
        Err(ClientError::Failed(failure)) if failure.code == ErrorCode::NotFound => Ok((String::new(), 0)),
        Ok(other) => Err(CliError::usage(format!("the daemon answered a read with {other:?}"))),
        Err(error) => Err(error.into()),
    }
}

/// Returns the person's editor.
fn editor(variable: impl Fn(&str) -> Option<String>) -> Result<String, CliError> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    set("VISUAL")
        .or_else(|| set("EDITOR"))
        .ok_or_else(|| CliError::usage("neither VISUAL nor EDITOR is set: which editor?"))
}

/// A copy in a directory that only this user may enter.
struct Draft {
    directory: PathBuf,
    file: PathBuf,
}

impl Draft {
    fn new(parent: &Path, name: &str, text: &str) -> Result<Self, CliError> {
        let make = || -> io::Result<Self> {
            let mut random = [0; 8];
            rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
            let directory = parent.join(format!("qd-pad-{:016x}", u64::from_le_bytes(random)));
            DirBuilder::new().mode(0o700).create(&directory)?;
            // Editors choose the mode by the extension; scratchpads are markdown.
            let ending = if name.contains('.') { "" } else { ".md" };
            let file = directory.join(format!("{name}{ending}"));
            let mut opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file)?;
            opened.write_all(text.as_bytes())?;
            Ok(Self { directory, file })
        };
        make().map_err(CliError::io("no copy to edit can be made"))
    }

    /// Runs the editor on it; the variable is parsed as a shell would.
    fn edited_with(&self, editor: &str) -> Result<(), CliError> {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(format!("{editor} \"$@\"")).arg("qd").arg(&self.file);
        let status = shell.status().map_err(CliError::io(editor_error(editor)))?;
        if status.success() {
            Ok(())
        } else {
            Err(CliError::Io(editor_error(editor), io::Error::other(how(status))))
        }
    }

    fn text(&self) -> Result<String, CliError> {
        fs::read_to_string(&self.file).map_err(CliError::io("the edited text cannot be read"))
    }

    /// Returns the error, with the path of the person's text; an unchanged copy is removed.
    fn kept(self, error: CliError, before: &str) -> CliError {
        if fs::read(&self.file).is_ok_and(|now| now == before.as_bytes()) {
            self.discard();
            return error;
        }
        let path = self.file.to_string_lossy();
        error.hinted(format!("your text is kept in {path}"))
    }

    fn discard(self) {
        // A copy that cannot be removed has nothing that is not written.
        drop(fs::remove_dir_all(&self.directory));
    }
}

fn editor_error(editor: &str) -> String {
    format!("the editor {}", Printable(editor))
}

fn how(status: ExitStatus) -> String {
    match status.code() {
        Some(127) => "not found".to_owned(),
        Some(code) => format!("it failed with exit code {code}, so nothing is written"),
        None => "a signal ended it, so nothing is written".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn visual_comes_before_editor_and_neither_is_an_error() {
        let from = |pairs: &'static [(&str, &str)]| {
            editor(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(from(&[("VISUAL", "a -w"), ("EDITOR", "b")]).unwrap(), "a -w");
        assert_eq!(from(&[("VISUAL", " "), ("EDITOR", "b")]).unwrap(), "b");
        assert!(from(&[]).unwrap_err().to_string().contains("EDITOR"));
    }

    #[test]
    fn a_copy_is_private_and_an_editor_may_have_words_and_quotes() {
        let parent = tempfile::tempdir().unwrap();
        let draft = Draft::new(parent.path(), "notes", "one\n").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&draft.directory), mode(&draft.file)), (0o700, 0o600));
        draft.edited_with("sh -c 'printf \"two\\n\" >> \"$1\"' x").unwrap();
        assert_eq!(draft.text().unwrap(), "one\ntwo\n");
        draft.discard();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_was_typed_survives_an_editor_that_fails_and_an_untouched_copy_does_not() {
        let parent = tempfile::tempdir().unwrap();
        let draft = Draft::new(parent.path(), "notes", "one\n").unwrap();
        let error = draft.edited_with("sh -c 'echo two > \"$1\"; exit 3' x").unwrap_err();
        assert!(error.to_string().contains("exit code 3"), "{error}");
        let file = draft.file.clone();
        let kept = draft.kept(error, "one\n");
        assert!(kept.hint().unwrap().contains(file.to_str().unwrap()), "{kept:?}");
        assert_eq!(fs::read_to_string(file).unwrap(), "two\n");
        let untouched = Draft::new(parent.path(), "other", "same").unwrap();
        let error = untouched.edited_with("exit 1; :").unwrap_err();
        assert!(untouched.kept(error, "same").hint().is_none());
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
    }
}
