//! Scratchpads through the socket: names that must not escape, revisions that must not be lost, edits that
//! are noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use proto::pads::{PadEntry, PadOutcome};
use proto::request::{Empty, Pad, PadAct};
use proto::{ErrorCode, Event, Failure, Reply, Request};
use serde_json::json;
use testkit::process_scan::pause;
use testkit::{MarkedDaemon, RawClient};

use crate::inside::Inside;
use crate::{ask, project};

fn act(stage: &MarkedDaemon, app: &Path, act: PadAct) -> Result<PadOutcome, Failure> {
    let request = Pad { project: Some(app.display().to_string()), act };
    match ask(stage, Request::Pad(request))? {
        Reply::Pad(outcome) => Ok(outcome),
        other => stage.fail(&format!("pad was answered with {other:?}")),
    }
}

fn write(name: &str, content: &str, expected_revision: Option<u64>) -> PadAct {
    PadAct::Write { name: name.to_owned(), content: content.to_owned(), expected_revision }
}

fn append(name: &str, text: &str) -> PadAct {
    PadAct::Append { name: name.to_owned(), text: text.to_owned() }
}

/// Returns the text, revision and author of a pad.
fn read(stage: &MarkedDaemon, app: &Path, name: &str) -> (String, u64, String) {
    match act(stage, app, PadAct::Read { name: name.to_owned(), revision: None }).unwrap() {
        PadOutcome::Text { content, revision, author, .. } => (content, revision, author),
        other => stage.fail(&format!("read was answered with {other:?}")),
    }
}

fn history(stage: &MarkedDaemon, app: &Path, name: &str) -> Vec<PadEntry> {
    match act(stage, app, PadAct::History { name: name.to_owned() }).unwrap() {
        PadOutcome::History(entries) => entries,
        other => stage.fail(&format!("history was answered with {other:?}")),
    }
}

/// Returns the directory of the one project that has pads.
fn folder(stage: &MarkedDaemon) -> PathBuf {
    let mut projects = std::fs::read_dir(stage.dirs().data.join("pads")).unwrap().flatten();
    projects.next().unwrap().path()
}

#[test]
fn pads_are_written_read_listed_renamed_and_removed() {
    let (stage, app) = project("");
    let changed = |name: &str, revision| PadOutcome::Changed { name: name.to_owned(), revision };
    assert_eq!(act(&stage, &app, write("plan", "one", Some(0))).unwrap(), changed("plan", 1));
    assert_eq!(act(&stage, &app.join("web"), append("plan", "two")).unwrap(), changed("plan", 2));
    assert_eq!(read(&stage, &app, "plan"), ("one\ntwo".to_owned(), 2, "human".to_owned()));
    let old = act(&stage, &app, PadAct::Read { name: "plan".to_owned(), revision: Some(1) }).unwrap();
    assert!(matches!(old, PadOutcome::Text { content, revision: 1, .. } if content == "one"));
    let rename = PadAct::Rename { name: "plan".to_owned(), to: "done".to_owned() };
    assert_eq!(act(&stage, &app, rename).unwrap(), changed("done", 1));
    let PadOutcome::Listed(all) = act(&stage, &app, PadAct::List(Empty {})).unwrap() else { panic!() };
    let all: Vec<(&str, u64, u64)> =
        all.iter().map(|pad| (pad.name.as_str(), pad.revision, pad.bytes)).collect();
    assert_eq!(all, [("done", 1, 7)]);
    let delete = PadAct::Delete { name: "done".to_owned(), expected_revision: Some(1) };
    assert_eq!(act(&stage, &app, delete).unwrap(), changed("done", 0));
    let gone = act(&stage, &app, PadAct::Read { name: "done".to_owned(), revision: None }).unwrap_err();
    assert_eq!(gone.code, ErrorCode::NotFound);
    assert_eq!(history(&stage, &app, "done").len(), 2);
}

#[test]
fn a_conflict_carries_the_current_revision_and_changes_nothing() {
    let (stage, app) = project("");
    act(&stage, &app, write("plan", "a", None)).unwrap();
    act(&stage, &app, write("plan", "b", Some(1))).unwrap();
    for stale in [0, 1, 3] {
        let refused = act(&stage, &app, write("plan", "c", Some(stale))).unwrap_err();
        assert_eq!((refused.code, refused.revision), (ErrorCode::Conflict, Some(2)));
        let delete = PadAct::Delete { name: "plan".to_owned(), expected_revision: Some(stale) };
        assert_eq!(act(&stage, &app, delete).unwrap_err().revision, Some(2));
    }
    assert_eq!(read(&stage, &app, "plan").0, "b");
    let large = act(&stage, &app, write("plan", &"x".repeat((1 << 20) + 1), None)).unwrap_err();
    assert!(large.code == ErrorCode::InvalidArgs && large.message.starts_with("content"), "{large:?}");
    act(&stage, &app, write("plan", &"x".repeat(1 << 20), None)).unwrap();
    let more = act(&stage, &app, append("plan", "y")).unwrap_err();
    assert!(more.message.starts_with("text"), "{more:?}");
}

#[test]
fn two_writers_who_say_what_they_have_seen_lose_nothing() {
    let (stage, app) = project("");
    act(&stage, &app, write("count", "", None)).unwrap();
    let rounds = 25;
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (stage, app) = (&stage, &app);
            scope.spawn(move || {
                for round in 0..rounds {
                    loop {
                        let (text, revision, _) = read(stage, app, "count");
                        let more = format!("{text}{writer}.{round}\n");
                        match act(stage, app, write("count", &more, Some(revision))) {
                            Ok(_) => break,
                            Err(refused) => assert_eq!(refused.code, ErrorCode::Conflict),
                        }
                    }
                }
            });
        }
    });
    let (text, revision, _) = read(&stage, &app, "count");
    let lines: BTreeSet<&str> = text.lines().collect();
    assert_eq!(
        (lines.len(), text.lines().count(), revision),
        (2 * rounds, 2 * rounds, 1 + 2 * rounds as u64)
    );
}

#[test]
fn appends_of_fifty_clients_at_once_are_all_there_and_all_announced() {
    let (stage, app) = project("");
    let mut subscriber = stage.subscriber();
    std::thread::scope(|scope| {
        for client in 0..50 {
            let (stage, app) = (&stage, &app);
            scope.spawn(move || {
                for line in 0..2 {
                    act(stage, app, append("log", &format!("{client}.{line}\n"))).unwrap();
                }
            });
        }
    });
    let (text, revision, _) = read(&stage, &app, "log");
    let lines: BTreeSet<&str> = text.lines().collect();
    assert_eq!((lines.len(), text.lines().count(), revision), (100, 100, 100));
    let last = |event: &Event| matches!(event, Event::PadChanged { revision: 100, .. });
    let revisions: Vec<u64> = stage
        .until_event(&mut subscriber, last)
        .iter()
        .filter_map(|event| match event {
            Event::PadChanged { name, revision, .. } if name == "log" => Some(*revision),
            _ => None,
        })
        .collect();
    assert_eq!(revisions, (1..=100).collect::<Vec<u64>>(), "each once, in order");
}

#[test]
fn an_editors_change_is_a_revision_and_an_event() {
    let (stage, app) = project("");
    act(&stage, &app, write("plan", "ours", None)).unwrap();
    let mut subscriber = stage.subscriber();
    let folder = folder(&stage);
    std::fs::write(folder.join(".new"), "by hand").unwrap();
    std::fs::rename(folder.join(".new"), folder.join("plan")).unwrap();
    let is_editors = |event: &Event| matches!(event, Event::PadChanged { name, revision: 2, author, .. } if name == "plan" && author == "editor");
    stage.until_event(&mut subscriber, is_editors);
    assert_eq!(read(&stage, &app, "plan"), ("by hand".to_owned(), 2, "editor".to_owned()));
    let refused = act(&stage, &app, write("plan", "mine", Some(1))).unwrap_err();
    assert_eq!(refused.revision, Some(2));
    std::fs::remove_file(folder.join("plan")).unwrap();
    let is_gone =
        |event: &Event| matches!(event, Event::PadChanged { name, revision: 0, .. } if name == "plan");
    stage.until_event(&mut subscriber, is_gone);
    assert_eq!(history(&stage, &app, "plan").len(), 3);
}

#[test]
fn pads_survive_the_daemon_and_what_was_edited_meanwhile_is_seen() {
    let (stage, app) = project("");
    act(&stage, &app, write("plan", "before", None)).unwrap();
    let folder = folder(&stage);
    stage.kill_9();
    std::fs::write(folder.join("plan"), "meanwhile").unwrap();
    assert_eq!(read(&stage, &app, "plan"), ("meanwhile".to_owned(), 2, "editor".to_owned()));
    // Killed again and again between its writes: everything acknowledged is there.
    let mut acknowledged = Vec::new();
    for round in 0..5 {
        for line in 0..3 {
            let text = format!("{round}.{line}\n");
            act(&stage, &app, append("log", &text)).unwrap();
            acknowledged.push(text);
        }
        stage.kill_9();
    }
    assert_eq!(read(&stage, &app, "log").0, acknowledged.concat());
    assert_eq!(history(&stage, &app, "log").len(), acknowledged.len());
}

/// Returns nearly as much text as a pad may hold, so that writing it takes a while.
fn long(word: &str) -> String {
    format!("{word}\n").repeat((1 << 20) / (word.len() + 1))
}

/// What a writer leaves that was killed before its rename: of a pad, and of a revision of it.
fn leave_half_written(folder: &Path) {
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    for name in [".log.tmp-", ".history/log/.0000000099-human.tmp-"] {
        std::fs::write(folder.join(format!("{name}{}", dead.id())), "half").unwrap();
    }
}

#[test]
fn f1_a_daemon_killed_while_it_writes_leaves_a_whole_revision_and_no_temporary_file() {
    let (stage, app) = project("");
    for round in 0..testkit::scaled(8) {
        let (answered, under_way) = (long(&format!("{round} answered")), long(&format!("{round} under way")));
        let outcome = act(&stage, &app, write("log", &answered, None)).unwrap();
        let PadOutcome::Changed { revision, .. } = outcome else { stage.fail(&format!("{outcome:?}")) };
        let mut client = RawClient::welcomed(&stage.dirs());
        let request = json!({"write": {"name": "log", "content": under_way}});
        client.ask(json!({"pad": {"project": app, "act": request}}));
        // Anywhere from before the first byte to after the last one.
        pause(Duration::from_millis(5 * (round as u64 % 12)));
        stage.kill_9();
        if round == 0 {
            leave_half_written(&folder(&stage));
        }
        let (found, _, _) = read(&stage, &app, "log");
        assert!(found == answered || found == under_way, "round {round}: {:?}", found.get(..40));
        let kept = PadAct::Read { name: "log".to_owned(), revision: Some(revision) };
        let kept = act(&stage, &app, kept).unwrap();
        assert!(matches!(kept, PadOutcome::Text { content, .. } if content == answered), "round {round}");
        // The next daemon checks everything once, in its own time.
        testkit::process_scan::eventually("nothing half written to be left", || {
            let is_half = |path: &PathBuf| path.display().to_string().contains(".tmp-");
            (!testkit::process_scan::files(&folder(&stage)).iter().any(is_half)).then_some(())
        });
    }
}

#[test]
fn a_process_has_its_own_projects_pads_under_its_own_name() {
    let (stage, app) = project("");
    let mut inside = Inside::begin(&stage, "worker", &app.join("web"));
    inside.json("pads append notes hello");
    assert_eq!(read(&stage, &app, "notes"), ("hello\n".to_owned(), 1, "worker".to_owned()));
    let (code, told) = inside.refused("pads --project / list");
    assert_eq!(code, "not_related", "{told}");
    let (code, told) = inside.refused("pads show ../notes");
    assert!(code == "invalid_args" && told["message"].as_str().unwrap().starts_with("name"), "{told}");
    let mut human = Inside::begin(&stage, "human", &app);
    human.json("pads append notes more");
    assert_eq!(read(&stage, &app, "notes").2, "process-human", "a process cannot pass for a person");
}

/// Returns the content of a directory: every path with its bytes.
fn process_scan(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = testkit::process_scan::files(root).into_iter();
    files.filter(|path| path.is_file()).map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

fn hostile_names() -> Vec<String> {
    let plain = "|.|..|../x|/etc/passwd|a/b|a\\b|%2e%2e|..%2fx|a\0b|CON|Plan|a b|-rf|_a|.hidden|a.|a..|ä|\u{202e}txt|\
                 a\u{200b}|a\n|a\r|~|~root|$HOME|*|a*|?|a;b|`id`|$(id)|a&b|a>b|a<b|\"|'|a'b|a:b|a@b|a+b|a=b|a,b|a!b|\
                 a#b|a%b|a^b|a(b|a)b|a[b|a]b|a{b|a}b|\u{7f}|\u{1b}[2J|./a|a/.|a/..|...|.git|.history|.ssh/id";
    let mut names: Vec<String> = plain.split('|').map(str::to_owned).collect();
    names.extend(["a".repeat(65), "a".repeat(4096)]);
    names.extend((0..32_u8).map(|control| format!("a{}b", control as char)));
    names.extend((0..30).map(|depth| format!("{}etc", "../".repeat(depth + 1))));
    names
}

#[test]
fn f4_no_name_leads_out_of_the_pads_through_the_door() {
    let (stage, app) = project("");
    act(&stage, &app, write("good", "x", None)).unwrap();
    let names = hostile_names();
    assert!(names.len() >= 120, "{}", names.len());
    let pads = stage.dirs().data.join("pads");
    let before = process_scan(&pads);
    let around: BTreeSet<PathBuf> = testkit::process_scan::files(&app).into_iter().collect();
    for hostile in &names {
        let name = || hostile.clone();
        let acts = [
            ("name", PadAct::Read { name: name(), revision: None }),
            ("name", write(hostile, "evil", None)),
            ("name", append(hostile, "evil")),
            ("name", PadAct::Delete { name: name(), expected_revision: None }),
            ("name", PadAct::Rename { name: name(), to: "fine".to_owned() }),
            ("to", PadAct::Rename { name: "good".to_owned(), to: name() }),
            ("name", PadAct::History { name: name() }),
        ];
        for (field, request) in acts {
            let refused = act(&stage, &app, request).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgs, "{hostile:?}");
            assert!(refused.message.starts_with(&format!("{field}: ")), "{hostile:?}: {}", refused.message);
        }
    }
    assert_eq!(process_scan(&pads), before);
    assert_eq!(testkit::process_scan::files(&app).into_iter().collect::<BTreeSet<_>>(), around);
}

#[test]
fn f4_a_link_among_the_pads_leads_nowhere_through_the_door() {
    let (stage, app) = project("");
    act(&stage, &app, write("good", "x", None)).unwrap();
    let secret = stage.root().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    let folder = folder(&stage);
    std::os::unix::fs::symlink(&secret, folder.join("link")).unwrap();
    std::fs::hard_link(&secret, folder.join("hard")).unwrap();
    for bad in ["link", "hard"] {
        assert!(act(&stage, &app, PadAct::Read { name: bad.to_owned(), revision: None }).is_err(), "{bad}");
        assert!(act(&stage, &app, write(bad, "evil", None)).is_err(), "{bad}");
        assert!(act(&stage, &app, append(bad, "evil")).is_err(), "{bad}");
    }
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
}

/// A small disk at this path, as long as it lives.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn at(place: &Path) -> Option<Self> {
        std::fs::create_dir_all(place).unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k,mode=0700", "none"])
            .arg(place)
            .output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(place.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily, because the daemon still uses it.
        drop(std::process::Command::new("umount").arg("-l").arg(&self.0).output());
    }
}

#[test]
fn f3_a_full_disk_is_told_and_leaves_the_old_text() {
    let stage = MarkedDaemon::around(testkit::TestDaemon::without_start(crate::QD));
    let data = stage.dirs().data;
    std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700).create(&data).unwrap();
    let Some(disk) = SmallDisk::at(&data.join("pads")) else {
        println!("not checked: mounting is not allowed here");
        return;
    };
    let app = stage.root().canonicalize().unwrap();
    act(&stage, &app, write("plan", "old", None)).unwrap();
    let full = act(&stage, &app, write("plan", &"x".repeat(300 * 1024), Some(1))).unwrap_err();
    assert_eq!(full.code, ErrorCode::NoSpace, "{full:?}");
    // Its history would fit, but not the file beside it.
    let half = act(&stage, &app, write("plan", &"x".repeat(150 * 1024), Some(1))).unwrap_err();
    assert_eq!(half.code, ErrorCode::NoSpace, "{half:?}");
    assert_eq!(read(&stage, &app, "plan"), ("old".to_owned(), 1, "human".to_owned()));
    act(&stage, &app, append("plan", "and new")).unwrap();
    assert_eq!(read(&stage, &app, "plan").0, "old\nand new");
    drop(disk);
}
