//! Which events a subscribed process gets: those about what it may also ask for, and nothing else.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use proto::agent::ItemKind;
use proto::request::{Empty, Pad, PadAct, SetTimer, Spawn, TimerWhen};
use proto::{Event, Kind, Request};
use serde_json::{Value, json};
use testkit::marked_daemon::target;
use testkit::{MarkedDaemon, TestDaemon, process_scan};

use crate::inside::Inside;
use crate::{QD, ask};

/// Sends the lines of a file and records every line that comes, as long as any do.
const LISTENER: &str = r#"use Socket;
my ($path, $in, $out) = @ARGV;
socket(S, AF_UNIX, SOCK_STREAM, 0) or die "no socket";
connect(S, sockaddr_un($path)) or die "no connection";
open(I, "<", $in) or die "nothing to say";
open(O, ">", $out) or die "nowhere to write";
select((select(O), $| = 1)[0]);
while (my $line = <I>) { syswrite(S, $line) == length($line) or die "not taken"; }
while (my $line = <S>) { print O $line; }
"#;

/// Returns a daemon with an agent called `sleeper`, and two projects.
fn hall() -> (MarkedDaemon, PathBuf, PathBuf) {
    let daemon = TestDaemon::without_start(QD);
    let agents = daemon.dirs().config.join("agents");
    DirBuilder::new().recursive(true).mode(0o700).create(&agents).unwrap();
    std::fs::write(agents.join("sleeper.toml"), "argv = [\"sleep\", \"1000000\"]\n").unwrap();
    let stage = MarkedDaemon::around(daemon);
    let root = stage.root().canonicalize().unwrap();
    let dirs = ["app", "elsewhere"].map(|name| root.join(name));
    for place in &dirs {
        std::fs::create_dir(place).unwrap();
        std::fs::write(place.join(".quarterdeck.toml"), "").unwrap();
    }
    let [app, elsewhere] = dirs;
    (stage, app, elsewhere)
}

/// A subscriber inside of a run.
struct Listener {
    notes: PathBuf,
}

impl Listener {
    fn begin(stage: &MarkedDaemon, inside: &mut Inside<'_>) -> Self {
        let [script, said, notes] = ["listener.pl", "said", "heard"].map(|name| stage.root().join(name));
        std::fs::write(&script, LISTENER).unwrap();
        let hello = json!({"id": 1, "request": {"hello": {"protocol": proto::version::PROTOCOL}}});
        let subscribe = json!({"id": 2, "request": {"subscribe": {}}});
        std::fs::write(&said, format!("{hello}\n{subscribe}\n")).unwrap();
        let words =
            [&script, &stage.dirs().socket(), &said, &notes].map(|path| format!(" '{}'", path.display()));
        // It outlives its program, so that it gets the end.
        let line = format!("setsid perl{} > '{}.log' 2>&1 < /dev/null &", words.concat(), notes.display());
        assert_eq!(inside.run(&line).0, 0);
        let listener = Self { notes };
        process_scan::eventually("the subscription", || (listener.lines().len() >= 2).then_some(()));
        listener
    }

    /// Returns the whole lines that have come.
    fn lines(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.notes).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn events(&self) -> Vec<Event> {
        let told = |line: Value| line.get("event").map(|event| event["what"].clone());
        self.lines().into_iter().filter_map(told).map(|what| serde_json::from_value(what).unwrap()).collect()
    }

    /// Reads everything up to this event.
    fn until(&self, wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
        process_scan::eventually("the last event", || {
            let events = self.events();
            events.iter().any(&wanted).then_some(events)
        })
    }
}

fn write(stage: &MarkedDaemon, project: &Path, name: &str) {
    let act = PadAct::Append { name: name.to_owned(), text: "x".to_owned() };
    ask(stage, Request::Pad(Pad { project: Some(project.display().to_string()), act })).unwrap();
}

fn timer(stage: &MarkedDaemon, owner: &str) {
    let (owner, body) = (Some(target(owner)), format!("a word for {owner}"));
    let request = SetTimer { owner, when: TimerWhen::After(1), body, label: None, key: None };
    ask(stage, Request::SetTimer(request)).unwrap();
}

fn is_pad(event: &Event, wanted: &str) -> bool {
    matches!(event, Event::PadChanged { name, .. } if name == wanted)
}

fn pads(events: &[Event]) -> Vec<&str> {
    let named = events.iter().filter_map(|event| match event {
        Event::PadChanged { name, .. } => Some(name.as_str()),
        _ => None,
    });
    named.collect()
}

/// Returns the owners of the announced timers.
fn owners(events: &[Event]) -> Vec<&str> {
    let named = events.iter().filter_map(|event| match event {
        Event::Timer(timer) => Some(timer.owner_name.as_str()),
        _ => None,
    });
    let mut owners: Vec<&str> = named.collect();
    owners.dedup();
    owners
}

#[test]
fn b6_a_process_hears_of_its_own_project_its_own_tree_and_what_it_may_answer() {
    let (stage, app, elsewhere) = hall();
    let argv = vec!["sleeper".to_owned()];
    stage.spawn_as(Spawn { kind: Kind::Agent, ..stage.spec("stranger", argv.clone()) });
    assert!(stage.qd(&["workspace", "new", "other"]).status.success());
    let workspace = Some("other".to_owned());
    stage.trust_agent("sleeper", &app);
    let mut inside = Inside::begin(&stage, "worker", &app);
    let mut person = stage.subscriber();
    let listener = Listener::begin(&stage, &mut inside);
    write(&stage, &elsewhere, "secret");
    timer(&stage, "stranger");
    inside.refused("spawn -- sleep 999999");
    inside.json("spawn --kind agent sleeper --name kid");
    timer(&stage, "kid");
    stage.spawn_as(Spawn { kind: Kind::Agent, workspace, ..stage.spec("foreign", argv) });
    process_scan::eventually("both timers to fire", || {
        let proto::Reply::Timers(all) = ask(&stage, Request::Timers(Empty {})).unwrap() else {
            return None;
        };
        all.iter().all(|timer| timer.status == proto::timers::TimerStatus::Fired).then_some(())
    });
    write(&stage, &app, "last");

    let all = stage.until_event(&mut person, |event| is_pad(event, "last"));
    assert_eq!((pads(&all), owners(&all)), (vec!["secret", "last"], vec!["stranger", "kid"]));
    assert!(all.iter().any(|event| matches!(event, Event::ItemOpened(item) if item.kind == ItemKind::Trust)));
    let heard = listener.until(|event| is_pad(event, "last"));
    assert_eq!((pads(&heard), owners(&heard)), (vec!["last"], vec!["kid"]), "{heard:?}");
    assert!(!heard.iter().any(|event| matches!(event, Event::ItemOpened(_) | Event::ItemClosed { .. })));
    let changed = |name: &str| {
        let is_it = |event: &Event| matches!(event, Event::Changed(view) if view.name.as_str() == name);
        (all.iter().any(is_it), heard.iter().any(is_it))
    };
    assert_eq!((changed("kid"), changed("foreign")), ((true, true), (true, false)));
    let told = std::fs::read_to_string(&listener.notes).unwrap();
    assert!(!told.contains("a word for stranger") && !told.contains("secret") && !told.contains("foreign"));
}

#[test]
fn b6_a_subscription_ends_with_the_run_it_came_from() {
    let (stage, app, _) = hall();
    let mut inside = Inside::begin(&stage, "worker", &app);
    let listener = Listener::begin(&stage, &mut inside);
    let mut person = stage.subscriber();
    write(&stage, &app, "before");
    listener.until(|event| is_pad(event, "before"));
    // The listener has left the session: the end of the program leaves it behind.
    stage.type_text("worker", "kill $PPID\r");
    stage.until_event(&mut person, |event| matches!(event, Event::Exited { .. }));
    let heard = listener.until(|event| matches!(event, Event::Resync {}));
    assert!(matches!(heard.last(), Some(Event::Resync {})), "{heard:?}");
    write(&stage, &app, "after");
    stage.until_event(&mut person, |event| is_pad(event, "after"));
    assert_eq!(pads(&listener.events()), ["before"]);
}

#[test]
fn f11_what_comes_from_a_run_that_is_over_is_written_down_by_the_verb_that_was_asked_for() {
    let (stage, app, _) = hall();
    let mut inside = Inside::begin(&stage, "worker", &app);
    let [script, said, go, notes] = ["say.pl", "said", "go", "answers"].map(|name| stage.root().join(name));
    std::fs::write(&script, LISTENER).unwrap();
    let asked = [
        json!({"hello": {"protocol": proto::version::PROTOCOL}}),
        json!({"spawn": {"argv": ["sleep", "1"]}}),
        json!({"presets": {}}),
        json!({"pad": {"act": {"list": {}}}}),
    ];
    let lines = asked.iter().enumerate().map(|(id, request)| json!({"id": id, "request": request}));
    std::fs::write(&said, lines.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let words = [&script, &stage.dirs().socket(), &said, &notes].map(|path| format!(" '{}'", path.display()));
    let job = stage.root().join("job.sh");
    let wait = format!("until [ -e '{}' ]; do sleep 0.01; done; exec perl{}", go.display(), words.concat());
    std::fs::write(&job, wait).unwrap();
    let line = format!("setsid sh '{}' > /dev/null 2>&1 < /dev/null &", job.display());
    assert_eq!(inside.run(&line).0, 0);
    let mut person = stage.subscriber();
    stage.type_text("worker", "kill $PPID\r");
    stage.until_event(&mut person, |event| matches!(event, Event::Exited { .. }));
    std::fs::write(go, "").unwrap();
    let left = Listener { notes };
    process_scan::eventually("the answers", || (left.lines().len() >= asked.len()).then_some(()));
    let page = stage.client().audit(proto::request::Audit { since: 0, limit: None, verify: false }).unwrap();
    let refused = page.rows.iter().filter(|row| row.decision == "unauthorized").map(|row| row.verb.as_str());
    let mut refused: Vec<&str> = refused.collect();
    refused.sort_unstable();
    assert_eq!(refused, ["pad", "presets", "spawn"]);
}
