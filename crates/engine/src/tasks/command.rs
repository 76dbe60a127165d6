//! What may be asked about tasks, and by whom.
//!
//! A process has the rights over a task that it has over processes: over its own and over those that it or its descendants
//! created. People have all. The daemon itself advances and ends what it was asked to begin.

use proto::agent::MailId;
use proto::process::ProcessView;
use proto::reply::Done;
use proto::task::{ReviewComment, TaskCheckout, TaskConflict, TaskOperationKind};
use proto::{ErrorCode, Failure, Printable, Reply, Role, ShellWord};

use super::{NewTask, TaskOperation, TaskRecord, no_task};
use crate::Engine;
use crate::command::{Audited, Declaration, Needs, Recorded};
use crate::effect::CommandAnswer;
use crate::input::Caller;
use crate::mail::{MailedReview, NewMessage};
use crate::process::Process;
use crate::rights::registry::not_related;
use crate::rights::{Granted, Relation, Verb, may};

/// What may be asked about tasks.
#[derive(Clone, Debug)]
pub enum TaskCommand {
    /// All that the caller may see.
    List,
    /// One task, if the caller may do this to it.
    Find {
        /// Its name.
        name: String,
        /// What will be done to it.
        verb: Verb,
    },
    /// The task whose directory holds this one, if the caller may do this to it.
    FindIn {
        /// The directory.
        directory: String,
        /// What will be done to the task.
        verb: Verb,
    },
    /// The task that the request with this key created or changed; none is an empty answer.
    FindRequest {
        /// The key.
        key: String,
    },
    /// The newest dropped task of this name.
    FindDropped {
        /// Its name.
        name: String,
    },
    /// Makes a task.
    Create(Box<NewTask>),
    /// Every dropped task that the caller may see.
    Dropped {
        /// Forget those whose files are kept no longer, which only people may; they are in the answer for the last time.
        forgets: bool,
    },
    /// Records that an operation begins.
    Begin {
        /// The task.
        id: u64,
        /// The operation.
        operation: TaskOperation,
    },
    /// Changes the review of a task.
    Review {
        /// The task.
        id: u64,
        /// How.
        change: TaskChange,
    },
    /// From the daemon itself: what a task's branch would conflict with now.
    Conflicts {
        /// The task.
        id: u64,
        /// All of it.
        conflicts: Vec<TaskConflict>,
    },
    /// From the daemon itself: an operation has come further.
    Advance {
        /// The task.
        id: u64,
        /// The plan as it is now.
        plan: String,
    },
    /// From the daemon itself: an operation is over.
    End {
        /// The task.
        id: u64,
        /// What came of it.
        end: TaskEnd,
    },
}

/// A change of a review.
#[derive(Clone, Debug)]
pub enum TaskChange {
    /// One more comment; its number is given to it.
    Add(Box<ReviewComment>),
    /// A comment is settled.
    Resolve(u32),
    /// A comment goes.
    Remove(u32),
    /// Every draft goes to the task's agent, as one message. These are the comments with the lines where they are now.
    Send(Vec<ReviewComment>),
}

/// What came of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// Nothing: all is as before.
    Undone,
    /// The worktree is there.
    Made {
        /// How it is prepared from now on, if it is.
        then: Option<String>,
    },
    /// The worktree is prepared, or as far as it went.
    Prepared {
        /// What failed, and why.
        failure: Option<String>,
    },
    /// The worktree is gone.
    Dropped {
        /// What holds its files.
        trash: Option<String>,
    },
    /// The worktree is there again.
    Restored,
    /// The branch has not landed, and all is as before.
    NotLanded {
        /// Why.
        why: String,
        /// The commit of its branch that was tried.
        commit: Option<String>,
    },
    /// The branch has landed.
    Landed {
        /// The branch that moved.
        into: String,
        /// The commit that it moved to.
        commit: String,
        /// What became of the checkout of that branch.
        checkout: TaskCheckout,
    },
}

/// A task with its processes.
#[derive(Clone, Debug)]
pub struct TaskWithProcesses {
    /// What is kept of it.
    pub task: TaskRecord,
    /// Its processes that are there now.
    pub processes: Vec<ProcessView>,
    /// The message that was just sent.
    pub mail: Option<MailId>,
}

impl TaskCommand {
    /// Its word, for the audit log.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::List => "task_list",
            Self::Find { .. } | Self::FindIn { .. } | Self::FindRequest { .. } | Self::FindDropped { .. } => {
                "task_find"
            }
            Self::Create(_) => "task_create",
            Self::Dropped { .. } => "task_dropped",
            Self::Begin { operation, .. } => match operation.kind {
                TaskOperationKind::Create | TaskOperationKind::Prepare => "task_create",
                TaskOperationKind::Drop => "task_drop",
                TaskOperationKind::Restore => "task_restore",
                TaskOperationKind::Land => "task_land",
            },
            Self::Review { .. } => "task_review",
            Self::Conflicts { .. } => "task_conflicts",
            Self::Advance { .. } => "task_advance",
            Self::End { .. } => "task_end",
        }
    }

    /// What it declares about itself. [`TaskDecision`] checks a right that depends on the task. The end of an operation has
    /// happened to files already, so it is recorded later if it must be; everything else is refused when it cannot be
    /// recorded.
    pub(crate) fn declaration(&self) -> Declaration {
        let (audited, recorded) = match self {
            Self::Create(_) | Self::Begin { .. } => (Audited::Success, Recorded::Entrusted),
            Self::Review { .. } | Self::Advance { .. } | Self::Dropped { forgets: true } => {
                (Audited::Refusal, Recorded::Entrusted)
            }
            Self::Conflicts { .. } => (Audited::Refusal, Recorded::Nothing),
            Self::List
            | Self::Find { .. }
            | Self::FindIn { .. }
            | Self::FindRequest { .. }
            | Self::FindDropped { .. }
            | Self::Dropped { forgets: false }
            | Self::End { .. } => (Audited::Refusal, Recorded::Nothing),
        };
        let needs = match self {
            Self::Create(_) => Needs::AtAll(Verb::Spawn),
            Self::Dropped { forgets: true } => Needs::Person("forget dropped tasks"),
            Self::Advance { .. } => Needs::Person("advance a task's operation"),
            Self::End { .. } => Needs::Person("end a task's operation"),
            Self::Conflicts { .. } => Needs::Person("report a task's conflicts"),
            _ => Needs::Checked,
        };
        let role = match self {
            Self::List | Self::Dropped { forgets: false } => Role::View,
            Self::Find { verb, .. } | Self::FindIn { verb, .. } => verb.role(),
            Self::FindRequest { .. }
            | Self::FindDropped { .. }
            | Self::Create(_)
            | Self::Begin { .. }
            | Self::Review { .. } => Role::Type,
            Self::Dropped { forgets: true }
            | Self::Conflicts { .. }
            | Self::Advance { .. }
            | Self::End { .. } => Role::Admin,
        };
        Declaration { audited, recorded, ..Declaration::internal(self.word(), role, needs) }
    }

    /// What the audit log says about it.
    pub(crate) fn detail(&self) -> String {
        let shown = |text: &str| Printable(&text.chars().take(64).collect::<String>()).to_string();
        match self {
            Self::Find { name, .. } | Self::FindDropped { name } => format!("task {}", shown(name)),
            Self::Create(new) => format!("task {}", shown(&new.name)),
            Self::Begin { id, .. }
            | Self::Review { id, .. }
            | Self::Conflicts { id, .. }
            | Self::Advance { id, .. }
            | Self::End { id, .. } => format!("task number {id}"),
            Self::List | Self::Dropped { .. } | Self::FindIn { .. } | Self::FindRequest { .. } => {
                String::new()
            }
        }
    }
}

/// One command about tasks, on its way through the engine.
pub(crate) struct TaskDecision<'a> {
    engine: &'a mut Engine,
    caller: Caller,
}

impl<'a> TaskDecision<'a> {
    pub(crate) fn new(engine: &'a mut Engine, caller: Caller) -> Self {
        Self { engine, caller }
    }

    /// Answers a question about tasks, or changes one.
    pub(crate) fn decide(&mut self, command: TaskCommand) -> Result<Option<CommandAnswer>, Failure> {
        let tasks = &self.engine.tasks;
        match command {
            TaskCommand::List => Ok(Some(CommandAnswer::Tasks(self.visible()))),
            TaskCommand::Find { name, verb } => {
                let id = tasks.find(&name).ok_or_else(|| no_task(&name))?.id;
                self.answer(id, verb)
            }
            TaskCommand::FindIn { directory, verb } => self.answer(tasks.find_in(&directory)?.id, verb),
            TaskCommand::FindRequest { key } => match tasks.find_request(&key).map(|task| task.id) {
                Some(id) => self.answer(id, Verb::Drive),
                None => Ok(Some(CommandAnswer::Tasks(Vec::new()))),
            },
            TaskCommand::FindDropped { name } => {
                let id = tasks.find_dropped(&name).ok_or_else(|| no_dropped(&name))?.id;
                self.check_right(id, Verb::Drive)?;
                if tasks.find(&name).is_some() {
                    return Err(name_taken(&name));
                }
                self.answer(id, Verb::Drive)
            }
            TaskCommand::Create(new) => self.create(*new),
            TaskCommand::Dropped { forgets } => Ok(Some(CommandAnswer::Tasks(self.dropped(forgets)))),
            TaskCommand::Begin { id, operation } => {
                self.check_right(id, Verb::Drive)?;
                self.check_begin(id, operation.kind)?;
                self.engine.tasks.begin(id, operation)?;
                done()
            }
            TaskCommand::Review { id, change } => self.change_review(id, change),
            TaskCommand::Conflicts { id, conflicts } => {
                self.report_conflicts(id, conflicts)?;
                done()
            }
            TaskCommand::Advance { id, plan } => {
                self.engine.tasks.advance(id, plan)?;
                done()
            }
            TaskCommand::End { id, end } => {
                self.engine.tasks.end(id, end, self.engine.ctx.out.now.wall_ms)?;
                done()
            }
        }
    }

    fn record(&self, id: u64) -> Result<&TaskRecord, Failure> {
        self.engine.tasks.all.get(&id).ok_or_else(|| no_task(""))
    }

    fn create(&mut self, mut new: NewTask) -> Result<Option<CommandAnswer>, Failure> {
        new.creator = self.caller.process();
        let own = new.creator.and_then(|own| self.engine.ctx.processes.get(&own));
        if own.is_some_and(|own| own.spec.workspace != new.workspace) {
            let shown = Printable(&new.workspace).to_string();
            let message = format!("the calling process belongs to another workspace than \"{shown}\"");
            return Err(Failure::new(ErrorCode::WorkspaceMismatch, message));
        }
        let limit = &self.engine.ctx.out.scope.limit;
        if !limit.covers(&new.workspace) {
            let message =
                format!("this connection is limited to {limit}, not to {}", Printable(&new.workspace));
            return Err(Failure::new(ErrorCode::WorkspaceMismatch, message).hint("leave the workspace out"));
        }
        self.engine.workspaces.check_known(&new.workspace)?;
        let now_ms = self.engine.ctx.out.now.wall_ms;
        let imported = new.imported.take();
        let id = self.engine.tasks.create(new, now_ms)?;
        if let Some(imported) = imported {
            let Engine { tasks, ctx, .. } = &mut *self.engine;
            tasks.take_over(id, imported, || ctx.processes.fresh_id(&mut ctx.out));
        }
        self.answer(id, Verb::List)
    }

    /// A task that is restored needs its name; one that is dropped needs an end of its runs.
    fn check_begin(&self, id: u64, kind: TaskOperationKind) -> Result<(), Failure> {
        let task = self.record(id)?;
        let shown = Printable(&task.name).to_string();
        let conflict = |message: String| Failure::new(ErrorCode::Conflict, message);
        match kind {
            TaskOperationKind::Restore if self.engine.tasks.find(&task.name).is_some() => {
                Err(name_taken(&task.name))
            }
            TaskOperationKind::Restore => self.engine.workspaces.check_known(&task.workspace),
            _ if task.is_dropped() => Err(no_task(&task.name)),
            TaskOperationKind::Drop => match self.processes(task).find(|process| process.is_live()) {
                Some(process) => Err(conflict(format!("{} still works on task \"{shown}\"", process.name))
                    .hint(format!("qd stop {} ends it", ShellWord(&task.name)))),
                None => Ok(()),
            },
            TaskOperationKind::Create | TaskOperationKind::Land | TaskOperationKind::Prepare => Ok(()),
        }
    }

    fn change_review(&mut self, id: u64, change: TaskChange) -> Result<Option<CommandAnswer>, Failure> {
        self.check_right(id, Verb::Drive)?;
        let mut mail = None;
        match change {
            TaskChange::Add(comment) => drop(self.engine.tasks.add_comment(id, *comment)?),
            TaskChange::Resolve(number) => self.engine.tasks.change_comment(id, number, false)?,
            TaskChange::Remove(number) => self.engine.tasks.change_comment(id, number, true)?,
            TaskChange::Send(seen) => mail = Some(self.send_review(id, &seen)?),
        }
        let with_processes = TaskWithProcesses { mail, ..self.with_processes(self.record(id)?) };
        Ok(Some(CommandAnswer::Tasks(vec![with_processes])))
    }

    /// Every draft becomes part of one message; message and marks are recorded together.
    fn send_review(&mut self, id: u64, seen: &[ReviewComment]) -> Result<MailId, Failure> {
        let task = self.record(id)?;
        let shown = Printable(&task.name).to_string();
        let text = task.review_message(seen).ok_or_else(|| {
            let message = format!("the review of task \"{shown}\" has no draft to send");
            Failure::new(ErrorCode::Conflict, message).hint("qd review NAME add FILE:LINE TEXT makes one")
        })?;
        let is_agent = |process: &&Process| process.agent.is_some() && process.is_live();
        let agent = self.processes(task).find(is_agent).ok_or_else(|| {
            let message = format!("no agent works on task \"{shown}\"");
            Failure::new(ErrorCode::NotRunning, message)
                .hint(format!("qd run {} starts one", ShellWord(&task.name)))
        })?;
        let to = agent.id;
        let from = self.caller.process();
        let message = NewMessage { from, to, text, key: None, expires_ms: None };
        let mail = self.engine.mail.queue.post(message, &mut self.engine.ctx)?;
        let comments = self.engine.tasks.mark_sent(id, seen);
        let review = MailedReview { task: id, comments };
        self.engine.mail.queue.note_review(mail, review, &mut self.engine.ctx);
        Ok(mail)
    }

    /// Sends the task's agent what its branch would conflict with, once per change.
    fn report_conflicts(&mut self, id: u64, conflicts: Vec<TaskConflict>) -> Result<(), Failure> {
        let task = self.record(id)?;
        let is_agent = |process: &&Process| process.agent.is_some() && process.is_live();
        let agent = self.processes(task).find(is_agent).map(Process::key);
        let text = conflict_message(&task.name, &conflicts);
        if !self.engine.tasks.set_conflicts(id, conflicts, self.engine.ctx.out.now.wall_ms) {
            return Ok(());
        }
        if let (Some(agent), Some(text)) = (agent, text) {
            let engine = &mut *self.engine;
            engine.mail.queue.send_system(agent, "system", text, format!("conflicts {id}"), &mut engine.ctx);
        }
        Ok(())
    }

    fn dropped(&mut self, forgets: bool) -> Vec<TaskWithProcesses> {
        let dropped = match forgets {
            true => self.engine.tasks.forget_old(self.engine.ctx.out.now.wall_ms),
            false => self.engine.tasks.dropped().cloned().collect(),
        };
        let visible = dropped.into_iter().filter(|task| self.may(Verb::List, task));
        visible.map(|task| TaskWithProcesses { task, processes: Vec::new(), mail: None }).collect()
    }

    fn visible(&self) -> Vec<TaskWithProcesses> {
        let is_visible = |task: &&TaskRecord| self.may(Verb::List, task);
        self.engine.tasks.live().filter(is_visible).map(|task| self.with_processes(task)).collect()
    }

    fn answer(&self, id: u64, verb: Verb) -> Result<Option<CommandAnswer>, Failure> {
        self.check_right(id, verb)?;
        Ok(Some(CommandAnswer::Tasks(vec![self.with_processes(self.record(id)?)])))
    }

    /// Whether the caller may start something in the task of this name.
    pub(crate) fn check_spawn(&self, name: &str) -> Result<(), Failure> {
        let id = self.engine.tasks.find(name).ok_or_else(|| no_task(name))?.id;
        self.check_right(id, Verb::Drive)
    }

    fn check_right(&self, id: u64, verb: Verb) -> Result<(), Failure> {
        let task = self.record(id)?;
        if !self.engine.ctx.out.scope.limit.covers(&task.workspace) {
            // In the same words as for a name that no task has: another workspace is not told about.
            return Err(no_task(&task.name));
        }
        match self.may(verb, task) {
            true => Ok(()),
            false => {
                Err(not_related(self.caller, &format!("task \"{}\" is not yours", Printable(&task.name))))
            }
        }
    }

    fn may(&self, verb: Verb, task: &TaskRecord) -> bool {
        let limit = &self.engine.ctx.out.scope.limit;
        let is_within = limit.role >= verb.role() && limit.covers(&task.workspace);
        is_within && may(self.caller, verb, self.relation(task), Granted::default())
    }

    /// What a task is to the caller.
    fn relation(&self, task: &TaskRecord) -> Relation {
        let Caller::Process(run) = self.caller else { return Relation::Neighbour };
        let Some(own) = self.engine.ctx.processes.get(&run.process) else { return Relation::Foreign };
        let is_below = |id| self.engine.ctx.processes.line(id).any(|above| above.id == own.id);
        match task {
            _ if own.spec.workspace != task.workspace => Relation::Foreign,
            _ if task.runs.iter().any(|run| run.process == own.id) => Relation::Own,
            _ if task.creator.is_some_and(is_below) => Relation::Descendant,
            _ => Relation::Neighbour,
        }
    }

    fn with_processes(&self, task: &TaskRecord) -> TaskWithProcesses {
        let processes = self.processes(task).map(Process::view).collect();
        TaskWithProcesses { task: task.clone(), processes, mail: None }
    }

    /// The processes of a task that are there now.
    fn processes<'b>(&'b self, task: &'b TaskRecord) -> impl Iterator<Item = &'b Process> {
        let belongs = |process: &&Process| task.runs.iter().any(|run| run.process == process.id);
        self.engine.ctx.processes.values().filter(|process| !process.is_departed()).filter(belongs)
    }
}

/// The operations that an earlier daemon began and did not end.
#[must_use]
pub fn unfinished_tasks(engine: &Engine) -> Vec<TaskRecord> {
    engine.tasks.unfinished()
}

/// What an agent reads about the conflicts of its task; none if there are none.
fn conflict_message(name: &str, conflicts: &[TaskConflict]) -> Option<String> {
    /// More than these are only counted: the agent can ask git.
    const SHOWN: usize = 10;
    let shown = |text: &str| Printable(&text.chars().take(100).collect::<String>()).to_string();
    let line = |conflict: &TaskConflict| {
        let kind = if conflict.is_base { "the base branch" } else { "task" };
        let mut files: Vec<String> = conflict.files.iter().take(SHOWN).map(|file| shown(file)).collect();
        let more = conflict.files.len().saturating_sub(SHOWN);
        files.extend((more > 0).then(|| format!("and {more} more")));
        format!("- with {kind} {}: {}", shown(&conflict.with), files.join(", "))
    };
    let lines: Vec<String> = conflicts.iter().take(SHOWN).map(line).collect();
    (!lines.is_empty()).then(|| {
        let head = format!("Your branch of task {} would conflict if it were merged now:", shown(name));
        format!("{head}\n{}\nNothing has been merged. Keep it in mind, or rebase.", lines.join("\n"))
    })
}

/// A task that lives has the name of the one that is to be brought back.
fn name_taken(name: &str) -> Failure {
    let message = format!("there is another task \"{}\" now", Printable(name));
    Failure::new(ErrorCode::Conflict, message).hint("drop that one first")
}

fn no_dropped(name: &str) -> Failure {
    let shown: String = name.chars().take(64).collect();
    let message = format!("no dropped task \"{}\" is kept", Printable(&shown));
    Failure::new(ErrorCode::TaskNotFound, message)
        .hint("qd tasks --dropped lists what can be restored; a dropped task is kept for 14 days")
}

fn done() -> Result<Option<CommandAnswer>, Failure> {
    Ok(Some(CommandAnswer::Reply(Reply::Done(Done {}))))
}
