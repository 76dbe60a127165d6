//! `qd pads edit`: opens a person's own editor, and what they typed is never lost.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use testkit::MarkedDaemon;

use crate::{QD, text, told};

/// A script as the editor, and a directory for copies that the test can read.
struct ScriptedEditor {
    stage: MarkedDaemon,
    editor: PathBuf,
    copies: PathBuf,
}

impl ScriptedEditor {
    fn new(script: &str) -> Self {
        let stage = MarkedDaemon::start(QD);
        let (editor, copies) = (stage.root().join("editor"), stage.root().join("copies"));
        std::fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o700)).unwrap();
        std::fs::create_dir(&copies).unwrap();
        Self { stage, editor, copies }
    }

    fn edit(&self, name: &str) -> Output {
        let mut command = self.stage.command(&["pads", "edit", name]);
        command.current_dir(self.stage.root()).env("TMPDIR", &self.copies);
        command.env_remove("VISUAL").env("EDITOR", &self.editor).env("QD_EXE", QD);
        command.output().unwrap()
    }

    fn qd(&self, words: &[&str]) -> Output {
        self.stage.command(words).current_dir(self.stage.root()).output().unwrap()
    }

    fn kept(&self) -> Vec<PathBuf> {
        let below = |path: &Path| -> Vec<PathBuf> {
            std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
        };
        below(&self.copies).iter().flat_map(|directory| below(directory)).collect()
    }
}

#[test]
fn a_scratchpad_is_made_changed_and_left_alone_by_an_editor() {
    let editor =
        ScriptedEditor::new("case $(cat \"$1\") in '') echo one > \"$1\";; one) echo two >> \"$1\";; esac");
    assert_eq!(told(&editor.edit("notes")), "notes is at revision 1\n");
    assert_eq!(told(&editor.edit("notes")), "notes is at revision 2\n");
    assert_eq!(told(&editor.edit("notes")), "notes stays at revision 2\n");
    assert_eq!(told(&editor.qd(&["pads", "show", "notes"])), "one\ntwo\n");
    assert_eq!(editor.kept(), Vec::<PathBuf>::new());
}

#[test]
fn what_was_typed_is_kept_when_somebody_else_wrote_meanwhile() {
    let editor = ScriptedEditor::new("\"$QD_EXE\" pads write notes theirs > /dev/null; echo mine > \"$1\"");
    let output = editor.edit("notes");
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    let kept = editor.kept();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(std::fs::read_to_string(&kept[0]).unwrap(), "mine\n");
    assert!(text(&output.stderr).contains(kept[0].to_str().unwrap()), "{}", text(&output.stderr));
    assert_eq!(told(&editor.qd(&["pads", "show", "notes"])), "theirs");
}

#[test]
fn what_was_typed_is_kept_when_the_daemon_cannot_take_it() {
    let editor = ScriptedEditor::new("head -c 1048577 /dev/zero | tr '\\0' x > \"$1\"");
    let output = editor.edit("notes");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert_eq!(editor.kept().len(), 1);
    assert_eq!(editor.qd(&["pads", "show", "notes"]).status.code(), Some(3));
}

#[test]
fn an_editor_that_fails_writes_nothing() {
    let editor = ScriptedEditor::new("exit 9");
    let output = editor.edit("notes");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("exit code 9"), "{}", text(&output.stderr));
    assert_eq!((editor.kept().len(), editor.qd(&["pads", "show", "notes"]).status.code()), (0, Some(3)));
}

#[test]
fn the_daemon_may_be_replaced_while_a_person_edits() {
    let editor = ScriptedEditor::new("\"$QD_EXE\" shutdown > /dev/null; echo mine > \"$1\"");
    assert_eq!(told(&editor.edit("notes")), "notes is at revision 1\n");
    assert_eq!(told(&editor.qd(&["pads", "show", "notes"])), "mine\n");
}
