//! The request of each verb and its output for the reply, for people and for programs.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use proto::{Dirs, ErrorCode, Failure, Reply, Request};
use serde_json::{Value, json};
use testkit::FakeDaemon;

use crate::{QD, text};

/// One verb: what is typed, the request, the reply, the output for people, and the definition of `qd schema`
/// that programs rely on.
#[derive(Clone)]
struct Case {
    shape: &'static str,
    words: &'static [&'static str],
    request: Value,
    reply: Value,
    shown: &'static str,
}

fn run(root: &Path, words: &[&str]) -> Command {
    let dirs = Dirs::below(root);
    let mut command = Command::new(QD);
    command.args(words).env("QD_RUNTIME_DIR", &dirs.runtime).env("QD_DATA_DIR", &dirs.data);
    command.env("QD_CONFIG_DIR", &dirs.config).env_remove("QD_RUN_TOKEN").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs `qd`, which sends one request and gets one reply; returns the request and the output.
fn served(words: &[&str], answer: Result<Reply, Failure>) -> (Request, Output) {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let child = run(root.path(), words).spawn().unwrap();
    let mut peer = daemon.accept_welcome();
    let call = peer.call();
    match answer {
        Ok(reply) => peer.reply(call.id, reply),
        Err(failure) => peer.fail(call.id, failure),
    }
    (call.request, child.wait_with_output().unwrap())
}

fn check(case: &Case, schema: &Value) {
    let reply = || -> Reply { serde_json::from_value(case.reply.clone()).unwrap() };
    let (request, output) = served(case.words, Ok(reply()));
    let mut asked = serde_json::to_value(&request).unwrap();
    if let Some(trust) = asked.get_mut("trust").and_then(Value::as_object_mut) {
        // Programs are found by the caller's search path.
        assert_eq!(trust.remove("path"), std::env::var("PATH").ok().map(Value::String));
    }
    if let Some(answer) = asked.get_mut("answer").and_then(Value::as_object_mut) {
        // An answer may start what was lost; then it gets the caller's environment.
        let offer = answer.remove("offer").expect("an answer offers an environment");
        assert_eq!(offer["base_env"]["PATH"].as_str(), std::env::var("PATH").ok().as_deref());
    }
    assert_eq!(asked, case.request, "{:?}", case.words);
    assert_eq!(text(&output.stderr), "", "{:?}", case.words);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), case.shown), "{:?}", case.words);
    let words: Vec<&str> = case.words.iter().copied().chain(["--json"]).collect();
    let (_, output) = served(&words, Ok(reply()));
    let lines = text(&output.stdout).lines().collect::<Vec<_>>();
    assert_eq!(lines.len(), 1, "{words:?}: {lines:?}");
    let printed: Value = serde_json::from_str(lines[0]).unwrap();
    fits(&printed, &schema["$defs"][case.shape], &words);
}

/// Checks that every printed field is in the definition, and that every required field is printed.
fn fits(printed: &Value, shape: &Value, words: &[&str]) {
    let Some(fields) = printed.as_object() else {
        assert_eq!((printed.is_array(), &shape["type"]), (true, &json!("array")), "{words:?}: {printed}");
        return;
    };
    assert_eq!(shape["type"], "object", "{words:?}: {printed}");
    for name in fields.keys() {
        assert!(shape["properties"][name].is_object(), "{words:?}: {name} is not in the schema");
    }
    for required in shape["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        assert!(fields.contains_key(required), "{words:?}: {required} is not printed");
    }
}

fn grant() -> Value {
    json!({"grant": 2, "to": "p_00000000", "to_name": "lead", "right": "drive", "over": "p_11111111",
        "over_name": "web", "at": 0})
}

fn timer(status: &str) -> Value {
    json!({"timer": 3, "owner": "p_00000000", "owner_name": "lead", "kind": "delay", "status": status, "body": "b",
        "remaining_ms": 9_500})
}

/// Scratchpads and timers.
fn notes_and_timers() -> Vec<Case> {
    vec![
        Case {
            shape: "pads_changed",
            words: &["pads", "append", "notes", "done", "--project", "/p"],
            request: json!({"pad": {"project": "/p", "act": {"append": {"name": "notes", "text": "done\n"}}}}),
            reply: json!({"pad": {"changed": {"name": "notes", "revision": 4}}}),
            shown: "notes is at revision 4\n",
        },
        Case {
            shape: "pads_changed",
            words: &["pads", "--project", "/p", "rm", "notes", "--expect", "4"],
            request: json!({"pad": {"project": "/p", "act": {"delete": {"name": "notes", "expected_revision": 4}}}}),
            reply: json!({"pad": {"changed": {"name": "notes", "revision": 0}}}),
            shown: "notes is removed; its history stays\n",
        },
        Case {
            shape: "pads_show",
            words: &["pads", "show", "notes", "--revision", "2", "--project", "/p"],
            request: json!({"pad": {"project": "/p", "act": {"read": {"name": "notes", "revision": 2}}}}),
            reply: json!({"pad": {"text": {"name": "notes", "content": "a\nb", "revision": 2, "author": "human"}}}),
            shown: "a\nb",
        },
        Case {
            shape: "timer",
            words: &["timers", "set", "--after", "9.5", "--for", "lead", "b"],
            request: json!({"set_timer": {"owner": "lead", "when": {"after": 9500}, "body": "b"}}),
            reply: json!({"timer": timer("armed")}),
            shown: "timer 3 for lead is armed, 10s left\n",
        },
        Case {
            shape: "timer",
            words: &["timers", "pause", "3"],
            request: json!({"change_timer": {"timer": 3, "change": "pause"}}),
            reply: json!({"timer": timer("paused")}),
            shown: "timer 3 for lead is paused with 10s left\n",
        },
    ]
}

/// Returns the cases about what agents may start and do.
fn trust_and_rights() -> Vec<Case> {
    let trust = json!({"trust": {"digest": "0123456789abcdef", "project": {"key": "k", "path": "/p"},
        "preset": "dev", "command": "npm run dev", "at": 0}});
    vec![
        Case {
            shape: "trusted",
            words: &["trust", "preset", "dev", "--project", "/p"],
            request: json!({"trust": {"project": "/p", "what": {"preset": "dev"}}}),
            reply: trust,
            shown: "preset dev of /p is trusted as 0123456789ab:\n  npm run dev\n",
        },
        Case {
            shape: "trust_rm",
            words: &["trust", "rm", "0123"],
            request: json!({"distrust": {"digest": "0123"}}),
            reply: json!({"done": {}}),
            shown: "0123 is trusted no longer\n",
        },
        Case {
            shape: "grant",
            words: &["grant", "lead", "drive", "web"],
            request: json!({"grant": {"to": "lead", "right": "drive", "over": "web"}}),
            reply: json!({"granted": grant()}),
            shown: "grant 2: lead may drive web\n",
        },
        Case {
            shape: "revoke",
            words: &["revoke", "2"],
            request: json!({"revoke": {"grant": 2}}),
            reply: json!({"done": {}}),
            shown: "grant 2 is revoked\n",
        },
    ]
}

/// Returns the cases about what is shown, asked and recorded.
fn asking_and_showing() -> Vec<Case> {
    vec![
        Case {
            shape: "select",
            words: &["select", "web"],
            request: json!({"select": {"target": "web"}}),
            reply: json!({"done": {}}),
            shown: "web is selected\n",
        },
        Case {
            shape: "ports",
            words: &["ports", "web"],
            request: json!({"ports": {"target": "web"}}),
            reply: json!({"ports": {"ports": [], "urls": []}}),
            shown: "web listens on no port\n",
        },
        Case {
            shape: "ask",
            words: &["ask", "which?", "--option", "a", "--option", "b"],
            request: json!({"ask": {"question": "which?", "options": ["a", "b"]}}),
            reply: json!({"asked": {"item": 7}}),
            shown: "item 7 is in the inbox\n",
        },
        Case {
            shape: "ask",
            words: &["attention", "look"],
            request: json!({"attention": {"reason": "look"}}),
            reply: json!({"asked": {"item": 7}}),
            shown: "item 7 is in the inbox\n",
        },
        Case {
            shape: "audit",
            words: &["audit", "--since", "2026-11-16T04:13:42Z", "--limit", "5", "--verify"],
            request: json!({"audit": {"since": 1_794_802_422_000_u64, "limit": 5, "verify": true}}),
            reply: json!({"audit": {"rows": [], "verified": {"intact": {"rows": 9, "head": "ab"}}}}),
            shown: "the audit log has no rows for that time\nintact: 9 rows, the newest is ab\n",
        },
        Case {
            shape: "whoami",
            words: &["whoami"],
            request: json!({"who_am_i": {}}),
            reply: json!({"identity": {"caller": "human", "project": {"key": "", "path": ""}}}),
            shown: "human\n",
        },
        Case {
            shape: "wait",
            words: &["wait", "web", "--ready", "--timeout", "2"],
            request: json!({"wait": {"targets": ["web"], "until": {"ready": {}}, "quantifier": "all", "timeout_ms": 2000}}),
            reply: json!({"waited": {"satisfied": [{"id": "p_00000000", "name": "web", "offset": 1}]}}),
            shown: "web: ready\n",
        },
        Case {
            shape: "wait",
            words: &["wait", "lead", "--timer", "3"],
            request: json!({"wait": {"targets": ["lead"], "until": {"timer": 3}, "quantifier": "all"}}),
            reply: json!({"waited": {"satisfied": [{"id": "p_00000000", "name": "lead", "text": "tea", "offset": 1}]}}),
            shown: "tea\n",
        },
        Case {
            shape: "wait",
            words: &["wait", "lead", "--item", "4"],
            request: json!({"wait": {"targets": ["lead"], "until": {"item": 4}, "quantifier": "all"}}),
            reply: json!({"waited": {"satisfied": [{"id": "p_00000000", "name": "lead", "text": "yes", "offset": 1}]}}),
            shown: "yes\n",
        },
        Case {
            shape: "answer",
            words: &["answer", "4", "allow_once"],
            request: json!({"answer": {"item": 4, "choice": "allow_once"}}),
            reply: json!({"done": {}}),
            shown: "item 4 is answered\n",
        },
    ]
}

#[test]
fn every_verb_asks_for_what_was_typed_and_shows_what_came() {
    let printed = Command::new(QD).arg("schema").output().unwrap();
    let schema: Value = serde_json::from_slice(&printed.stdout).unwrap();
    for case in [notes_and_timers(), trust_and_rights(), asking_and_showing()].concat() {
        check(&case, &schema);
    }
}

#[test]
fn lists_that_are_empty_say_so() {
    for (words, reply, shown) in [
        (&["pads", "--project", "/p"][..], json!({"pad": {"listed": []}}), "there is no scratchpad yet\n"),
        (&["timers"], json!({"timers": []}), "there is no timer\n"),
        (&["grants"], json!({"grants": []}), "no extra rights were given\n"),
        (&["trust"], json!({"trusted": []}), "nothing is trusted: agents ask before they start anything\n"),
        (
            &["presets", "--project", "/p"],
            json!({"presets": {"project": {"key": "k", "path": "/p"}, "presets": []}}),
            "/p has no preset\n",
        ),
    ] {
        let (_, output) = served(words, Ok(serde_json::from_value(reply).unwrap()));
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), shown), "{words:?}");
    }
}

#[test]
fn a_chain_that_does_not_hold_is_a_failure() {
    let page = json!({"audit": {"rows": [], "verified": {"broken": {"row": 3, "reason": "its hash"}}}});
    let (_, output) = served(&["audit", "--verify"], Ok(serde_json::from_value(page).unwrap()));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).ends_with("broken from row 3 on: its hash\n"), "{}", text(&output.stdout));
}

#[test]
fn a_refusal_says_where_to_look() {
    for (words, hint) in [
        (&["pads", "show", "x", "--project", "/p"][..], "`qd pads` lists"),
        (&["timers", "cancel", "9"], "`qd timers` lists"),
        (&["trust", "rm", "00"], "`qd trust` lists"),
        (&["revoke", "9"], "`qd grants` lists"),
        (&["answer", "9", "x"], "`qd inbox` lists"),
    ] {
        let (_, output) = served(words, Err(Failure::new(ErrorCode::NotFound, "no such thing")));
        assert_eq!(output.status.code(), Some(3), "{words:?}");
        assert!(text(&output.stderr).contains(hint), "{words:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_program_is_told_the_current_revision_and_the_open_item() {
    let conflict = Failure::new(ErrorCode::Conflict, "it is at revision 7 now").revision(7);
    let words = ["pads", "write", "x", "text", "--expect", "3", "--project", "/p", "--json"];
    let (_, output) = served(&words, Err(conflict));
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((output.status.code(), &error["error"]["revision"]), (Some(7), &json!(7)));
    let asked = Failure::new(ErrorCode::NeedsTrust, "a person was asked").item(4);
    let (_, output) = served(&["spawn", "--json", "--", "x"], Err(asked));
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((output.status.code(), &error["error"]["item"]), (Some(4), &json!(4)));
}

#[test]
fn e8_wrong_words_are_told_by_their_flag_before_anybody_is_asked() {
    let long = "x".repeat(65);
    for (words, part) in [
        (&["timers", "set", "--after", "nan", "x"][..], "--after"),
        (&["timers", "set", "--idle-any", "a", "x"], "--max-wait"),
        (&["timers", "cancel", "-1"], "-1"),
        (&["audit", "--since", "soon"], "--since"),
        (&["audit", "--limit", "0"], "--limit"),
        (&["audit", "--limit", "10001"], "--limit"),
        (&["grant", "a", "own", "b"], "own"),
        (&["revoke", "x"], "x"),
        (&["spawn", "--budget", "hours=1", "--", "x"], "--budget"),
        (&["spawn", "--ready-port", "0", "--", "x"], "--ready-port"),
        (&["spawn", "--restore", "--kind", "terminal"], "--restore"),
        (&["spawn", "--preset", "dev", "--kind", "agent", "x"], "--preset"),
        (&["wait", "x", "--ready", "--exit"], "--ready"),
        (&["ask", "q", "--wait", "-1"], "--wait"),
        (&["pads", "path", "../x"], "NAME"),
        (&["pads", "edit", &long], "NAME"),
        (&["pads", "show", "x", "--revision", "one"], "--revision"),
    ] {
        for is_json in [false, true] {
            let root = tempfile::tempdir().unwrap();
            let words: Vec<&str> =
                ["--json"].into_iter().filter(|_| is_json).chain(words.iter().copied()).collect();
            let output = run(root.path(), &words).output().unwrap();
            let told = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{words:?}: {told}");
            assert!(told.contains(part), "{words:?}: {told}");
            assert!(!Dirs::below(root.path()).runtime.exists(), "{words:?} started a daemon");
            if is_json {
                let error: Value = serde_json::from_str(told).unwrap();
                assert_eq!(error["error"]["code"], "invalid_args");
            }
        }
    }
}
