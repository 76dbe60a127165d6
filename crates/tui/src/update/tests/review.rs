//! Facts about the review of a task: what is shown of files and comments, what is marked, what is sent.

use std::path::Path;

use proto::Reply;
use proto::request::{ReviewAct, TaskAct};
use proto::task::TaskOutcome;
use serde_json::json;

use super::tasks::{acts, with_two};
use super::typed;
use crate::config::Config;
use crate::frame::Grid;
use crate::message::{CallFor, Command, Message};
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::theme::{Role, Theme};
use crate::update::update;
use crate::view;

const DIFF: &str = "diff --git a/src/model/mod.rs b/src/model/mod.rs\n@@ -1 +1,2 @@\n-old\n+new\n+more\n\
    diff --git a/src/view/mod.rs b/src/view/mod.rs\nnew file mode 100644\n@@ -0,0 +1 @@\n+first\n";

fn answered(model: &mut Model, answer: serde_json::Value) {
    let outcome: TaskOutcome = serde_json::from_value(answer).unwrap();
    let opens = CallFor::Changes { opens: true };
    update(model, Message::Answered(opens, Ok(Reply::Task(Box::new(outcome)))));
}

fn comment(number: u64, first: u32, text: &str) -> serde_json::Value {
    json!({"number": number, "file": "src/model/mod.rs", "first": first, "last": first, "quoted": ["new"],
        "text": text, "author": "human", "status": "draft"})
}

/// A review of two files of one name, with these comments.
fn reviewing(diff: &str, comments: &[serde_json::Value]) -> Model {
    let mut model = with_two();
    typed(&mut model, b"d");
    answered(
        &mut model,
        json!({"diff": {"name": "fix", "base": "0123456789abcdef", "files": [], "text": diff}}),
    );
    answered(&mut model, json!({"review": {"name": "fix", "comments": comments}}));
    model
}

fn drawn(model: &Model) -> Grid {
    let mut grid = Grid::new(model.size);
    view::chrome(model, &mut grid);
    view::overlays(model, &mut grid);
    grid
}

/// The numbers of lines around a change that were asked for.
fn contexts(commands: Vec<Command>) -> Vec<Option<u16>> {
    let context = |act| match act {
        TaskAct::Diff(diff) => Some(diff.context),
        _ => None,
    };
    acts(commands).into_iter().filter_map(context).collect()
}

#[test]
fn u33_a_review_has_as_many_lines_around_a_change_as_the_settings_say_and_an_open_one_is_read_again() {
    let mut model = with_two();
    assert_eq!(contexts(typed(&mut model, b"d")), [Some(3)]);
    let mut model = reviewing(DIFF, &[]);
    let config = |text: &str| Box::new(Config::parse(text, Path::new("/nonexistent")).unwrap());
    let changed = update(&mut model, Message::Configured(config("review-context = 9"), None));
    assert_eq!(contexts(changed), [Some(9)]);
    assert_eq!(contexts(typed(&mut model, b"r")), [Some(9)]);
    let same = update(&mut model, Message::Configured(config("review-context = 9\nmouse = false"), None));
    assert_eq!(contexts(same), []);
}

#[test]
fn u19_three_comments_are_sent_as_one_message_and_the_screen_says_to_whom() {
    let comments = [comment(1, 1, "one"), comment(2, 2, "two"), comment(3, 1, "three")];
    let mut model = reviewing(DIFF, &comments);
    let text = drawn(&model).to_text();
    assert!(text.contains("3 comments, 3 unsent"), "{text}");
    assert!(text.contains("sends to: p1, as one message"), "{text}");
    let sent = acts(typed(&mut model, b"S"));
    assert!(
        matches!(sent.as_slice(), [TaskAct::Review(review)] if matches!(review.act, ReviewAct::Send(_))),
        "{sent:?}"
    );
}

#[test]
fn u19_the_list_of_files_tells_two_files_of_one_name_apart_and_says_what_became_of_them() {
    let model = reviewing(DIFF, &[]);
    let text = drawn(&model).to_text();
    for words in ["REVIEW fix vs main  2 files +3-1", "M src/model/mod.rs", "A src/view/mod.rs"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn u19_a_long_comment_is_shown_whole() {
    let words: Vec<String> = (0..60).map(|number| format!("word{number:02}")).collect();
    let mut model = reviewing(DIFF, &[comment(1, 2, &words.join(" ")), comment(2, 2, "after it")]);
    for cols in [60, 80, 120] {
        update(&mut model, Message::Resized(proto::Size { cols, rows: 40 }));
        let text = drawn(&model).to_text();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
        assert!(text.contains("after it") && text.contains("src/view/mod.rs"), "{text}");
    }
    // The selected one is whole where not everything has room.
    update(&mut model, Message::Resized(proto::Size { cols: 60, rows: 16 }));
    typed(&mut model, b"jjjjj");
    let text = drawn(&model).to_text();
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
}

#[test]
fn u19_a_file_that_was_seen_is_marked_until_it_changes() {
    let mut model = reviewing(DIFF, &[]);
    typed(&mut model, b"jjm");
    let text = drawn(&model).to_text();
    assert!(text.contains("M [x] src/model/mod.rs") && text.contains(">A src/view/mod.rs"), "{text}");
    // It stays while the review is closed, and goes with a change of the file.
    typed(&mut model, b"q");
    let again = |diff: &str| json!({"diff": {"name": "fix", "base": "b", "files": [], "text": diff}});
    answered(&mut model, again(DIFF));
    assert!(drawn(&model).to_text().contains("[x] src/model/mod.rs"));
    answered(&mut model, again(&DIFF.replace("+more", "+less")));
    assert!(!drawn(&model).to_text().contains("[x]"));
    typed(&mut model, b"gmgm");
    assert!(!drawn(&model).to_text().contains("[x]"), "the second time takes the mark away");
}

#[test]
fn u24_what_is_selected_in_a_review_keeps_the_colours_of_the_change() {
    for theme in Theme::ALL {
        let mut model = reviewing(DIFF, &[]);
        model.looks.theme = theme.clone();
        typed(&mut model, b"jjjvj");
        let grid = drawn(&model);
        let text = grid.to_text();
        let row = text.lines().position(|line| line.contains("+     1  new")).unwrap();
        let cells = grid.row(u16::try_from(row).unwrap());
        let at = cells.iter().position(|cell| cell.text.as_str() == "n").unwrap();
        let good = model.theme().style(Role::Good);
        assert_eq!((cells[at].style.fg, cells[at].style.bg), (good.fg, good.bg), "{}", theme.word());
        assert_eq!(cells[at - 9].style, model.theme().style(Role::Select), "{}", theme.word());
    }
}

/// What the changes that are asked for are compared with.
fn base_of(commands: Vec<Command>) -> Option<String> {
    match acts(commands).as_slice() {
        [TaskAct::Diff(diff)] => diff.base.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_changes_are_compared_with_another_branch_by_a_key_until_it_is_empty_or_not_there() {
    let mut model = reviewing(DIFF, &[]);
    assert_eq!(base_of(typed(&mut model, b"bother/branch\r")).as_deref(), Some("other/branch"));
    let changes = json!({"diff": {"name": "fix", "base": "0123456789abcdef", "files": [], "text": DIFF}});
    answered(&mut model, changes);
    let Some(Overlay::Review(review)) = model.overlays.last() else { panic!("{:?}", model.overlays) };
    assert_eq!(review.base, "other/branch");
    assert_eq!(base_of(typed(&mut model, b"r")).as_deref(), Some("other/branch"), "reading again keeps it");
    assert_eq!(base_of(typed(&mut model, b"b\x15\r")), None);
    assert_eq!(base_of(typed(&mut model, b"bno such\r")).as_deref(), Some("no such"));
    let failure = proto::Failure::new(proto::ErrorCode::InvalidArgs, "no such commit");
    update(&mut model, Message::Answered(CallFor::Changes { opens: false }, Err(failure)));
    assert_eq!(base_of(typed(&mut model, b"r")), None);
}
