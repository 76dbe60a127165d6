//! The machine alone: names, operations, statuses, reviews.

use proto::process::{LiveNumbers, ProgramView, TerminalView, TimesView, Unseen, UnseenEnd};
use proto::task::{
    ReviewComment, ReviewSide, ReviewStatus, TaskEventKind, TaskGit, TaskOperationKind, TaskStatus, TaskView,
};
use proto::{AgentState, ErrorCode, Kind, Owner, ProcessId, ProcessView, RunNumber, Size, Status};

use super::status::{STALE_MS, StatusInput, derive, sort};
use super::{KEPT_MS, NewTask, TaskEnd, TaskOperation, Tasks};

fn new(name: &str) -> NewTask {
    NewTask {
        name: name.to_owned(),
        workspace: "local".to_owned(),
        directory: format!("/w/{name}"),
        plan: Some("{}".to_owned()),
        ..NewTask::default()
    }
}

fn made(tasks: &mut Tasks, name: &str) -> u64 {
    let id = tasks.create(new(name), 10).unwrap();
    tasks.end(id, TaskEnd::Made { then: None }, 11).unwrap();
    id
}

fn operation(kind: TaskOperationKind) -> TaskOperation {
    TaskOperation { kind, plan: "{}".to_owned(), key: None }
}

#[test]
fn k1_a_name_is_free_again_after_a_drop_and_each_task_keeps_its_own_history() {
    let mut tasks = Tasks::default();
    let first = made(&mut tasks, "fix");
    assert_eq!(tasks.create(new("fix"), 12).unwrap_err().code, ErrorCode::Conflict);
    tasks.begin(first, operation(TaskOperationKind::Drop)).unwrap();
    assert_eq!(tasks.create(new("fix"), 13).unwrap_err().code, ErrorCode::Conflict, "it is not gone yet");
    tasks.end(first, TaskEnd::Dropped { trash: Some("refs/t/1".to_owned()) }, 14).unwrap();
    let second = made(&mut tasks, "fix");
    assert_ne!(first, second);
    assert_eq!(tasks.find("fix").unwrap().id, second);
    assert_eq!(
        tasks.find_dropped("fix").unwrap().dropped.as_ref().unwrap().trash.as_deref(),
        Some("refs/t/1")
    );
    let whats: Vec<_> = tasks.find_dropped("fix").unwrap().events.iter().map(|event| &event.what).collect();
    let dropped = TaskEventKind::Dropped { trash: Some("refs/t/1".to_owned()) };
    assert_eq!(whats, [&TaskEventKind::Created, &TaskEventKind::WorktreeMade, &dropped]);
}

#[test]
fn k7_why_a_landing_failed_is_shown_while_the_branch_is_where_it_was() {
    let mut tasks = Tasks::default();
    let id = tasks.create(new("fix"), 10).unwrap();
    tasks.end(id, TaskEnd::Made { then: None }, 11).unwrap();
    tasks.begin(id, operation(TaskOperationKind::Land)).unwrap();
    let (why, commit) = ("the gate failed with 3".to_owned(), Some("c1".to_owned()));
    tasks.end(id, TaskEnd::NotLanded { why, commit }, 12).unwrap();
    let task = tasks.find("fix").unwrap();
    assert_eq!(task.failure(Some("c1")), Some("the gate failed with 3"));
    assert_eq!((task.failure(Some("c2")), task.failure(None)), (None, None), "it has gone on since");
}

#[test]
fn k3_the_end_of_a_request_is_found_by_its_key_and_what_was_undone_is_not() {
    let mut tasks = Tasks::default();
    let keyed = |name: &str, key: &str| NewTask { key: Some(key.to_owned()), ..new(name) };
    let id = tasks.create(keyed("fix", "k1"), 10).unwrap();
    assert!(tasks.find_request("k1").is_some_and(|task| task.is_doing("k1") && task.end_of("k1").is_none()));
    tasks.end(id, TaskEnd::Made { then: Some("{}".to_owned()) }, 11).unwrap();
    let task = tasks.find_request("k1").unwrap();
    assert!(task.is_doing("k1") && task.end_of("k1").is_none(), "it is still to be prepared");
    assert!(tasks.find_place("fix").is_ok(), "its commands run in it meanwhile");
    tasks.end(id, TaskEnd::Prepared { failure: Some("make failed".to_owned()) }, 12).unwrap();
    let prepared = TaskEventKind::Prepared { failure: Some("make failed".to_owned()) };
    assert_eq!(tasks.find_request("k1").unwrap().end_of("k1"), Some(&prepared));
    assert_eq!(tasks.find("fix").unwrap().failure(None), Some("make failed"));
    let drop = TaskOperation { key: Some("k2".to_owned()), ..operation(TaskOperationKind::Drop) };
    tasks.begin(id, drop.clone()).unwrap();
    tasks.end(id, TaskEnd::Undone, 13).unwrap();
    assert!(tasks.find_request("k2").is_none(), "nothing came of it");
    tasks.begin(id, drop).unwrap();
    tasks.end(id, TaskEnd::Dropped { trash: None }, 14).unwrap();
    assert_eq!(tasks.find_request("k2").unwrap().id, id, "a dropped task is found as well");
    let undone = tasks.create(keyed("other", "k3"), 15).unwrap();
    tasks.end(undone, TaskEnd::Undone, 16).unwrap();
    assert!(tasks.find_request("k3").is_none());
}

#[test]
fn k1_a_directory_has_one_live_task() {
    let mut tasks = Tasks::default();
    made(&mut tasks, "one");
    let same = NewTask { directory: "/w/one".to_owned(), ..new("two") };
    let refused = tasks.create(same, 12).unwrap_err();
    assert!(refused.code == ErrorCode::Conflict && refused.message.contains("one"), "{refused}");
}

#[test]
fn k1_a_task_is_found_from_any_directory_inside_and_the_innermost_wins() {
    let mut tasks = Tasks::default();
    made(&mut tasks, "a");
    let inner = NewTask { directory: "/w/a/deep".to_owned(), ..new("inner") };
    tasks.create(inner, 1).unwrap();
    assert_eq!(tasks.find_in("/w/a/src").unwrap().name, "a");
    assert_eq!(tasks.find_in("/w/a/deep/src").unwrap().name, "inner");
    assert_eq!(tasks.find_in("/w/ab").unwrap_err().code, ErrorCode::TaskNotFound, "a prefix is no parent");
}

#[test]
fn k1_dropped_tasks_are_forgotten_when_their_files_are() {
    let mut tasks = Tasks::default();
    let id = made(&mut tasks, "old");
    tasks.begin(id, operation(TaskOperationKind::Drop)).unwrap();
    tasks.end(id, TaskEnd::Dropped { trash: None }, 100).unwrap();
    assert_eq!(tasks.forget_old(100 + KEPT_MS).len(), 1);
    assert!(tasks.find_dropped("old").is_some());
    assert_eq!(tasks.forget_old(101 + KEPT_MS).len(), 1, "its repository is still to be tidied");
    assert!(tasks.find_dropped("old").is_none());
    assert!(tasks.forget_old(101 + KEPT_MS).is_empty());
}

#[test]
fn k6_a_port_belongs_to_one_live_task_and_is_free_after_a_drop() {
    let mut tasks = Tasks::default();
    let with = |name: &str, ports: &[u16]| NewTask { ports: ports.to_vec(), ..new(name) };
    let first = tasks.create(with("one", &[20_000, 20_001]), 1).unwrap();
    tasks.end(first, TaskEnd::Made { then: None }, 1).unwrap();
    assert_eq!(tasks.find_place("one").unwrap().ports, [20_000, 20_001]);
    assert_eq!(tasks.create(with("two", &[20_001]), 2).unwrap_err().code, ErrorCode::Busy);
    tasks.begin(first, operation(TaskOperationKind::Drop)).unwrap();
    tasks.end(first, TaskEnd::Dropped { trash: None }, 3).unwrap();
    tasks.create(with("two", &[20_001]), 4).unwrap();
    tasks.begin(first, operation(TaskOperationKind::Restore)).unwrap();
    tasks.end(first, TaskEnd::Restored, 5).unwrap();
    assert!(tasks.find("one").unwrap().ports.is_empty(), "another task has one of them now");
}

#[test]
fn k3_one_operation_at_a_time_and_a_task_in_the_making_starts_nothing() {
    let mut tasks = Tasks::default();
    let id = tasks.create(new("fix"), 1).unwrap();
    assert_eq!(tasks.find_place("fix").unwrap_err().code, ErrorCode::Busy);
    assert_eq!(tasks.begin(id, operation(TaskOperationKind::Land)).unwrap_err().code, ErrorCode::Busy);
    assert_eq!(tasks.unfinished().len(), 1);
    tasks.end(id, TaskEnd::Made { then: None }, 2).unwrap();
    assert!(tasks.unfinished().is_empty());
    tasks.begin(id, operation(TaskOperationKind::Land)).unwrap();
    assert_eq!(tasks.find_place("fix").unwrap().directory, "/w/fix", "a landing leaves the directory alone");
    tasks.advance(id, "further".to_owned()).unwrap();
    assert_eq!(tasks.unfinished()[0].operation.as_ref().unwrap().plan, "further");
    tasks.end(id, TaskEnd::Undone, 3).unwrap();
    assert_eq!(tasks.end(id, TaskEnd::Undone, 3).unwrap_err().code, ErrorCode::Conflict);
    assert!(tasks.find("fix").is_some());
}

#[test]
fn k3_a_creation_that_was_undone_leaves_no_task() {
    let mut tasks = Tasks::default();
    let id = tasks.create(new("fix"), 1).unwrap();
    tasks.end(id, TaskEnd::Undone, 2).unwrap();
    assert!(tasks.find("fix").is_none() && tasks.find_dropped("fix").is_none());
}

fn process(state: Option<AgentState>, status: Status, since: u64) -> ProcessView {
    ProcessView {
        id: ProcessId::from_entropy(since),
        name: format!("p{since}").parse().unwrap(),
        kind: if state.is_some() { Kind::Agent } else { Kind::Command },
        status,
        pid: None,
        run: RunNumber(1),
        state,
        agent: None,
        parent: None,
        task: None,
        workspace: "local".to_owned(),
        terminal: TerminalView { owner: Owner::User, size: Size::DEFAULT, viewers: 0 },
        exit: None,
        failure: None,
        unseen: None,
        live: LiveNumbers::default(),
        program: ProgramView { argv: Vec::new(), cwd: String::new(), project: String::new(), preset: None },
        ready: None,
        title: String::new(),
        times: TimesView { started_at: since, active_at: since },
    }
}

fn unseen(mut process: ProcessView, since: u64) -> ProcessView {
    process.unseen = Some(Unseen { what: UnseenEnd::Turn, turn: Some(1), since });
    process
}

fn input<'a>(processes: &'a [ProcessView], git: Option<&'a TaskGit>) -> StatusInput<'a> {
    StatusInput {
        processes,
        git,
        has_directory: true,
        has_branch: true,
        conflicts: false,
        active_at: 1_000,
        now: 2_000,
    }
}

#[test]
fn k2_a_status_is_what_processes_need_then_what_is_broken_then_what_git_says() {
    let clean = TaskGit { commit: Some("c".to_owned()), directory: true, ..TaskGit::default() };
    let merged = TaskGit { merged: true, ..clean.clone() };
    let dirty = TaskGit { untracked: 1, ..merged.clone() };
    let gone = TaskGit { directory: false, ..clean.clone() };
    let orphan = TaskGit { commit: None, ..clean.clone() };
    let agent = |state| process(Some(state), Status::Running, 5);
    let blocked = [agent(AgentState::Working), agent(AgentState::Blocked)];
    let waiting = [agent(AgentState::Waiting), agent(AgentState::Working)];
    let working = [agent(AgentState::Thinking), unseen(agent(AgentState::Idle), 7)];
    let done = [unseen(agent(AgentState::Idle), 7)];
    let seen = [agent(AgentState::Idle)];
    let ended = [unseen(process(None, Status::Exited, 1), 9)];
    let command = [process(None, Status::Running, 3)];
    let cases: [(&[ProcessView], &TaskGit, TaskStatus); 12] = [
        (&blocked, &clean, TaskStatus::Blocked),
        (&waiting, &gone, TaskStatus::Waiting),
        (&working, &clean, TaskStatus::Working),
        (&working, &gone, TaskStatus::Gone),
        (&done, &orphan, TaskStatus::Orphan),
        (&done, &merged, TaskStatus::Done),
        (&ended, &clean, TaskStatus::Done),
        (&command, &clean, TaskStatus::Working),
        (&seen, &clean, TaskStatus::Idle),
        (&[], &merged, TaskStatus::Merged),
        (&[], &dirty, TaskStatus::Idle),
        (&[], &clean, TaskStatus::Idle),
    ];
    for (processes, git, status) in cases {
        assert_eq!(derive(&input(processes, Some(git))).status, status, "{processes:?} {git:?}");
    }
    let conflicts = StatusInput { conflicts: true, ..input(&[], Some(&merged)) };
    assert_eq!(derive(&conflicts).status, TaskStatus::Conflict);
    let stale = StatusInput { now: 1_001 + STALE_MS, ..input(&[], Some(&clean)) };
    assert_eq!(derive(&stale).status, TaskStatus::Stale);
    assert_eq!(derive(&input(&done, None)).since, 7, "the longest wait counts from its own beginning");
    let none = StatusInput { has_directory: false, ..input(&[], None) };
    assert_eq!(derive(&none).status, TaskStatus::Gone);
}

fn view(name: &str, status: TaskStatus, since: u64) -> TaskView {
    TaskView {
        name: name.to_owned(),
        workspace: "local".to_owned(),
        status,
        since,
        project: proto::project::Project::default(),
        directory: String::new(),
        worktree: None,
        agent: None,
        prompt: None,
        created_at: 0,
        active_at: since,
        processes: Vec::new(),
        runs: Vec::new(),
        git: None,
        conflicts: Vec::new(),
        operation: None,
        failure: None,
        comments: 0,
        ports: Vec::new(),
    }
}

#[test]
fn k2_the_list_begins_with_what_needs_a_person_the_longest_wait_first() {
    let mut tasks = vec![
        view("idle-old", TaskStatus::Idle, 1),
        view("idle-new", TaskStatus::Idle, 9),
        view("blocked-late", TaskStatus::Blocked, 8),
        view("merged", TaskStatus::Merged, 3),
        view("done", TaskStatus::Done, 2),
        view("blocked-early", TaskStatus::Blocked, 4),
        view("b", TaskStatus::Working, 5),
        view("a", TaskStatus::Working, 5),
    ];
    sort(&mut tasks);
    let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
    let expected = ["blocked-early", "blocked-late", "done", "a", "b", "idle-new", "idle-old", "merged"];
    assert_eq!(names, expected);
    tasks.reverse();
    sort(&mut tasks);
    let again: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(again, expected, "the order does not depend on where it began");
}

fn comment(file: &str, first: u32, last: u32, text: &str) -> ReviewComment {
    ReviewComment {
        number: 0,
        file: file.to_owned(),
        side: ReviewSide::New,
        first,
        last,
        quoted: vec!["    if a == b {".to_owned()],
        text: text.to_owned(),
        author: "human".to_owned(),
        status: ReviewStatus::Draft,
        is_stale: false,
    }
}

#[test]
fn k4_drafts_become_one_message_that_quotes_each_once_and_sent_ones_stay_out_of_the_next() {
    let mut tasks = Tasks::default();
    let id = made(&mut tasks, "fix");
    assert_eq!(tasks.add_comment(id, comment("src/auth.rs", 41, 42, "constant-time compare")).unwrap(), 1);
    assert_eq!(tasks.add_comment(id, comment("src/x.rs", 7, 7, "why?")).unwrap(), 2);
    let message = tasks.find("fix").unwrap().review_message(&[]).unwrap();
    assert_eq!(
        message,
        "Review of your work on fix: 2 comments.\n\n1. src/auth.rs:41-42\n        if a == b {\nconstant-time compare\n\n\
         2. src/x.rs:7\n        if a == b {\nwhy?\n"
    );
    assert_eq!(tasks.mark_sent(id, &[]), [1, 2]);
    assert_eq!(tasks.find("fix").unwrap().review_message(&[]), None);
    assert_eq!(tasks.add_comment(id, comment("src/x.rs", 8, 8, "and this")).unwrap(), 3);
    assert!(!tasks.find("fix").unwrap().review_message(&[]).unwrap().contains("constant-time"));
    tasks.change_comment(id, 1, false).unwrap();
    assert_eq!(tasks.find("fix").unwrap().open_comments(), 2);
    tasks.change_comment(id, 3, true).unwrap();
    assert_eq!(tasks.change_comment(id, 3, true).unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(tasks.add_comment(id, comment("a", 1, 1, "  ")).unwrap_err().code, ErrorCode::InvalidArgs);
}

#[test]
fn k4_a_sent_review_names_the_lines_where_they_are_now_and_says_which_have_changed() {
    let mut tasks = Tasks::default();
    let id = made(&mut tasks, "fix");
    tasks.add_comment(id, comment("src/auth.rs", 41, 42, "constant-time compare")).unwrap();
    tasks.add_comment(id, comment("src/x.rs", 7, 7, "why?")).unwrap();
    let mut seen = tasks.find("fix").unwrap().comments.clone();
    (seen[0].first, seen[0].last) = (51, 52);
    seen[1].is_stale = true;
    let message = tasks.find("fix").unwrap().review_message(&seen).unwrap();
    assert!(message.contains("1. src/auth.rs:51-52\n"), "{message}");
    assert!(message.contains("2. src/x.rs:7 (these lines have changed since the comment)\n"), "{message}");
    tasks.mark_sent(id, &seen);
    let sent = &tasks.find("fix").unwrap().comments;
    assert_eq!((sent[0].first, sent[0].last, sent[0].status), (51, 52, ReviewStatus::Sent));
    assert_eq!(sent[1].first, 7);
}
