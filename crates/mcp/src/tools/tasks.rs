//! Tools for tasks: units of work with a worktree, a review and a landing. The daemon checks rights: a process has its own
//! task and those that it or its descendants created. Gates and init commands need trust like any command.

use std::time::Duration;

use proto::request::{
    CreateTask, DiffTask, DropTask, Empty, LandTask, ReviewAct, ReviewTask, SizeRequest, TaskAct, TaskTarget,
};
use proto::task::{ReviewComment, ReviewSide, TaskCreated, TaskFileStat, TaskOutcome, TaskReview, TaskView};
use proto::verb;
use serde_json::{Map, Value, json};

use super::{Tool, ToolContext, ToolEffect, ToolOutcome};
use crate::arguments::{Arguments, Field, Shape, may, must};
use crate::failure::ToolFailure;
use crate::pages;
use crate::views::{put, shortened};

const TASK: Field = must("task", Shape::Text(200), "Its name.");
const LINE: Shape = Shape::Integer(1, u32::MAX as i64);
const MAX_TEXT: usize = 16 << 10; // 16 KiB
/// How long one answer waits for a landing or for the commands that prepare a worktree; the daemon goes on after it.
const ONE_ANSWER: Duration = Duration::from_secs(40);
const FIELDS: &[(&str, &str)] = &[
    ("name", "task"),
    ("base", "base"),
    ("into", "into"),
    ("file", "file"),
    ("first", "first_line"),
    ("last", "last_line"),
    ("text", "text"),
];
const CREATE_FIELDS: &[(&str, &str)] =
    &[("name", "name"), ("start", "start"), ("directory", "working_dir"), ("ports", "ports")];
const VIEW: &str = "task: string, status: string, directory: string, branch?: string, base?: string, operation?: string, \
                    failure?: string, git?: object, processes?: [object], runs?: [object], conflicts?: [object], \
                    ports?: [integer], open_comments?: integer";

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "task_create",
        title: "Create a task",
        says: "Make a branch and a worktree of their own for a piece of work. Then spawn_agent(task) puts an agent to \
               work in it. failure says why its init commands did not succeed.",
        fields: &[
            must("name", Shape::Text(200), "Also its branch's."),
            may("start", Shape::Text(200), "Commit or branch to begin from; default: the default branch."),
            may("ports", Shape::Integer(0, 16), "TCP ports for its servers: QD_PORT, QD_PORT_1 ..."),
            may("working_dir", Shape::Text(4096), "A directory of the repository; default: yours."),
        ],
        gives: "task: string, status: string, directory?: string, branch?: string, base?: string, ports?: [integer], \
                failure?: string",
        effect: ToolEffect::Adds,
        is_core: false,
        run: |context, arguments| Box::pin(create(context, arguments)),
    },
    Tool {
        name: "task_list",
        title: "List tasks",
        says: "Tasks with status, changed lines and conflicts; those that need a person come first.",
        fields: &[pages::CURSOR],
        gives: "tasks: [object], next_cursor?: string",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, arguments| Box::pin(list(context, arguments)),
    },
    Tool {
        name: "task_status",
        title: "One task",
        says: "Everything about a task: git, processes, runs, conflicts, and why its last landing failed.",
        fields: &[TASK],
        gives: VIEW,
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, arguments| Box::pin(status(context, arguments)),
    },
    Tool {
        name: "task_diff",
        title: "A task's changes",
        says: "What a task has changed since its base, uncommitted work included.",
        fields: &[
            TASK,
            may("stat", Shape::Flag, "Only lines per file."),
            may("base", Shape::Text(200), "Compare with this commit instead."),
            pages::SINCE_BYTE,
        ],
        gives: "task: string, base: string, files: [object], text?: string, offset?: integer, truncated?: boolean",
        effect: ToolEffect::Reads,
        is_core: false,
        run: |context, arguments| Box::pin(diff(context, arguments)),
    },
    Tool {
        name: "task_review",
        title: "Review a task",
        says: "Comment on lines of a task. add keeps a draft; send gives all drafts to its agent as one message.",
        fields: &[
            TASK,
            must("action", Shape::OneOf(&["list", "add", "send", "resolve", "remove"]), ""),
            may("file", Shape::Text(4096), "add: path in the task."),
            may("first_line", LINE, "add"),
            may("last_line", LINE, "add; default first_line."),
            may("old", Shape::Flag, "add: lines as they were before."),
            may("text", Shape::Text(MAX_TEXT), "add"),
            may("number", LINE, "resolve, remove"),
        ],
        gives: "task: string, comments: [object], message_id?: integer, truncated?: boolean",
        effect: ToolEffect::Adds,
        is_core: false,
        run: |context, arguments| Box::pin(review(context, arguments)),
    },
    Tool {
        name: "task_land",
        title: "Land a task",
        says: "Combine a task's branch with its target in a scratch worktree, run the gate there, and move the target if it passes; \
               otherwise nothing changes. status is landed or landing: then look at task_status later.",
        fields: &[
            TASK,
            may("into", Shape::Text(200), "Target branch; default its base."),
            may("gate", Shape::Text(8 << 10), "A line for sh -c that must succeed; needs trust."),
            may("merge", Shape::Flag, "Merge commit instead of rebase."),
        ],
        gives: "task: string, status: string, into?: string, commit?: string",
        effect: ToolEffect::Adds,
        is_core: false,
        run: |context, arguments| Box::pin(land(context, arguments)),
    },
    Tool {
        name: "task_finish",
        title: "Finish a task",
        says: "Remove a task and its worktree; its files are saved for 14 days. Refuses work that is nowhere else.",
        fields: &[TASK, may("branch", Shape::Flag, "Remove its branch too.")],
        gives: "task: string, dropped: boolean, saved_as?: string",
        effect: ToolEffect::Destroys,
        is_core: false,
        run: |context, arguments| Box::pin(finish(context, arguments)),
    },
];

async fn ask(context: &ToolContext, act: TaskAct) -> Result<TaskOutcome, ToolFailure> {
    let fields = if matches!(act, TaskAct::Create(_)) { CREATE_FIELDS } else { FIELDS };
    Ok(*context.request::<verb::Task>(fields, act.into()).await?)
}

/// Asks for something that may take long; none if it goes on after this answer.
async fn ask_long(context: &ToolContext, act: TaskAct) -> Result<Option<TaskOutcome>, ToolFailure> {
    match tokio::time::timeout(ONE_ANSWER, ask(context, act)).await {
        Ok(outcome) => outcome.map(Some),
        Err(_) => Ok(None),
    }
}

/// Returns the error for a reply of another shape than requested.
fn unexpected() -> ToolFailure {
    ToolFailure::new("internal", "the daemon answered something else about tasks")
}

fn target(arguments: &Arguments) -> TaskTarget {
    TaskTarget::Name(arguments.required("task").to_owned())
}

async fn create(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let name = arguments.required("name").to_owned();
    let directory = match arguments.text("working_dir") {
        Some(given) => context.here.join(given),
        None => context.here.clone(),
    };
    let request = CreateTask {
        name: name.clone(),
        directory: directory.to_string_lossy().into_owned(),
        worktree: true,
        start: arguments.text("start").map(str::to_owned),
        ports: arguments.count("ports").and_then(|ports| u16::try_from(ports).ok()).unwrap_or(0),
        ..CreateTask::default()
    };
    match ask_long(context, TaskAct::Create(Box::new(request))).await? {
        None => Ok(json!({"task": name, "status": "preparing"}).into()),
        Some(TaskOutcome::Created(created)) => Ok(Value::Object(created_row(&created)).into()),
        Some(_) => Err(unexpected()),
    }
}

fn created_row(created: &TaskCreated) -> Map<String, Value> {
    let mut row = Map::new();
    let task = &created.task;
    put(&mut row, "task", json!(task.name));
    put(&mut row, "status", json!(if created.failure.is_some() { "not_prepared" } else { "ready" }));
    put(&mut row, "directory", json!(shortened(&task.directory, 4096)));
    put(&mut row, "branch", json!(task.worktree.as_ref().map(|tree| &tree.branch)));
    put(&mut row, "base", json!(task.worktree.as_ref().map(|tree| &tree.base)));
    put_list(&mut row, "ports", &task.ports);
    put(&mut row, "failure", json!(created.failure.as_deref().map(|why| shortened(why, 4_000))));
    row
}

async fn list(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let TaskOutcome::Listed(tasks) = ask(context, TaskAct::List(Empty {})).await? else {
        return Err(unexpected());
    };
    let rows = tasks.iter().map(|task| (task.name.clone(), row(task)));
    Ok(Value::Object(pages::list("tasks", rows, arguments.text("cursor"))?).into())
}

/// Returns one row of a list.
fn row(task: &TaskView) -> Map<String, Value> {
    let mut row = Map::new();
    put(&mut row, "task", json!(task.name));
    put(&mut row, "status", json!(task.status));
    put(&mut row, "operation", json!(task.operation));
    put(&mut row, "agent", json!(task.processes.iter().find(|one| one.state.is_some()).map(|one| &one.name)));
    put(&mut row, "branch", json!(task.worktree.as_ref().map(|tree| &tree.branch)));
    if let Some(git) = &task.git {
        put(&mut row, "lines", json!(format!("+{} -{}", git.added, git.removed)));
    }
    let with: Vec<&str> = task.conflicts.iter().map(|conflict| conflict.with.as_str()).collect();
    put_list(&mut row, "conflicts_with", &with);
    row
}

async fn status(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    match ask(context, TaskAct::Show(target(arguments))).await? {
        TaskOutcome::Task(task) => Ok(Value::Object(details(&task)).into()),
        _ => Err(unexpected()),
    }
}

/// Returns everything about one task that helps to decide what to do with it.
fn details(task: &TaskView) -> Map<String, Value> {
    /// The newest runs are enough: a result has a limit.
    const RUNS: usize = 10;
    /// Conflicts and files of each that fit a result.
    const FILES: usize = 20;
    let mut all = row(task);
    put(&mut all, "directory", json!(shortened(&task.directory, 4096)));
    put(&mut all, "base", json!(task.worktree.as_ref().map(|tree| &tree.base)));
    put(&mut all, "failure", json!(task.failure.as_deref().map(|why| shortened(why, 4_000))));
    put(&mut all, "git", json!(task.git));
    put_list(&mut all, "processes", &task.processes);
    let runs = task.runs.get(task.runs.len().saturating_sub(RUNS)..).unwrap_or_default();
    put_list(&mut all, "runs", runs);
    let conflicts: Vec<Value> = task
        .conflicts
        .iter()
        .take(FILES)
        .map(|conflict| {
            let files: Vec<String> =
                conflict.files.iter().take(FILES).map(|file| shortened(file, 200)).collect();
            json!({"with": conflict.with, "files": files})
        })
        .collect();
    put_list(&mut all, "conflicts", &conflicts);
    put_list(&mut all, "ports", &task.ports);
    if task.comments > 0 {
        put(&mut all, "open_comments", json!(task.comments));
    }
    all
}

async fn diff(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    /// Files that fit a result beside its text.
    const FILES: usize = 60;
    let request = DiffTask {
        target: target(arguments),
        stat: arguments.flag("stat"),
        base: arguments.text("base").map(str::to_owned),
        context: None,
    };
    let TaskOutcome::Diff(diff) = ask(context, TaskAct::Diff(request)).await? else {
        return Err(unexpected());
    };
    let mut base = Map::new();
    put(&mut base, "task", json!(diff.name));
    put(&mut base, "base", json!(diff.base));
    let files: Vec<Value> = diff.files.iter().take(FILES).map(file).collect();
    base.insert("files".to_owned(), json!(files));
    if diff.files.len() > FILES || diff.is_truncated {
        put(&mut base, "truncated", json!(true));
    }
    let since = pages::start(arguments.count("since"), &diff.text)?;
    Ok(Value::Object(match arguments.flag("stat") {
        true => base,
        false => pages::piece(&base, "text", &diff.text, since),
    })
    .into())
}

fn file(stat: &TaskFileStat) -> Value {
    let mut row = Map::new();
    put(&mut row, "path", json!(shortened(&stat.path, 100)));
    put(&mut row, "original", json!(stat.original.as_deref().map(|path| shortened(path, 100))));
    put(&mut row, "added", json!(stat.added));
    put(&mut row, "removed", json!(stat.removed));
    Value::Object(row)
}

async fn review(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let request = ReviewTask { target: target(arguments), act: review_act(arguments)? };
    match ask(context, TaskAct::Review(request)).await? {
        TaskOutcome::Review(review) => Ok(Value::Object(review_row(&review)).into()),
        _ => Err(unexpected()),
    }
}

fn review_act(arguments: &Arguments) -> Result<ReviewAct, ToolFailure> {
    let number = |name: &str| {
        let number = arguments.count(name).and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| ToolFailure::invalid(name, "missing"))
    };
    let text = |name: &str| {
        let text = arguments.text(name).map(str::to_owned);
        text.ok_or_else(|| ToolFailure::invalid(name, "missing"))
    };
    Ok(match arguments.required("action") {
        "add" => {
            let first = number("first_line")?;
            let last = if arguments.has("last_line") { number("last_line")? } else { first };
            let side = if arguments.flag("old") { ReviewSide::Old } else { ReviewSide::New };
            ReviewAct::Add { file: text("file")?, side, first, last, text: text("text")? }
        }
        "send" => ReviewAct::Send(Empty {}),
        "resolve" => ReviewAct::Resolve { number: number("number")? },
        "remove" => ReviewAct::Remove { number: number("number")? },
        _ => ReviewAct::List(Empty {}),
    })
}

/// Returns a review with its newest comments, as many as fit.
fn review_row(review: &TaskReview) -> Map<String, Value> {
    let mut row = Map::new();
    put(&mut row, "task", json!(review.name));
    put(&mut row, "message_id", json!(review.mail));
    let (mut comments, mut size) = (Vec::new(), 0);
    for comment in review.comments.iter().rev() {
        let value = comment_row(comment);
        size += value.to_string().len();
        if size > pages::MAX_ANSWER - 2_000 {
            put(&mut row, "truncated", json!(true));
            break;
        }
        comments.push(value);
    }
    comments.reverse();
    row.insert("comments".to_owned(), json!(comments));
    row
}

fn comment_row(comment: &ReviewComment) -> Value {
    let mut row = Map::new();
    put(&mut row, "number", json!(comment.number));
    put(&mut row, "file", json!(shortened(&comment.file, 200)));
    put(&mut row, "first_line", json!(comment.first));
    put(&mut row, "last_line", json!(comment.last));
    put(&mut row, "side", json!(comment.side));
    put(&mut row, "text", json!(shortened(&comment.text, 2_000)));
    put(&mut row, "author", json!(shortened(&comment.author, 80)));
    put(&mut row, "status", json!(comment.status));
    if comment.is_stale {
        put(&mut row, "stale", json!(true));
    }
    Value::Object(row)
}

async fn land(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let request = LandTask {
        target: target(arguments),
        into: arguments.text("into").map(str::to_owned),
        gate: arguments.text("gate").map(str::to_owned),
        merge: arguments.flag("merge"),
        tell: false,
        base_env: None,
        size: SizeRequest::default(),
    };
    match ask_long(context, TaskAct::Land(Box::new(request))).await? {
        None => Ok(json!({"task": arguments.required("task"), "status": "landing"}).into()),
        Some(TaskOutcome::Landed(landed)) => Ok(json!({
            "task": landed.name, "status": "landed", "into": landed.into, "commit": landed.commit,
        })
        .into()),
        Some(_) => Err(unexpected()),
    }
}

async fn finish(context: &ToolContext, arguments: &Arguments) -> Result<ToolOutcome, ToolFailure> {
    let request = DropTask { target: target(arguments), branch: arguments.flag("branch"), force: false };
    let TaskOutcome::Dropped(dropped) = ask(context, TaskAct::Drop(request)).await? else {
        return Err(unexpected());
    };
    let mut row = Map::from_iter([("dropped".to_owned(), json!(true))]);
    put(&mut row, "task", json!(dropped.name));
    put(&mut row, "saved_as", json!(dropped.trash));
    Ok(Value::Object(row).into())
}

/// Adds a list unless it is empty.
fn put_list<T: serde::Serialize>(row: &mut Map<String, Value>, name: &str, list: &[T]) {
    if !list.is_empty() {
        put(row, name, json!(list));
    }
}
