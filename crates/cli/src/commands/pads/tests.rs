//! What is typed becomes the right operation, and replies are printed.

use clap::Parser;

use super::*;
use crate::args::Cli;
use crate::commands::Verb;
use crate::output::memory::Memory;

fn action(words: &[&str]) -> Result<PadAction, CliError> {
    let cli = Cli::try_parse_from(["qd", "pads"].iter().chain(words)).unwrap();
    let Some(Verb::Pads(pads)) = cli.verb else { panic!("not pads") };
    pads.verb.unwrap_or(PadsVerb::List).action()
}

fn act(words: &[&str]) -> PadAct {
    match action(words) {
        Ok(PadAction::Act(act)) => act,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_verb_becomes_its_act() {
    let name = || "notes".to_owned();
    assert_eq!(act(&[]), PadAct::List(Empty {}));
    assert_eq!(act(&["list", "--project", "/p"]), PadAct::List(Empty {}));
    assert_eq!(act(&["show", "notes", "--revision", "3"]), PadAct::Read { name: name(), revision: Some(3) });
    let write = PadAct::Write { name: name(), content: "a".into(), expected_revision: Some(0) };
    assert_eq!(act(&["write", "notes", "a", "--expect", "0"]), write);
    assert_eq!(
        act(&["rm", "notes", "--expect", "2"]),
        PadAct::Delete { name: name(), expected_revision: Some(2) }
    );
    assert_eq!(act(&["mv", "notes", "b"]), PadAct::Rename { name: name(), to: "b".into() });
    assert_eq!(act(&["history", "notes"]), PadAct::History { name: name() });
    assert_eq!(action(&["edit", "notes"]).unwrap(), PadAction::Edit(name()));
    assert_eq!(action(&["path", "notes"]).unwrap(), PadAction::Path(name()));
}

#[test]
fn an_appended_line_ends_once() {
    for text in ["done", "done\n"] {
        assert_eq!(
            act(&["append", "notes", text]),
            PadAct::Append { name: "notes".into(), text: "done\n".into() }
        );
    }
}

#[test]
fn a_name_that_becomes_a_path_is_none() {
    for bad in ["../x", "a/b", "", ".hidden", "a\u{1b}b", &"x".repeat(65)] {
        for verb in ["edit", "path"] {
            let error = action(&[verb, bad]).unwrap_err().to_string();
            assert!(error.starts_with("NAME: ") && !error.contains('\u{1b}'), "{error}");
        }
    }
}

#[test]
fn a_list_says_who_wrote_what_when() {
    let entry = PadEntry { name: "notes".into(), revision: 4, author: "lead".into(), at: 1000, bytes: 120 };
    let memory = Memory::default();
    memory.output().table(&list(std::slice::from_ref(&entry), 61_000)).unwrap();
    memory.output().table(&history(&[entry], 61_000)).unwrap();
    let expected = "NAME   REVISION  BYTES  AGE    AUTHOR\nnotes  4         120    1m00s  lead\n\
                    REVISION  BYTES  AGE    AUTHOR\n4         120    1m00s  lead\n";
    assert_eq!(memory.text(), expected);
}

#[test]
fn a_text_is_printed_to_the_byte_for_programs() {
    let memory = Memory::default();
    text("no line feed at its end\u{1b}", &mut memory.output()).unwrap();
    assert_eq!(memory.text(), "no line feed at its end\u{1b}");
}
