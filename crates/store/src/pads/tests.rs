//! Names that must not escape, revisions that must not be lost, edits that must be noticed.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

const PROJECT: &str = "0123456789abcdef";

fn name(text: &str) -> PadName {
    text.parse().unwrap()
}

fn pads(root: &Path) -> Pads {
    Pads::new(&root.join("pads"))
}

#[test]
fn a_write_with_an_old_revision_conflicts_and_names_the_current_one() {
    let root = tempfile::tempdir().unwrap();
    let pads = pads(root.path());
    assert_eq!(pads.write(PROJECT, &name("plan"), "a", "human", Some(0)).unwrap(), 1);
    assert_eq!(pads.write(PROJECT, &name("plan"), "b", "fix", Some(1)).unwrap(), 2);
    let refused = pads.write(PROJECT, &name("plan"), "c", "other", Some(1));
    assert!(matches!(refused, Err(PadError::Conflict { current: 2 })), "{refused:?}");
    let pad = pads.read(PROJECT, &name("plan")).unwrap();
    assert_eq!((pad.content.as_str(), pad.revision, pad.author.as_str()), ("b", 2, "fix"));
}

#[test]
fn an_editors_change_becomes_a_revision_of_its_own() {
    let root = tempfile::tempdir().unwrap();
    let pads = pads(root.path());
    pads.write(PROJECT, &name("plan"), "a", "fix", None).unwrap();
    std::fs::write(root.path().join("pads").join(PROJECT).join("plan"), "edited").unwrap();
    let pad = pads.read(PROJECT, &name("plan")).unwrap();
    assert_eq!((pad.content.as_str(), pad.revision, pad.author.as_str()), ("edited", 2, "editor"));
    let refused = pads.write(PROJECT, &name("plan"), "mine", "fix", Some(1));
    assert!(matches!(refused, Err(PadError::Conflict { current: 2 })), "{refused:?}");
    assert_eq!(pads.read_revision(PROJECT, &name("plan"), 1).unwrap().content, "a");
}

#[test]
fn a_removed_pad_keeps_its_history_and_its_numbers() {
    let root = tempfile::tempdir().unwrap();
    let pads = pads(root.path());
    pads.write(PROJECT, &name("plan"), "a", "fix", None).unwrap();
    assert_eq!(pads.delete(PROJECT, &name("plan"), "human", Some(1)).unwrap(), 2);
    assert!(matches!(pads.read(PROJECT, &name("plan")), Err(PadError::NotFound(_))));
    assert_eq!(pads.write(PROJECT, &name("plan"), "b", "fix", None).unwrap(), 3);
    let authors: Vec<(u64, String, bool)> = pads
        .history(PROJECT, &name("plan"))
        .unwrap()
        .into_iter()
        .map(|revision| (revision.number, revision.author, revision.is_removal))
        .collect();
    let expected = [(1, "fix", false), (2, "human", true), (3, "fix", false)];
    assert_eq!(authors, expected.map(|(number, author, gone)| (number, author.to_owned(), gone)));
}

#[test]
fn a_rename_takes_the_text_along_and_never_replaces_another() {
    let root = tempfile::tempdir().unwrap();
    let pads = pads(root.path());
    pads.write(PROJECT, &name("a"), "text", "fix", None).unwrap();
    pads.write(PROJECT, &name("b"), "other", "fix", None).unwrap();
    assert!(matches!(pads.rename(PROJECT, &name("a"), &name("b"), "fix"), Err(PadError::Taken(_))));
    pads.rename(PROJECT, &name("a"), &name("c"), "fix").unwrap();
    assert_eq!(pads.read(PROJECT, &name("c")).unwrap().content, "text");
    let names: Vec<String> =
        pads.list(PROJECT).unwrap().into_iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names, ["b", "c"]);
}

#[test]
fn a_rename_that_fails_half_way_is_taken_back_and_can_be_asked_for_again() {
    let root = tempfile::tempdir().unwrap();
    let pads = pads(root.path());
    pads.write(PROJECT, &name("a"), "text", "fix", None).unwrap();
    // Blocks the file that records the removal of the old name.
    let obstacle = format!(".history/a/.0000000002-fix.gone.tmp-{}", std::process::id());
    let obstacle = root.path().join("pads").join(PROJECT).join(obstacle);
    std::fs::create_dir(&obstacle).unwrap();
    assert!(matches!(pads.rename(PROJECT, &name("a"), &name("b"), "fix"), Err(PadError::Store(_))));
    let names = |pads: &Pads| -> Vec<String> {
        pads.list(PROJECT).unwrap().into_iter().map(|(name, _)| name.to_string()).collect()
    };
    assert_eq!(names(&pads), ["a"]);
    std::fs::remove_dir(&obstacle).unwrap();
    pads.rename(PROJECT, &name("a"), &name("b"), "fix").unwrap();
    assert_eq!(
        (names(&pads), pads.read(PROJECT, &name("b")).unwrap().content),
        (vec!["b".into()], "text".into())
    );
}

#[test]
fn appends_of_many_threads_are_all_there_once() {
    let root = tempfile::tempdir().unwrap();
    let pads = pads(root.path());
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let pads = &pads;
            scope.spawn(move || {
                for line in 0..10 {
                    pads.append(PROJECT, &name("log"), &format!("{writer}.{line}\n"), "fix").unwrap();
                }
            });
        }
    });
    let pad = pads.read(PROJECT, &name("log")).unwrap();
    let lines: std::collections::BTreeSet<&str> = pad.content.lines().collect();
    assert_eq!((pad.revision, pad.content.lines().count(), lines.len()), (40, 40, 40));
}

#[test]
fn what_is_appended_stands_on_a_line_of_its_own() {
    let root = tempfile::tempdir().unwrap();
    let pads = pads(root.path());
    pads.write(PROJECT, &name("plan"), "first", "fix", None).unwrap();
    pads.append(PROJECT, &name("plan"), "second\n", "fix").unwrap();
    pads.append(PROJECT, &name("plan"), "third", "fix").unwrap();
    assert_eq!(pads.read(PROJECT, &name("plan")).unwrap().content, "first\nsecond\nthird");
}

#[test]
fn only_the_newest_hundred_revisions_are_kept() {
    let root = tempfile::tempdir().unwrap();
    let pads = pads(root.path());
    for number in 0..105 {
        pads.write(PROJECT, &name("plan"), &number.to_string(), "fix", None).unwrap();
    }
    let kept = pads.history(PROJECT, &name("plan")).unwrap();
    assert_eq!((kept.len(), kept[0].number, kept[99].number), (100, 6, 105));
}

#[test]
fn an_old_revision_that_cannot_go_does_not_refuse_new_ones() {
    let root = tempfile::tempdir().unwrap();
    let pads = pads(root.path());
    pads.write(PROJECT, &name("plan"), "text", "fix", None).unwrap();
    let history = root.path().join("pads").join(PROJECT).join(".history/plan");
    // Older than all others, and not a file.
    std::fs::create_dir(history.join("0000000000-x")).unwrap();
    (2..=120).for_each(|number| std::fs::write(history.join(format!("{number:010}-fix")), "text").unwrap());
    assert_eq!(pads.write(PROJECT, &name("plan"), "new", "fix", None).unwrap(), 121);
    assert_eq!(pads.read(PROJECT, &name("plan")).unwrap().content, "new");
    assert!(pads.history(PROJECT, &name("plan")).unwrap().len() <= 101);
}

/// Returns the content of a directory: every path with its bytes.
fn process_scan(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(root).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(process_scan(&path));
        } else if path.is_file() {
            found.insert(path.display().to_string(), std::fs::read(&path).unwrap());
        }
    }
    found
}

/// Returns at least 120 names that must not lead anywhere.
fn hostile_names() -> Vec<String> {
    let mut names: Vec<String> = [
        "",
        ".",
        "..",
        "../x",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "%2e%2e",
        "..%2fx",
        "a\0b",
        "CON",
        "Plan",
        "a b",
        "-rf",
        "_a",
        ".hidden",
        "a.",
        "a..",
        "ä",
        "\u{202e}txt",
        "a\u{200b}",
        "a\n",
        "a\r",
        "~",
        "~root",
        "$HOME",
        "*",
        "a*",
        "?",
        "a;b",
        "a|b",
        "`id`",
        "$(id)",
        "a&b",
        "a>b",
        "a<b",
        "\"",
        "'",
        "a'b",
        "a:b",
        "a@b",
        "a+b",
        "a=b",
        "a,b",
        "a!b",
        "a#b",
        "a%b",
        "a^b",
        "a(b",
        "a)b",
        "a[b",
        "a]b",
        "a{b",
        "a}b",
        "\u{7f}",
        "\u{1b}[2J",
        "./a",
        "a/.",
        "a/..",
        "...",
        ".git",
        ".ssh/authorized_keys",
    ]
    .map(str::to_owned)
    .to_vec();
    names.push("a".repeat(65));
    names.push("a".repeat(4096));
    names.extend((0..32_u8).map(|control| format!("a{}b", control as char)));
    names.extend((0..30).map(|depth| format!("{}etc", "../".repeat(depth + 1))));
    names
}

#[test]
fn f4_no_name_escapes_its_directory() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("outside"), "untouched").unwrap();
    let names = hostile_names();
    assert!(names.len() >= 120, "{}", names.len());
    for hostile in &names {
        assert_eq!(hostile.parse::<PadName>(), Err(BadPadName), "{hostile:?}");
    }
    for project in ["", "..", "../x", "a/b", "0123456789abcdeg"] {
        assert!(pads(root.path()).write(project, &name("a"), "x", "fix", None).is_err(), "{project:?}");
    }
    assert_eq!(process_scan(root.path()).len(), 1);
}

#[test]
fn f4_links_pipes_and_second_names_are_refused_and_what_they_lead_to_is_untouched() {
    let root = tempfile::tempdir().unwrap();
    let secret = root.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    let pads = pads(root.path());
    pads.write(PROJECT, &name("good"), "x", "fix", None).unwrap();
    let folder = root.path().join("pads").join(PROJECT);
    symlink(&secret, folder.join("link")).unwrap();
    std::fs::hard_link(&secret, folder.join("hard")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        folder.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    std::fs::create_dir(folder.join("dir")).unwrap();
    for bad in ["link", "hard", "pipe", "dir"] {
        assert!(matches!(pads.read(PROJECT, &name(bad)), Err(PadError::Store(_))), "{bad}");
        assert!(pads.write(PROJECT, &name(bad), "overwritten", "fix", None).is_err(), "{bad}");
        assert!(pads.append(PROJECT, &name(bad), "more", "fix").is_err(), "{bad}");
    }
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
    let listed: Vec<String> =
        pads.list(PROJECT).unwrap().into_iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(listed, ["good"]);
}

#[test]
fn f4_a_file_exchanged_for_a_link_while_it_is_used_leads_nowhere() {
    let root = tempfile::tempdir().unwrap();
    let secret = root.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    let pads = pads(root.path());
    pads.write(PROJECT, &name("plan"), "x", "fix", None).unwrap();
    let folder = root.path().join("pads").join(PROJECT);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                drop(symlink(&secret, folder.join("swap")));
                drop(std::fs::rename(folder.join("swap"), folder.join("plan")));
                drop(std::fs::write(folder.join("fresh"), "y"));
                drop(std::fs::rename(folder.join("fresh"), folder.join("plan")));
            }
        });
        for round in 0..300 {
            if let Ok(pad) = pads.read(PROJECT, &name("plan")) {
                assert_ne!(pad.content, "secret");
            }
            drop(pads.write(PROJECT, &name("plan"), &format!("round {round}"), "fix", None));
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
}

#[test]
fn too_much_and_no_text_are_told_and_change_nothing() {
    let root = tempfile::tempdir().unwrap();
    let pads = pads(root.path());
    pads.write(PROJECT, &name("plan"), "a", "fix", None).unwrap();
    let large = "x".repeat(PAD_LIMIT + 1);
    assert!(matches!(pads.write(PROJECT, &name("plan"), &large, "fix", None), Err(PadError::TooLarge)));
    assert_eq!(pads.read(PROJECT, &name("plan")).unwrap().content, "a");
    std::fs::write(root.path().join("pads").join(PROJECT).join("plan"), [0xff, 0xfe]).unwrap();
    assert!(matches!(pads.read(PROJECT, &name("plan")), Err(PadError::NotText(_))));
}

#[test]
fn every_change_is_told_once_and_in_order_also_an_editors() {
    let root = tempfile::tempdir().unwrap();
    let heard = std::sync::Arc::new(Mutex::new(Vec::new()));
    let ear = std::sync::Arc::clone(&heard);
    let pads = pads(root.path()).telling(move |change| ear.lock().unwrap().push(change));
    let file = |name: &str| root.path().join("pads").join(PROJECT).join(name);
    pads.write(PROJECT, &name("a"), "1", "fix", None).unwrap();
    std::fs::write(file("a"), "by hand").unwrap();
    pads.read(PROJECT, &name("a")).unwrap();
    pads.check_file(PROJECT, &name("a")).unwrap();
    pads.rename(PROJECT, &name("a"), &name("b"), "human").unwrap();
    std::fs::write(file("new"), "x").unwrap();
    std::fs::remove_file(file("b")).unwrap();
    pads.look_at_all(PROJECT).unwrap();
    pads.look_at_all(PROJECT).unwrap();
    pads.delete(PROJECT, &name("new"), "fix", Some(1)).unwrap();
    let told: Vec<(String, u64, String)> = heard
        .lock()
        .unwrap()
        .iter()
        .map(|change| (change.name.to_string(), change.revision, change.author.clone()))
        .collect();
    let expected = [
        ("a", 1, "fix"),
        ("a", 2, "editor"),
        ("b", 1, "human"),
        ("a", 0, "human"),
        ("b", 0, "editor"),
        ("new", 1, "editor"),
        ("new", 0, "fix"),
    ];
    assert_eq!(told, expected.map(|(name, number, author)| (name.to_owned(), number, author.to_owned())));
}

#[test]
fn f1_what_a_killed_writer_left_is_removed_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    pads(root.path()).write(PROJECT, &name("plan"), "text", "fix", None).unwrap();
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let (dead, own, alive) = (dead.id(), std::process::id(), rustix::process::getppid().unwrap());
    let folder = root.path().join("pads").join(PROJECT);
    let history = folder.join(".history/plan");
    let gone = [
        folder.join(format!(".plan.tmp-{dead}")),
        folder.join(format!(".never-made.tmp-{dead}")),
        folder.join(format!(".plan.tmp-{own}")),
        folder.join(".plan.tmp-0"),
        history.join(format!(".0000000002-fix.tmp-{dead}")),
        history.join(format!(".0000000002-fix.gone.tmp-{own}")),
    ];
    let kept = [
        folder.join(format!(".plan.tmp-{alive}")),
        folder.join(format!(".Plan.tmp-{dead}")),
        folder.join(format!("plan.tmp-{dead}")),
        folder.join(".plan.tmp-"),
        folder.join(".plan.tmp--5"),
        folder.join(".plan.tmp-99999999999999999999"),
        folder.join(".plan.swp"),
        history.join(format!(".notes.tmp-{dead}")),
        history.join(format!(".0000000002-fix.tmp-{alive}")),
    ];
    gone.iter().chain(&kept).for_each(|path| std::fs::write(path, "half").unwrap());
    let again = pads(root.path());
    again.look_at_all(PROJECT).unwrap();
    gone.iter().for_each(|path| assert!(!path.exists(), "{} is still there", path.display()));
    kept.iter().for_each(|path| assert!(path.exists(), "{} is none of ours", path.display()));
    let pad = again.read(PROJECT, &name("plan")).unwrap();
    assert_eq!((pad.content.as_str(), pad.revision), ("text", 1));
}

#[test]
fn asking_for_what_is_not_there_leaves_nothing_behind() {
    let root = tempfile::tempdir().unwrap();
    let pads = pads(root.path());
    pads.write(PROJECT, &name("a"), "1", "fix", None).unwrap();
    let before = process_scan(root.path());
    assert!(matches!(pads.read(PROJECT, &name("b")), Err(PadError::NotFound(_))));
    assert!(matches!(pads.history(PROJECT, &name("b")), Err(PadError::NotFound(_))));
    assert!(matches!(pads.read_revision(PROJECT, &name("a"), 9), Err(PadError::NoRevision(_, 9))));
    assert_eq!(process_scan(root.path()), before);
    assert!(!root.path().join("pads").join(PROJECT).join(".history/b").exists());
    assert_eq!(pads.history(PROJECT, &name("a")).unwrap()[0].bytes, 1);
}
