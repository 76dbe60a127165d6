//! What a person is told, and that nothing that was written is lost: notices, hints, help, forms, searches.

use proto::event::Event;
use proto::styled::{StyledRow, StyledRun};
use proto::task::TaskOutcome;
use proto::{ErrorCode, Failure, ProcessId, Reply, Request, Size};
use serde_json::json;

use super::tasks::{listed, task, task_made};
use super::{agent, model, open, process, typed};
use crate::frame::Grid;
use crate::message::{CallFor, Command, Message};
use crate::model::history::{History, HistoryPosition};
use crate::model::overlay::Overlay;
use crate::model::splits::PaneId;
use crate::model::{Away, Model};
use crate::update::update;
use crate::view;

fn picture(model: &Model) -> Vec<String> {
    let mut grid = Grid::new(model.size);
    view::chrome(model, &mut grid);
    view::overlays(model, &mut grid);
    (0..model.size.rows).map(|row| grid.row(row).iter().map(|cell| cell.text.as_str()).collect()).collect()
}

fn asks_tasks(commands: &[Command]) -> bool {
    commands.iter().any(|command| matches!(command, Command::Call(CallFor::Tasks, _)))
}

#[test]
fn u27_after_a_shutdown_nothing_is_typed_and_a_key_starts_the_daemon() {
    let mut model = model(vec![process(1, "web", json!({})), process(2, "lead", agent("idle", 0))]);
    open(&mut model, 1);
    update(&mut model, Message::Disconnected("gone".to_owned()));
    assert_eq!(typed(&mut model, b"a").len(), 1, "the next daemon is on its way: the pane keeps the key");
    update(&mut model, Message::ShutDown);
    assert_eq!(model.daemon.away, Some(Away::ShutDown));
    assert!(model.toasts[0].text.contains("web and lead go on; Ctrl-\\ A starts one"), "{:?}", model.toasts);
    assert!(typed(&mut model, b"b").is_empty());
    assert!(model.toasts[0].text.starts_with("not typed"));
    for size in [Size { cols: 60, rows: 16 }, Size { cols: 80, rows: 24 }] {
        update(&mut model, Message::Resized(size));
        let picture = picture(&model);
        assert!(picture.last().unwrap().contains("no daemon: Ctrl"), "{picture:#?}");
    }
    assert_eq!(typed(&mut model, b"\x1cA"), [Command::StartDaemon]);
    let processes = model.crew.processes.clone();
    update(&mut model, Message::Connected(processes));
    assert_eq!(typed(&mut model, b"c").len(), 1);
}

#[test]
fn tasks_are_asked_for_when_one_of_them_changes_and_when_somebody_has_looked() {
    let unseen =
        json!({"kind": "agent", "state": "idle", "task": "fix", "unseen": {"what": "turn", "since": 0}});
    let mut model = model(vec![process(1, "fix", unseen)]);
    let changed = Event::TaskChanged { task: 1, name: "fix".to_owned(), dropped: false };
    assert!(asks_tasks(&update(&mut model, Message::Happened(changed))));
    let seen = process(1, "fix", json!({"kind": "agent", "state": "idle", "task": "fix"}));
    assert!(asks_tasks(&update(&mut model, Message::Happened(Event::Changed(Box::new(seen.clone()))))));
    assert!(!asks_tasks(&update(&mut model, Message::Happened(Event::Changed(Box::new(seen))))));
}

#[test]
fn a_task_that_cannot_be_made_keeps_its_form_and_says_why() {
    let mut model = model(Vec::new());
    model.crew.agents = vec!["fake".to_owned()];
    typed(&mut model, b"\x1cCKeep this long text\tbad  name\x13");
    let commands = typed(&mut model, b"\x13");
    assert!(commands.is_empty(), "it is asked for once");
    let failure =
        Failure::new(ErrorCode::InvalidArgs, "not in a git repository").hint("without a worktree it can be");
    update(&mut model, Message::Answered(task_made(true, false), Err(failure)));
    let Some(Overlay::Form(form)) = model.overlays.last() else { panic!("the form is gone") };
    assert_eq!(
        (form.prompt.text().as_str(), form.chosen_name().as_str()),
        ("Keep this long text", "bad-name")
    );
    let picture = picture(&model).join("\n");
    assert!(picture.contains("not in a git repository (without a worktree it can be)"), "{picture}");
    assert!(model.toasts.is_empty());
    // Asked for again, it is made, and the form goes.
    assert_eq!(typed(&mut model, b"\x13").len(), 1);
    let created = json!({"task": serde_json::to_value(task("bad-name", "idle", &[])).unwrap()});
    let created = serde_json::from_value(created).unwrap();
    let reply = Reply::Task(Box::new(TaskOutcome::Created(Box::new(created))));
    update(&mut model, Message::Answered(task_made(false, false), Ok(reply)));
    assert!(model.overlays.is_empty());
}

#[test]
fn help_opens_at_the_keys_of_the_view_that_is_open() {
    let mut model = model(Vec::new());
    update(&mut model, Message::Resized(Size { cols: 80, rows: 24 }));
    for (keys, heading) in [(&b"\x1ct?"[..], "IN TASKS"), (b"\x1cw?", "IN WALL"), (b"\x1ca?", "IN INBOX")] {
        typed(&mut model, keys);
        let picture = picture(&model).join("\n");
        assert!(picture.contains(heading) && !picture.contains("AFTER"), "{picture}");
        model.overlays.clear();
    }
}

#[test]
fn a_message_is_refused_before_it_is_written_where_nobody_understands_it() {
    let mut model = model(vec![process(1, "web", json!({})), process(2, "lead", agent("idle", 0))]);
    open(&mut model, 1);
    typed(&mut model, b"\x1cm");
    assert!(model.overlays.is_empty() && model.toasts[0].text.contains("messages are for agents"));
    open(&mut model, 2);
    typed(&mut model, b"\x1cm");
    assert!(matches!(model.overlays.as_slice(), [Overlay::Prompt(_)]));
}

#[test]
fn the_hints_of_the_deck_name_whole_keys_and_help_is_the_last_to_go() {
    let mut model = model(vec![process(1, "web", json!({}))]);
    open(&mut model, 1);
    for (cols, hints) in
        [(60, "Ctrl-\\ menu  Ctrl-\\ ? help"), (120, "Ctrl-\\ menu  Ctrl-\\ n next  Ctrl-\\ ? help")]
    {
        update(&mut model, Message::Resized(Size { cols, rows: 24 }));
        let status = picture(&model).pop().unwrap();
        assert!(status.trim_end().ends_with(hints), "{status:?}");
    }
}

#[test]
fn a_long_notice_is_whole_and_nothing_of_a_program_stands_at_its_right() {
    let mut model = model(vec![process(1, "web", json!({}))]);
    open(&mut model, 1);
    update(&mut model, Message::Resized(Size { cols: 80, rows: 24 }));
    let words: Vec<String> = (0..20).map(|number| format!("word{number}")).collect();
    model.alert(words.join(" "), None);
    let mut grid = Grid::new(model.size);
    for row in 0..24 {
        grid.text(crate::frame::Point { col: 0, row }, &"#".repeat(80), term::Style::default(), 80);
    }
    view::overlays(&model, &mut grid);
    let rows: Vec<String> =
        (0..24).map(|row| grid.row(row).iter().map(|cell| cell.text.as_str()).collect()).collect();
    let notice: Vec<&String> = rows.iter().filter(|row| row.contains("word")).collect();
    assert!(notice.iter().all(|row| row.ends_with(' ')), "{notice:#?}");
    assert!(words.iter().all(|word| notice.iter().any(|row| row.contains(word))), "{notice:#?}");
}

#[test]
fn notices_lie_below_what_is_open_and_a_question_is_told_once() {
    let mut model = model(vec![process(1, "lead", agent("blocked", 0)), process(2, "web", json!({}))]);
    open(&mut model, 2);
    let item = |title: &str| {
        let id = ProcessId::from_entropy(1).to_string();
        let item = json!({"item": 4, "id": id, "name": "lead", "kind": "dialog", "title": title, "body": "", "at": 0,
            "options": []});
        Message::Happened(Event::ItemOpened(Box::new(serde_json::from_value(item).unwrap())))
    };
    update(&mut model, item("Bash"));
    update(&mut model, item("approve Bash: rm -rf build"));
    let told: Vec<&str> = model.toasts.iter().map(|toast| toast.text.as_str()).collect();
    assert_eq!(told, ["lead needs you: approve Bash: rm -rf build"]);
    typed(&mut model, b"\x1ct");
    listed(&mut model, vec![task("fix", "idle", &[])]);
    let picture = picture(&model);
    let at = picture.iter().position(|row| row.contains("needs you:")).unwrap();
    assert_eq!(at, usize::from(model.areas().status.row) - 1, "{picture:#?}");
    // In the inbox itself nothing is told.
    model.toasts.clear();
    model.overlays.clear();
    typed(&mut model, b"\x1ca");
    update(&mut model, item("again"));
    assert!(model.toasts.is_empty());
}

#[test]
fn what_ended_well_is_no_alarm() {
    let mut model = model(vec![process(1, "web", json!({})), process(2, "gate", json!({}))]);
    open(&mut model, 1);
    for (code, is_alert) in [(0, false), (3, true)] {
        let ended = json!({"status": "exited", "pid": null, "exit": {"code": code, "reason": "exited"},
            "unseen": {"what": "exit", "since": 0}});
        update(&mut model, Message::Happened(Event::Changed(Box::new(process(2, "gate", ended)))));
        assert_eq!(model.toasts[0].is_alert, is_alert, "{:?}", model.toasts);
        update(&mut model, Message::Happened(Event::Changed(Box::new(process(2, "gate", json!({}))))));
    }
}

#[test]
fn what_somebody_ended_on_purpose_needs_nobody() {
    for (reason, needs) in [("closed", 0), ("shutdown", 0), ("signalled", 1), ("exited", 1)] {
        let ended = json!({"status": "exited", "pid": null, "exit": {"signal": 15, "reason": reason},
            "unseen": {"what": "exit", "since": 0}});
        let model = model(vec![process(1, "web", ended)]);
        assert_eq!(model.crew.needing().len(), needs, "{reason}");
    }
}

#[test]
fn an_agent_that_ended_badly_has_failed_and_is_not_blocked_by_the_item_that_says_so() {
    let ended = json!({"kind": "agent", "status": "exited", "state": "exited", "pid": null,
        "exit": {"code": 4, "reason": "exited"}});
    let mut model = model(vec![process(1, "broken", ended)]);
    let item = json!({"item": 4, "id": ProcessId::from_entropy(1).to_string(), "name": "broken", "kind": "failure",
        "title": "it ended before it took a prompt", "at": 300, "options": []});
    update(&mut model, Message::Happened(Event::ItemOpened(Box::new(serde_json::from_value(item).unwrap()))));
    let process = model.crew.processes[0].clone();
    assert_eq!(model.crew.mark(&process), crate::theme::Mark::Failed);
    assert!(model.state_words(&process).starts_with("failed "), "{}", model.state_words(&process));
    assert_eq!(model.crew.needing().len(), 1);
}

/// A page of history whose lines have these ids, as the daemon sends it.
fn page(ids: std::ops::Range<u64>, text: impl Fn(u64) -> String) -> Vec<StyledRow> {
    ids.map(|line| StyledRow {
        line,
        runs: vec![StyledRun { text: text(line), width: 1, ..StyledRun::default() }],
        ..StyledRow::default()
    })
    .collect()
}

/// Gives the open history a page; returns true if another one is asked for.
fn answer(model: &mut Model, rows: Vec<StyledRow>) -> bool {
    let text = json!({"mode": "history", "text": "", "version": 1, "cursor": {"col": 0, "row": 0, "visible": true},
        "size": {"cols": 80, "rows": 24}, "offset": 0, "missed": 0, "truncated": false, "alternate": false, "title": "",
        "rows": serde_json::to_value(rows).unwrap()});
    let what = CallFor::History(ProcessId::from_entropy(1));
    let reply = Reply::Text(serde_json::from_value(text).unwrap());
    let commands = update(model, Message::Answered(what, Ok(reply)));
    commands
        .iter()
        .any(|command| matches!(command, Command::Call(_, request) if matches!(**request, Request::Read(_))))
}

#[test]
fn u28_a_search_loads_older_lines_until_it_finds_and_goes_on_from_the_other_end() {
    let mut model = model(vec![process(1, "web", json!({}))]);
    open(&mut model, 1);
    let screen = super::mouse::lines("line 495\r\nline 496\r\nline 497\r\nline 498\r\nline 499");
    let screen = screen.into_iter().take(5).collect();
    let mut history = History::new(PaneId(1), ProcessId::from_entropy(1), screen);
    history.rows = 5;
    model.overlays.push(Overlay::History(Box::new(history)));
    let text = |id: u64| if id == 7 { "needle".to_owned() } else { format!("line {id}") };
    assert!(!answer(&mut model, page(400..500, text)));
    // Forward from the bottom, as everybody's first search.
    assert!(!typed(&mut model, b"/needle\r").is_empty(), "older lines are asked for");
    assert!(answer(&mut model, page(200..400, text)));
    assert!(!answer(&mut model, page(0..200, text)));
    let Some(Overlay::History(history)) = model.overlays.last() else { panic!("no history") };
    assert_eq!((history.cursor, history.lines.len()), (HistoryPosition { line: 7, col: 0 }, 500));
    assert!(model.toasts[0].text.contains("from the top"), "{:?}", model.toasts);
    // Back again, over the top: the only place is found from the bottom.
    typed(&mut model, b"?needle\r");
    let Some(Overlay::History(history)) = model.overlays.last() else { panic!("no history") };
    assert_eq!(history.cursor, HistoryPosition { line: 7, col: 0 });
    assert!(typed(&mut model, b"/nowhere\r").is_empty());
    assert!(model.toasts[0].text.contains("not found in the 500 lines"), "{:?}", model.toasts);
}
