//! Diffs of real changes, read back line by line.

use worktree::{DiffExtent, DiffSide, DiffTarget, FileChange, diff_stat, raw_diff};

use super::stage::Stage;

#[test]
fn f6_a_diff_has_renames_binary_files_modes_untracked_files_and_line_numbers() {
    let stage = Stage::new();
    let task = stage.task("t");
    let base = stage.head(&task);
    stage.plain(&task, &["mv", "src/lib.rs", "src/new \"name\"\n.rs"]);
    stage.commit_all(&task, "rename");
    stage.write(&task, "src/new \"name\"\n.rs", "one\ntwo\nTHREE\nfour\nfive\nsix\nseven");
    std::fs::write(task.join("image.bin"), [0, 1, 2, 0]).unwrap();
    stage.plain(&task, &["add", "image.bin"]);
    stage.write(&task, "é untracked", "new\n");
    stage.write(&task, "x.log", "ignored\n");
    let index = std::fs::read(worktree::Layout::at(&task).unwrap().git_dir.join("index")).unwrap();
    let raw = raw_diff(&stage.git, &task, &base, &DiffTarget::Checkout, DiffExtent::default()).unwrap();
    assert!(!raw.is_truncated);
    let files = raw.files();
    let names: Vec<&str> = files.iter().map(|file| file.new_path.to_str().unwrap()).collect();
    assert_eq!(names, ["image.bin", "src/new \"name\"\n.rs", "é untracked"]);
    assert!(files[0].is_binary && files[0].change == FileChange::Added);
    assert_eq!((files[1].change, files[1].old_path.to_str()), (FileChange::Renamed, Some("src/lib.rs")));
    let lines = &files[1].hunks[0].lines;
    let removed = lines.iter().find(|line| line.side == DiffSide::Removed).unwrap();
    let added = lines.iter().find(|line| line.side == DiffSide::Added).unwrap();
    assert_eq!((removed.old, removed.new, removed.text.as_slice()), (Some(3), None, &b"three"[..]));
    assert_eq!((added.old, added.new, added.text.as_slice()), (None, Some(3), &b"THREE"[..]));
    assert!(lines.iter().any(|line| line.lacks_newline && line.text == b"seven"));
    assert_eq!(files[2].hunks[0].lines[0].text, b"new");
    let stat = diff_stat(&stage.git, &task, &base, &DiffTarget::Checkout).unwrap();
    assert_eq!(stat.iter().map(|file| file.lines).collect::<Vec<_>>(), [None, Some((2, 2)), Some((1, 0))]);
    let after = std::fs::read(worktree::Layout::at(&task).unwrap().git_dir.join("index")).unwrap();
    assert!(index == after, "the real index was touched");
}

#[test]
fn f6_a_diff_is_cut_at_its_limit_and_settings_of_the_repository_do_not_change_it() {
    let stage = Stage::new();
    let task = stage.task("t");
    let base = stage.head(&task);
    let head = stage.commit_file(&task, "big", &"line\n".repeat(10_000));
    let target = DiffTarget::Commit(head);
    let plain = raw_diff(&stage.git, &task, &base, &target, DiffExtent::default()).unwrap();
    for setting in [
        "diff.noprefix=true",
        "diff.mnemonicPrefix=true",
        "color.ui=always",
        "diff.context=0",
        "diff.algorithm=patience",
    ] {
        let (name, value) = setting.split_once('=').unwrap();
        stage.plain(&task, &["config", name, value]);
    }
    assert_eq!(raw_diff(&stage.git, &task, &base, &target, DiffExtent::default()).unwrap(), plain);
    let short = DiffExtent { limit: 1000, ..DiffExtent::default() };
    let cut = raw_diff(&stage.git, &task, &base, &target, short).unwrap();
    assert!(cut.is_truncated && cut.text.len() == 1000);
    assert_eq!(cut.files()[0].new_path.to_str(), Some("big"));
    assert_eq!(plain.files()[0].hunks[0].lines.len(), 10_000);
}

#[test]
fn f6_a_diff_has_as_many_lines_around_a_change_as_are_wanted() {
    let stage = Stage::new();
    let task = stage.task("t");
    let numbers: Vec<String> = (1..=60).map(|number| format!("{number}\n")).collect();
    stage.commit_file(&task, "numbers", &numbers.concat());
    let base = stage.head(&task);
    stage.write(&task, "numbers", &numbers.concat().replace("\n30\n", "\nthirty\n"));
    for (context, lines) in [(0, 2), (1, 4), (3, 8), (10, 22), (100, 61)] {
        let extent = DiffExtent { context, ..DiffExtent::default() };
        let raw = raw_diff(&stage.git, &task, &base, &DiffTarget::Checkout, extent).unwrap();
        assert_eq!(raw.files()[0].hunks[0].lines.len(), lines, "{context}");
    }
}

/// Git compares times by the second on most systems, and a script may change a file in the second of its checkout.
#[test]
fn f6_a_change_of_the_same_length_and_time_as_the_checkout_is_in_the_diff() {
    let stage = Stage::new();
    let task = stage.task("t");
    let base = stage.head(&task);
    // The time of a file's last metadata change cannot be set.
    stage.plain(&task, &["config", "core.trustctime", "false"]);
    let path = task.join("src/lib.rs");
    let index = worktree::Layout::at(&task).unwrap().git_dir.join("index");
    let checkout = std::time::SystemTime::now() - std::time::Duration::from_secs(10);
    let at_checkout = |file| {
        std::fs::File::options().write(true).open(file).unwrap().set_modified(checkout).unwrap();
    };
    at_checkout(&path);
    stage.plain(&task, &["update-index", "--refresh"]);
    let changed = std::fs::read_to_string(&path).unwrap().to_uppercase();
    std::fs::write(&path, changed).unwrap();
    [&path, &index].into_iter().for_each(at_checkout);
    let stat = diff_stat(&stage.git, &task, &base, &DiffTarget::Checkout).unwrap();
    assert_eq!(stat.len(), 1, "{stat:?}");
}
