//! Scratchpads in the person's editor: what was written is never lost.

use std::path::{Path, PathBuf};

use proto::pads::PadOutcome;
use proto::request::{Pad, PadAct};
use testkit::MarkedDaemon;
use testkit::process_scan::eventually;

use super::deck::SIZE;
use super::running;
use super::window::Window;

/// A project with a scratchpad, and a deck in it whose editor is a script.
struct Edited {
    stage: MarkedDaemon,
    directory: tempfile::TempDir,
}

impl Edited {
    fn new() -> Self {
        let edited = Self { stage: running(), directory: tempfile::tempdir().unwrap() };
        std::fs::create_dir(edited.drafts()).unwrap();
        edited.pad(PadAct::Write {
            name: "plan".to_owned(),
            content: "one\n".to_owned(),
            expected_revision: None,
        });
        edited
    }

    /// Where the deck keeps the files for the editor.
    fn drafts(&self) -> PathBuf {
        self.directory.path().join("drafts")
    }

    /// The only file that was kept.
    fn draft(&self) -> PathBuf {
        let mut files = std::fs::read_dir(self.drafts()).unwrap().flatten();
        let file = files.next().unwrap().path();
        assert!(files.next().is_none());
        file
    }

    fn pad(&self, act: PadAct) -> PadOutcome {
        let project = Some(self.directory.path().to_string_lossy().into_owned());
        self.stage.client().pad(Pad { project, act }).unwrap()
    }

    fn text(&self) -> String {
        match self.pad(PadAct::Read { name: "plan".to_owned(), revision: None }) {
            PadOutcome::Text { content, .. } => content,
            other => panic!("{other:?}"),
        }
    }

    /// Opens the scratchpad in a deck whose editor is this script; `$1` is the file.
    fn opened(&self, editor: &str) -> Window {
        let script = self.directory.path().join("editor");
        std::fs::write(&script, editor).unwrap();
        let start = format!(
            "cd {0} && EDITOR='sh {1}' TMPDIR={2} QD={3} exec {3}",
            shown(self.directory.path()),
            shown(&script),
            shown(&self.drafts()),
            env!("CARGO_BIN_EXE_qd"),
        );
        let (mut window, _) = Window::running(&self.stage, SIZE, "sh", &["-c", &start]);
        window.until_shows("PADS");
        window.type_keys("\u{1c}p");
        window.until_shows("RAIL");
        window.type_keys("\r");
        window.until_shows("E edit");
        window
    }
}

fn shown(path: &Path) -> std::path::Display<'_> {
    path.display()
}

#[test]
fn u36_a_pad_that_somebody_changed_meanwhile_keeps_both_texts_until_they_are_one() {
    let edited = Edited::new();
    let mut window = edited.opened(
        "echo mine >> \"$1\"\n[ -e once ] && { echo theirs >> \"$1\"; exit; }\ntouch once\n\
         printf 'one\\ntheirs\\n' | \"$QD\" pads write plan -",
    );
    window.type_keys("E");
    window.until_shows("plan is not saved");
    window.until_shows("theirs");
    assert_eq!(edited.text(), "one\ntheirs\n");
    let draft = edited.draft();
    assert_eq!(std::fs::read_to_string(&draft).unwrap(), "one\nmine\n");
    window.type_keys("E");
    window.until_shows("at revision 3");
    assert_eq!(edited.text(), "one\nmine\nmine\ntheirs\n");
    eventually("the file is gone", || (!draft.exists()).then_some(()));
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn u36_a_pad_that_is_too_long_or_no_text_is_not_cut_but_stays_in_its_file() {
    const LONG: u64 = (1 << 20) + 1;
    let edited = Edited::new();
    let mut window = edited.opened(&format!(
        "[ -e long ] && {{ printf 'a\\377b' > \"$1\"; exit; }}\ntouch long\nhead -c {LONG} /dev/zero | tr '\\0' x > \"$1\""
    ));
    window.type_keys("E");
    window.until_shows("it has more than 1 MiB");
    let draft = edited.draft();
    assert_eq!((std::fs::metadata(&draft).unwrap().len(), edited.text().as_str()), (LONG, "one\n"));
    window.type_keys("E");
    window.until_shows("it is not UTF-8");
    assert_eq!((std::fs::read(&draft).unwrap(), edited.text().as_str()), (b"a\xffb".to_vec(), "one\n"));
    window.type_keys("q\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
    assert!(window.text().contains("was not saved"), "{}", window.text());
}

#[test]
fn u36_a_pad_that_is_edited_while_the_daemon_is_shut_down_is_saved_by_the_next_one() {
    let edited = Edited::new();
    let mut window = edited.opened("[ -e once ] || { touch once; echo mine >> \"$1\"; \"$QD\" shutdown; }");
    window.type_keys("E");
    window.until_shows("plan is not saved");
    assert_eq!(std::fs::read_to_string(edited.draft()).unwrap(), "one\nmine\n");
    window.type_keys("\u{1c}A");
    window.until_shows("the daemon is back");
    window.type_keys("E");
    window.until_shows("at revision 2");
    assert_eq!(edited.text(), "one\nmine\n");
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}
