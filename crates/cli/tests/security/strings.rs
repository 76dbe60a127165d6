//! Strings that other people choose, on the way to a person's terminal: each is set to something hostile, and
//! the output of each verb is examined.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use proto::request::{Attach, SizeRequest, Spawn, Tell};
use proto::{Request, Size};
use serde_json::{Value, json};
use testkit::{DEADLINE, FakeAgents, Pty, RawClient, child};

use crate::inside::{Inside, add_shell_agent};
use crate::{AGENT, QD};

/// A title, an erased screen, one control of eight bits, marks that turn the reading order, and invisible
/// marks.
const HOSTILE: &str = "evil\x1b]0;x\x07\x1b[2J\u{9b}2J\u{202e}live\u{2066}\u{200b}\u{feff}.";

/// Returns true for a text that moves a cursor, changes a mode or turns the reading order. A line may end,
/// and a table may have gaps.
fn is_hostile(c: char) -> bool {
    let is_plain = matches!(c, '\r' | '\n' | '\t');
    let turns =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    c.is_control() && !is_plain || turns
}

/// A daemon in which every settable string is hostile.
struct Stained {
    crew: FakeAgents,
    project: PathBuf,
}

impl Stained {
    fn new() -> Self {
        let crew = FakeAgents::start(QD, AGENT);
        add_shell_agent(&crew.dirs());
        let project = crew.root().canonicalize().unwrap().join("evil\x1b[2J\u{9b}2J\u{202e}");
        std::fs::create_dir(&project).unwrap();
        std::fs::write(project.join(".quarterdeck.toml"), presets()).unwrap();
        let stained = Self { crew, project };
        stained.stain_agents();
        stained.stain_a_process();
        stained.stain_from_inside();
        stained.stain_as_a_person();
        stained
    }

    /// The strings of agents: their text, questions and messages.
    fn stain_agents(&self) {
        self.crew.enlist_hooked("talker", &[]);
        let turn = self.crew.submit("talker", &format!("say {HOSTILE}"));
        self.crew.result("talker", turn);
        self.crew.enlist("asker", &[]);
        self.crew.submit("asker", &format!("ask {HOSTILE}"));
        self.crew.item("asker");
        let (target, text) = ("asker".into(), HOSTILE.to_owned());
        self.crew.tell_as(Tell {
            target,
            text,
            key: Some(HOSTILE.to_owned()),
            wait_ms: Some(0),
            expires_ms: None,
        });
    }

    /// The strings of a process: argv, directory and title.
    fn stain_a_process(&self) {
        let title = "printf '\\033]2;evil\\033[2J\\302\\233title\\007'";
        let mut argv = child::shell(&format!("{title}; echo ready; exec sleep 1000000 # {HOSTILE}"));
        argv.push(HOSTILE.to_owned());
        let cwd = Some(self.project.to_str().unwrap().to_owned());
        self.crew.spawn_as(Spawn { cwd, ..self.crew.spec("stained", argv) });
        self.crew.wait_pattern("stained", "ready");
    }

    /// The strings of requests from inside a run, by a client with a name of its own choice.
    fn stain_from_inside(&self) {
        let mut worker = Inside::agent(&self.crew, "worker");
        let requests = [
            json!({"hello": {"protocol": proto::version::PROTOCOL, "client": HOSTILE}}),
            json!({"ask": {"question": HOSTILE, "options": [HOSTILE, "no"]}}),
            json!({"attention": {"reason": HOSTILE}}),
            json!({"pad": {"act": {"write": {"name": "evil", "content": HOSTILE}}}}),
            json!({"spawn": {"argv": ["true", HOSTILE], "env": {"EVIL": HOSTILE}, "key": HOSTILE}}),
            json!({"kill": {"target": HOSTILE}}),
            json!({"tell": {"target": "talker", "text": HOSTILE}}),
        ];
        let lines: Vec<Value> = requests
            .into_iter()
            .enumerate()
            .map(|(id, request)| json!({"id": id, "request": request}))
            .collect();
        let answers = worker.say(&lines);
        for answer in &answers[..4] {
            assert!(answer["reply"]["outcome"]["ok"].is_object(), "{answer}");
        }
    }

    /// The strings that a person sets, and those of a viewer.
    fn stain_as_a_person(&self) {
        let mut client = RawClient::connect(&self.crew.dirs());
        let project = self.project.to_str().unwrap();
        for request in [
            json!({"hello": {"protocol": proto::version::PROTOCOL, "client": HOSTILE}}),
            json!({"set_timer": {"owner": "talker", "when": {"after": 3_600_000}, "body": HOSTILE, "label": "evil"}}),
            json!({"trust": {"project": project, "what": {"preset": "stained"}}}),
            json!({"pad": {"project": project, "act": {"append": {"name": "evil", "text": HOSTILE}}}}),
        ] {
            let answer = client.call(request.clone());
            assert!(answer["outcome"]["ok"].is_object(), "{request}: {answer}");
        }
        // A label is part of a message's header: hostile ones are refused.
        let labelled = client
            .call(json!({"set_timer": {"owner": "talker", "when": {"after": 1}, "body": "b",
            "label": HOSTILE}}));
        let refusal = labelled["outcome"]["error"]["message"].as_str().unwrap_or_default();
        assert!(refusal.starts_with("label: ") && !refusal.chars().any(is_hostile), "{labelled}");
        let named = self.crew.refusal(Request::Spawn(Box::new(Spawn {
            name: Some(HOSTILE.to_owned()),
            argv: child::run_for_ever(),
            ..Spawn::default()
        })));
        assert!(!named.message.chars().any(is_hostile), "a refused name is not echoed as it is: {named:?}");
        let size = SizeRequest::default();
        let attach = Attach { target: HOSTILE.into(), size, read_only: true, ..Attach::default() };
        assert!(!self.crew.refusal(Request::Attach(attach)).message.chars().any(is_hostile));
    }

    /// Returns what a verb draws on a real terminal, without its own colours.
    fn drawn(&self, arguments: &[&str]) -> String {
        let mut pty = Pty::open(Size { cols: 200, rows: 50 });
        let variables = self.crew.variables();
        let variables: Vec<(&str, &OsStr)> =
            variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
        pty.spawn(QD.as_ref(), arguments, &variables);
        pty.wait_exit(DEADLINE);
        let colours = regex::Regex::new("\x1b\\[[0-9;]*m").unwrap();
        colours.replace_all(&String::from_utf8_lossy(pty.seen()), "").into_owned()
    }

    /// Checks that a verb draws something and nothing hostile; returns the fault otherwise.
    fn fault(&self, arguments: &[&str], word: &str) -> Option<String> {
        let drawn = self.drawn(arguments);
        let is_hurt = drawn.chars().any(is_hostile);
        (is_hurt || !drawn.contains(word)).then(|| format!("{arguments:?} drew {}", drawn.escape_debug()))
    }
}

/// Returns a preset whose words are hostile, and one that is faulty in a hostile way. Escapes are TOML's own.
fn presets() -> String {
    let words: String = HOSTILE.chars().map(|c| format!("\\u{:04X}", u32::from(c))).collect();
    format!(
        "[preset.stained]\nargv = [\"true\", \"{words}\"]\nenv = {{ EVIL = \"{words}\" }}\n\n\
         [preset.\"{words}\"]\nargv = [\"true\"]\n\n[preset.faulty]\nargv = [\"true\"]\n\"{words}\" = 1\n"
    )
}

#[test]
fn c7_what_others_chose_to_be_shown_reaches_a_terminal_harmless() {
    let stained = Stained::new();
    let (project, worker) = (stained.project.to_str().unwrap(), stained.crew.root().join("worker"));
    let worker = worker.to_str().unwrap();
    // Each with a word that shows that the string was on its way at all.
    let verbs: [(&[&str], &str); 21] = [
        (&["ps"], "evil"),
        (&["status"], "running"),
        (&["inbox"], "evil"),
        (&["timers"], "evil"),
        (&["pads", "--project", project], "evil"),
        (&["pads", "--project", project, "show", "evil"], "evil"),
        (&["pads", "--project", worker, "list"], ""),
        (&["pads", "--project", project, "history", "evil"], "human"),
        (&["presets", "--project", project], "evil"),
        (&["trust"], "evil"),
        (&["trust", "--project", project], "evil"),
        (&["audit", "--limit", "1000"], "needs_trust"),
        (&["audit", "--verify"], ""),
        (&["explain", "asker"], "asker"),
        (&["explain", "talker"], "talker"),
        (&["result", "talker"], "evil"),
        (&["ports", "stained"], ""),
        (&["read", "asker"], "evil"),
        (&["read", "stained"], "ready"),
        (&["search", "asker", "evil"], "evil"),
        (&["whoami"], ""),
    ];
    let faults: Vec<String> =
        verbs.iter().filter_map(|(arguments, word)| stained.fault(arguments, word)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let log = std::fs::read_to_string(stained.crew.dirs().daemon_log()).unwrap();
    let bad: Vec<&str> = log.lines().filter(|line| line.chars().any(is_hostile)).collect();
    assert!(bad.is_empty(), "the log holds {}", bad.join("\n").escape_debug());
}

#[test]
fn c7_what_was_typed_wrongly_is_told_back_harmless_by_every_verb() {
    let stained = Stained::new();
    let verbs: [&[&str]; 26] = [
        &["spawn", "--name", HOSTILE, "--", "true"],
        &["spawn", "--", HOSTILE],
        &["spawn", "--preset", HOSTILE],
        &["attach", HOSTILE],
        &["send", HOSTILE, "x"],
        &["key", "stained", HOSTILE],
        &["read", HOSTILE],
        &["search", "stained", HOSTILE],
        &["wait", "stained", "--pattern", HOSTILE, "--timeout", "0.2"],
        &["logs", HOSTILE],
        &["tell", HOSTILE, "x"],
        &["tell", "stained", HOSTILE],
        &["result", HOSTILE],
        &["answer", "1", HOSTILE],
        &["explain", HOSTILE],
        &["resume", HOSTILE],
        &["close", HOSTILE],
        &["rename", "stained", HOSTILE],
        &["ports", HOSTILE],
        &["pads", "show", HOSTILE],
        &["timers", "set", HOSTILE, "--after", "9", "x"],
        &["presets", "--project", HOSTILE],
        &["trust", "preset", HOSTILE],
        &["grant", HOSTILE, "read", HOSTILE],
        &["audit", "--since", HOSTILE],
        &[HOSTILE],
    ];
    let faults: Vec<String> = verbs.iter().filter_map(|arguments| stained.fault(arguments, "")).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(Path::new(&stained.project).is_dir());
}
