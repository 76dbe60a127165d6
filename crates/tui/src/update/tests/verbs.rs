//! Every verb of the command line is in the deck, or there is a reason why it is not.

use std::path::PathBuf;

use crate::keymap::{Action, Context, Keymap};
use crate::model::palette::KEYLESS;

/// How a person does in the deck what a verb does.
enum InDeck {
    /// By this action of this context.
    By(Context, Action),
    /// By an action that only the palette has.
    Palette(Action),
    /// Without an action: the deck does or shows it by itself, or typing does it.
    Itself(&'static str),
    /// Not at all, for this reason.
    Not(&'static str),
}

use InDeck::{By, Itself, Not, Palette};

const VERBS: &[(&str, InDeck)] = &[
    ("spawn", By(Context::Deck, Action::New)),
    ("exec", By(Context::Deck, Action::New)),
    ("up", Palette(Action::PresetsUp)),
    ("down", Palette(Action::PresetsDown)),
    ("ps", Itself("the rail")),
    ("prune", Palette(Action::Prune)),
    ("attach", By(Context::Deck, Action::Direct)),
    ("viewers", By(Context::Rail, Action::Viewers)),
    ("detach", By(Context::Rail, Action::Viewers)),
    ("send", Itself("typing into a pane")),
    ("key", Itself("typing into a pane")),
    ("paste", By(Context::Deck, Action::Paste)),
    ("read", By(Context::Deck, Action::Copy)),
    ("search", By(Context::Deck, Action::Search)),
    ("wait", Itself("marks and notices; a timer that waits for idle processes")),
    ("logs", By(Context::Rail, Action::EarlierRuns)),
    ("events", Itself("the rail and notices")),
    ("record", By(Context::Rail, Action::Record)),
    ("tell", By(Context::Deck, Action::Tell)),
    ("messages", Palette(Action::Messages)),
    ("cancel", Palette(Action::Messages)),
    ("interrupt", By(Context::Deck, Action::Interrupt)),
    ("result", Itself("the agent's own screen, which the deck shows")),
    ("inbox", By(Context::Deck, Action::Inbox)),
    ("answer", By(Context::Deck, Action::Inbox)),
    ("ask", Not("only an agent asks the person")),
    ("attention", Not("only an agent asks for the person")),
    ("explain", By(Context::Deck, Action::Explain)),
    ("agents", By(Context::Deck, Action::New)),
    ("resume", By(Context::Deck, Action::Resume)),
    ("restart", By(Context::Deck, Action::Restart)),
    ("kill", By(Context::Deck, Action::Signal)),
    ("close", By(Context::Deck, Action::CloseProcess)),
    ("rename", By(Context::Deck, Action::Rename)),
    ("resize", Palette(Action::SetSize)),
    ("select", By(Context::Deck, Action::Processes)),
    ("see", Itself("looking at a process for a second")),
    ("ports", Itself("the rail and the titles of panes")),
    ("pads", By(Context::Deck, Action::Pads)),
    ("timers", By(Context::Deck, Action::SetTimer)),
    ("presets", By(Context::Deck, Action::New)),
    ("trust", Not("what agents may start unasked is decided once per project; the inbox asks for the rest")),
    ("grant", By(Context::Rail, Action::Grant)),
    ("grants", Palette(Action::Grants)),
    ("revoke", Palette(Action::Grants)),
    ("new", By(Context::Deck, Action::NewTask)),
    ("tasks", By(Context::Deck, Action::Tasks)),
    ("run", By(Context::Tasks, Action::RunTask)),
    ("stop", By(Context::Tasks, Action::StopTask)),
    ("diff", By(Context::Tasks, Action::Review)),
    ("review", By(Context::Deck, Action::Review)),
    ("forecast", By(Context::Tasks, Action::Forecast)),
    ("land", By(Context::Tasks, Action::Land)),
    ("drop", By(Context::Tasks, Action::DropTask)),
    ("restore", By(Context::Tasks, Action::Restore)),
    ("gc", By(Context::Tasks, Action::CollectTasks)),
    ("projects", Not("a deck is of one project; another one is `qd` in its directory")),
    ("pick", Not("prints a directory for a shell to go to")),
    ("import", Itself("the empty deck offers what it has found")),
    ("audit", Not("a record of all decisions, to be searched; about no process alone")),
    ("whoami", Not("a person at a deck is a person")),
    ("status", Itself("the status line says what is wrong")),
    ("shutdown", Not("it would end what the deck shows; the command line asks for it by name")),
    ("doctor", Not("checks the machine")),
    ("reset", Not("mends a terminal in which no deck runs")),
    ("config", By(Context::Deck, Action::Settings)),
    ("completions", Not("for shells")),
    ("man", Not("for manuals")),
    ("schema", Not("for programs")),
    ("web", Not("another face; about no process")),
    ("pair", Not("another face; about no process")),
    ("access", Not("another face; about no process")),
    ("workspace", Not("limits of other people's access; about no process")),
    ("mcp", Not("for programs of agents")),
    ("skills", Not("writes files for agents")),
];

/// The verbs of the command line, as its source lists them.
fn verbs() -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../cli/src/commands/mod.rs");
    let text = std::fs::read_to_string(path).unwrap();
    let list = text.split_once("\nverbs! {\n").unwrap().1.split_once("\n}\n").unwrap().0;
    let mut is_hidden = false;
    let mut verbs = Vec::new();
    for line in list.lines().map(str::trim) {
        if line.starts_with("#[command(hide") {
            is_hidden = true;
        } else if !std::mem::take(&mut is_hidden) {
            verbs.push(line.split_once('(').unwrap().0.to_lowercase());
        }
    }
    verbs
}

#[test]
fn every_verb_of_the_command_line_is_in_the_deck_or_there_is_a_reason() {
    let verbs = verbs();
    assert!(verbs.len() > 60, "{verbs:?}");
    for verb in &verbs {
        assert!(VERBS.iter().any(|(known, _)| known == verb), "nothing says how the deck does `qd {verb}`");
    }
    for (known, _) in VERBS {
        assert!(verbs.iter().any(|verb| verb == known), "there is no `qd {known}`");
    }
}

#[test]
fn every_action_that_stands_for_a_verb_can_be_found_by_its_key_or_in_the_palette() {
    let keymap = Keymap::default();
    for (verb, way) in VERBS {
        match way {
            By(context, action) => {
                let key = keymap.key_of(*context, *action);
                assert!(key.is_some(), "{verb}: {action:?} has no key in {}", context.word());
                assert!(!action.label().is_empty(), "{verb}");
            }
            Palette(action) => assert!(KEYLESS.contains(action), "{verb}: {action:?} is in no palette"),
            Itself(words) | Not(words) => assert!(!words.is_empty(), "{verb}"),
        }
    }
}
