//! Tasks through the engine: rights, runs, records.

use proto::request::{CancelMessage, ImportedRun, Spawn};
use proto::task::{ReviewComment, ReviewSide, ReviewStatus, TaskConflict, TaskOperationKind};
use proto::{ErrorCode, Kind, Reply};

use super::stage::{Stage, close, command, order, restart};
use crate::{
    Caller, Command, CommandAnswer, ImportedTask, NewTask, RunFact, RunKey, TaskChange, TaskCommand, TaskEnd,
    TaskOperation, TaskWithProcesses, Ticket, Verb, unfinished_tasks,
};

impl Stage {
    fn task(&mut self, caller: Caller, command: TaskCommand) -> Ticket {
        self.ask_as(caller, Command::Task(command))
    }

    fn found_tasks(&self, ticket: Ticket) -> Vec<TaskWithProcesses> {
        match self.answer(ticket).expect("no answer").expect("it failed") {
            CommandAnswer::Tasks(found_tasks) => found_tasks,
            other => panic!("{other:?}"),
        }
    }

    fn find_task(&mut self, name: &str) -> TaskWithProcesses {
        let ticket = self.task(Caller::Person, TaskCommand::Find { name: name.to_owned(), verb: Verb::Read });
        self.found_tasks(ticket).remove(0)
    }

    fn new_task(&mut self, caller: Caller, name: &str) -> u64 {
        let new = NewTask {
            name: name.to_owned(),
            workspace: "local".to_owned(),
            directory: format!("/w/{name}"),
            plan: Some("{}".to_owned()),
            ..NewTask::default()
        };
        let ticket = self.task(caller, TaskCommand::Create(Box::new(new)));
        let id = self.found_tasks(ticket)[0].task.id;
        let ticket = self.task(Caller::Person, TaskCommand::End { id, end: TaskEnd::Made { then: None } });
        assert!(matches!(self.reply(ticket), Reply::Done(_)));
        id
    }

    fn worker(&mut self, task: &str, name: &str) -> RunKey {
        self.spawn(Spawn { task: Some(task.to_owned()), ..command(name) })
    }
}

fn begin(id: u64, kind: TaskOperationKind) -> TaskCommand {
    TaskCommand::Begin { id, operation: TaskOperation { kind, plan: "{}".to_owned(), key: None } }
}

#[test]
fn t1_k1_runs_start_in_the_tasks_directory_and_their_history_has_start_end_and_exit() {
    let mut stage = Stage::new();
    stage.new_task(Caller::Person, "fix2");
    let run = stage.worker("fix2", "a");
    assert_eq!(stage.starts()[0].cwd, "/w/fix2");
    stage.pass(50);
    stage.exit(run, 3);
    stage.ask(restart(run));
    stage.fact(run, RunFact::TreeGone);
    let found = stage.find_task("fix2");
    let [first, second] = &found.task.runs[..] else { panic!("{:?}", found.task.runs) };
    assert_eq!((first.exit.and_then(|exit| exit.code), first.run.0), (Some(3), 1));
    assert!(first.ended_at.is_some_and(|ended| ended >= first.started_at));
    assert_eq!((second.process, second.run.0, second.ended_at), (run.process, 2, None));
    assert_eq!(found.processes.len(), 1);
}

#[test]
fn k1_the_history_of_a_closed_process_stays_and_a_vendor_session_is_continued() {
    let mut stage = Stage::new();
    stage.new_task(Caller::Person, "fix2");
    let agent = Spawn { kind: Kind::Agent, argv: vec!["fake".to_owned()], ..command("lead") };
    let run = stage.spawn(Spawn { task: Some("fix2".to_owned()), ..agent });
    stage.fact(run, RunFact::Session("s-7".to_owned()));
    stage.ask(close(run));
    stage.die(run);
    let found = stage.find_task("fix2");
    assert!(found.processes.is_empty());
    assert_eq!(found.task.runs[0].session.as_deref(), Some("s-7"));
    assert!(found.task.runs[0].ended_at.is_some());
    stage.worker("fix2", "b");
    let start = stage.starts().pop().unwrap();
    assert!(start.env.contains(&("QD_SESSION_ID".to_owned(), "s-7".to_owned())), "{:?}", start.env);
}

#[test]
fn k1_a_process_stays_with_the_task_that_it_was_spawned_for() {
    let mut stage = Stage::new();
    let first = stage.new_task(Caller::Person, "fix2");
    let run = stage.worker("fix2", "a");
    stage.exit(run, 0);
    stage.task(Caller::Person, begin(first, TaskOperationKind::Drop));
    stage.task(Caller::Person, TaskCommand::End { id: first, end: TaskEnd::Dropped { trash: None } });
    stage.new_task(Caller::Person, "fix2");
    stage.ask(restart(run));
    stage.fact(run, RunFact::TreeGone);
    assert!(stage.find_task("fix2").task.runs.is_empty(), "the new task has the old one's runs");
}

#[test]
fn k1_k3_a_later_daemon_knows_tasks_runs_and_what_was_cut_short() {
    let mut stage = Stage::new();
    let id = stage.new_task(Caller::Person, "fix2");
    stage.worker("fix2", "a");
    stage.task(Caller::Person, begin(id, TaskOperationKind::Land));
    let mut later = stage.reborn();
    assert_eq!(later.find_task("fix2").task, stage.find_task("fix2").task);
    let unfinished = unfinished_tasks(&later.engine);
    assert_eq!(unfinished.iter().map(|task| task.id).collect::<Vec<_>>(), [id]);
}

#[test]
fn k3_a_task_in_use_is_not_dropped() {
    let mut stage = Stage::new();
    let id = stage.new_task(Caller::Person, "fix2");
    let run = stage.worker("fix2", "a");
    let ticket = stage.task(Caller::Person, begin(id, TaskOperationKind::Drop));
    let refused = stage.failure(ticket);
    assert!(refused.code == ErrorCode::Conflict && refused.hint.unwrap().contains("qd stop fix2"));
    stage.exit(run, 0);
    let ticket = stage.task(Caller::Person, begin(id, TaskOperationKind::Drop));
    assert!(matches!(stage.reply(ticket), Reply::Done(_)));
}

#[test]
fn k5_a_process_reaches_its_own_task_and_those_that_it_created() {
    let mut stage = Stage::new();
    stage.new_task(Caller::Person, "persons");
    let own = stage.new_task(Caller::Person, "own");
    let worker = Caller::Process(stage.worker("own", "a"));
    let created = stage.new_task(worker, "created");
    let listed = stage.task(worker, TaskCommand::List);
    let names: Vec<String> = stage.found_tasks(listed).into_iter().map(|found| found.task.name).collect();
    assert_eq!(names, ["persons", "own", "created"], "a process sees its workspace and nothing else");
    for (name, is_allowed) in [("persons", false), ("own", true), ("created", true)] {
        let find = TaskCommand::Find { name: name.to_owned(), verb: Verb::Drive };
        let ticket = stage.task(worker, find);
        let code = stage.answer(ticket).unwrap().err().map(|failure| failure.code);
        assert_eq!(code, (!is_allowed).then_some(ErrorCode::NotRelated), "{name}");
    }
    // What a descendant creates is within reach, too; not the other way round.
    let helper = Spawn { task: Some("own".to_owned()), ..command("helper") };
    let helper = Caller::Process(stage.spawn_as(worker, helper));
    stage.new_task(helper, "descendants");
    for (caller, name, is_allowed) in [(worker, "descendants", true), (helper, "created", false)] {
        let ticket = stage.task(caller, TaskCommand::Find { name: name.to_owned(), verb: Verb::Drive });
        let code = stage.answer(ticket).unwrap().err().map(|failure| failure.code);
        assert_eq!(code, (!is_allowed).then_some(ErrorCode::NotRelated), "{name}");
    }
    let ticket = stage.task(worker, begin(own, TaskOperationKind::Land));
    assert!(matches!(stage.reply(ticket), Reply::Done(_)));
    let ticket = stage.task(worker, TaskCommand::End { id: created, end: TaskEnd::Undone });
    assert_eq!(stage.failure(ticket).code, ErrorCode::Denied, "only the daemon says how it ended");
    let foreign = NewTask {
        name: "foreign".to_owned(),
        workspace: "w1".to_owned(),
        directory: "/w/foreign".to_owned(),
        ..NewTask::default()
    };
    let ticket = stage.task(worker, TaskCommand::Create(Box::new(foreign)));
    assert_eq!(stage.failure(ticket).code, ErrorCode::WorkspaceMismatch);
}

fn comment() -> ReviewComment {
    ReviewComment {
        number: 0,
        file: "a.rs".to_owned(),
        side: ReviewSide::New,
        first: 1,
        last: 1,
        quoted: vec!["fn a() {}".to_owned()],
        text: "rename it".to_owned(),
        author: "human".to_owned(),
        status: ReviewStatus::Draft,
        is_stale: false,
    }
}

#[test]
fn k4_a_review_that_did_not_arrive_is_a_draft_again_and_a_person_is_told() {
    let mut stage = Stage::new();
    let id = stage.new_task(Caller::Person, "fix2");
    let agent = Spawn { kind: Kind::Agent, argv: vec!["fake".to_owned()], ..command("lead") };
    let run = stage.spawn(Spawn { task: Some("fix2".to_owned()), ..agent });
    let review = |change| TaskCommand::Review { id, change };
    stage.task(Caller::Person, review(TaskChange::Add(Box::new(comment()))));
    stage.task(Caller::Person, review(TaskChange::Add(Box::new(comment()))));
    stage.task(Caller::Person, review(TaskChange::Resolve(2)));
    let send = |stage: &mut Stage| {
        let ticket = stage.task(Caller::Person, review(TaskChange::Send(Vec::new())));
        stage.found_tasks(ticket).remove(0).mail.expect("it was sent")
    };
    let items = |stage: &mut Stage| {
        let ticket = stage.ask(Command::Inbox);
        let Reply::Inbox(items) = stage.reply(ticket) else { panic!("no inbox") };
        items
    };
    let mail = send(&mut stage);
    stage.ask(Command::CancelMessage(CancelMessage { mail }));
    let statuses = |stage: &mut Stage| {
        let comments = stage.find_task("fix2").task.comments;
        comments.iter().map(|comment| comment.status).collect::<Vec<_>>()
    };
    assert_eq!(statuses(&mut stage), [ReviewStatus::Draft, ReviewStatus::Resolved]);
    let [item] = &items(&mut stage)[..] else { panic!("one item") };
    assert_eq!((item.id, item.title.as_str()), (run.process, "your review did not reach it"));
    assert!(item.body.contains("qd review fix2 send"), "{}", item.body);
    // A later daemon knows to which review a message belongs.
    let mut later = stage.reborn();
    assert_eq!(statuses(&mut later), [ReviewStatus::Draft, ReviewStatus::Resolved]);
    send(&mut stage);
    assert_eq!(statuses(&mut stage), [ReviewStatus::Sent, ReviewStatus::Resolved]);
    stage.pass(25 * 3600 * 1000);
    assert_eq!(statuses(&mut stage), [ReviewStatus::Draft, ReviewStatus::Resolved], "it has expired");
}

#[test]
fn k4_a_review_is_sent_as_one_message_to_the_tasks_agent() {
    let mut stage = Stage::new();
    let id = stage.new_task(Caller::Person, "fix2");
    let add = TaskCommand::Review { id, change: TaskChange::Add(Box::new(comment())) };
    stage.task(Caller::Person, add.clone());
    stage.task(Caller::Person, add);
    let send = || TaskCommand::Review { id, change: TaskChange::Send(Vec::new()) };
    let ticket = stage.task(Caller::Person, send());
    assert_eq!(stage.failure(ticket).code, ErrorCode::NotRunning, "no agent is there to read it");
    let agent = Spawn { kind: Kind::Agent, argv: vec!["fake".to_owned()], ..command("lead") };
    let run = stage.spawn(Spawn { task: Some("fix2".to_owned()), ..agent });
    let ticket = stage.task(Caller::Person, send());
    let found = stage.found_tasks(ticket).remove(0);
    assert!(found.mail.is_some());
    assert!(found.task.comments.iter().all(|comment| comment.status == ReviewStatus::Sent));
    let waiting: Vec<_> =
        stage.engine.mail.queue.open.values().filter(|mail| mail.to == run.process).collect();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].text.matches("rename it").count(), 2);
    let ticket = stage.task(Caller::Person, send());
    assert_eq!(stage.failure(ticket).code, ErrorCode::Conflict, "there is nothing to send twice");
    let later = stage.reborn();
    assert_eq!(later.engine.mail.queue.open.len(), 1);
}

#[test]
fn k5_a_process_starts_nothing_in_a_task_that_is_not_its_own() {
    let mut stage = Stage::new();
    stage.new_task(Caller::Person, "theirs");
    stage.new_task(Caller::Person, "own");
    let worker = Caller::Process(stage.worker("own", "worker"));
    let within = |task: &str, name: &str| Spawn { task: Some(task.to_owned()), ..command(name) };
    // A process of a task has rights over the task: it would have given them to itself.
    let ticket = stage.ask_as(worker, order(worker, within("theirs", "intruder")));
    assert_eq!(stage.failure(ticket).code, ErrorCode::NotRelated);
    assert!(stage.find_task("theirs").task.runs.is_empty());
    stage.spawn_as(worker, within("own", "helper"));
    assert_eq!(stage.find_task("own").task.runs.len(), 2);
}

#[test]
fn k8_the_agent_of_a_task_reads_of_a_conflict_once_per_change() {
    let mut stage = Stage::new();
    let id = stage.new_task(Caller::Person, "fix2");
    let agent = Spawn { kind: Kind::Agent, argv: vec!["fake".to_owned()], ..command("lead") };
    let run = stage.spawn(Spawn { task: Some("fix2".to_owned()), ..agent });
    let with = |file: &str| {
        let files = vec![file.to_owned()];
        vec![TaskConflict { with: "other".to_owned(), is_base: false, files }]
    };
    let report = |stage: &mut Stage, conflicts: Vec<TaskConflict>| {
        stage.task(Caller::Person, TaskCommand::Conflicts { id, conflicts });
        let open = stage.engine.mail.queue.open.values().filter(|mail| mail.to == run.process);
        open.map(|mail| mail.text.clone()).collect::<Vec<String>>()
    };
    assert!(report(&mut stage, Vec::new()).is_empty());
    let told = report(&mut stage, with("a.rs"));
    assert!(told.len() == 1 && told[0].contains("task other: a.rs"), "{told:?}");
    let events = stage.find_task("fix2").task.events.len();
    report(&mut stage, with("a.rs"));
    assert_eq!(stage.find_task("fix2").task.events.len(), events, "nothing has changed");
    let told = report(&mut stage, with("b\u{1b}.rs"));
    assert!(told.len() == 1 && told[0].contains("b") && !told[0].contains('\u{1b}'), "{told:?}");
    let ticket = stage.task(Caller::Process(run), TaskCommand::Conflicts { id, conflicts: Vec::new() });
    assert_eq!(stage.failure(ticket).code, ErrorCode::Denied);
}

#[test]
fn k11_an_imported_task_has_its_history_and_runs_that_belong_to_no_process() {
    let mut stage = Stage::new();
    let run = |at: u64, session: &str| ImportedRun {
        session: Some(session.to_owned()),
        started_at: at,
        ended_at: None,
        code: Some(3),
    };
    let imported = ImportedTask { is_owned: true, created_at: 5, runs: vec![run(10, "s1"), run(20, "s2")] };
    let new = NewTask {
        name: "feat/x".to_owned(),
        workspace: "local".to_owned(),
        directory: "/w/feat".to_owned(),
        branch: Some("feat/x".to_owned()),
        imported: Some(imported),
        ..NewTask::default()
    };
    let ticket = stage.task(Caller::Person, TaskCommand::Create(Box::new(new)));
    let found = stage.found_tasks(ticket).remove(0);
    let task = found.task;
    assert!(task.is_owned && task.operation.is_none() && task.created_at == 5, "{task:?}");
    assert_eq!(task.session(), Some("s2"), "the next run goes on with the newest session");
    assert_ne!(task.runs[0].process, task.runs[1].process);
    assert_eq!(task.runs[1].ended_at, Some(20), "a run of another program is over");
    assert_eq!(task.events.last().unwrap().at, 20);
    assert!(found.processes.is_empty());
}
