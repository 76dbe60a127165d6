//! Calls that failed, and calls whose end nobody knows: what the person is told, and what is kept of what they wrote.

use proto::request::{PadAct, ReviewAct, TaskAct, TimerChange};
use proto::{ErrorCode, Failure, Printable, ProcessId, Request, Target};

use super::actions::call;
use super::{agent_form, daemon_status, history, pads, review, task_forms, tasks};
use crate::message::{CallFor, Command, Written};
use crate::model::{Away, Model};

/// A call failed.
pub(super) fn failed(model: &mut Model, what: &CallFor, failure: &Failure) -> Vec<Command> {
    if let CallFor::History(_) = what
        && let Some(history) = history::lines(model)
    {
        (history.is_loading, history.is_complete, history.sought) = (false, true, None);
    }
    let hint = failure.hint.as_ref().map(|hint| format!(" ({})", Printable(hint))).unwrap_or_default();
    // A notice is one line, and what a check printed is not.
    let said = failure.message.lines().next().unwrap_or_default();
    let words = format!("{}{hint}", Printable(said));
    let mut commands = match what {
        CallFor::Written(written) => return not_arrived(model, written, failure),
        CallFor::Changes { .. } => {
            review::not_read(model);
            Vec::new()
        }
        CallFor::PadWritten(pad) => pads::not_saved(model, pad, &words),
        _ => Vec::new(),
    };
    let is_told = match what {
        CallFor::TaskMade { .. } => task_forms::not_made(model, words.clone()),
        CallFor::Start(_) => agent_form::not_started(model, words.clone()),
        CallFor::PadWritten(_) => true,
        _ => false,
    };
    let is_quiet = what.is_refresh() && !matches!(what, CallFor::Inbox | CallFor::Timers);
    if !is_quiet && !is_told {
        model.alert(words, None);
    }
    // What was answered by somebody else meanwhile is shown as it is now.
    commands.extend(match what {
        CallFor::TaskDone | CallFor::TaskMade { .. } | CallFor::Changes { .. } => Some(tasks::ask_list()),
        CallFor::Answer(_) => Some(call(CallFor::Inbox, Request::Inbox(proto::request::Empty {}))),
        _ => None,
    });
    commands.extend(daemon_status::failed(model, failure));
    commands
}

/// What the person wrote in a line did not arrive: it is there again when the same is asked.
fn not_arrived(model: &mut Model, written: &Written, failure: &Failure) -> Vec<Command> {
    let Written { purpose, text, what } = written;
    model.daemon.unsent.keep_text(purpose.clone(), text.clone());
    let message = format!("{}; what you wrote is kept for the next time you are asked", failure.message);
    failed(model, what, &Failure { message, ..failure.clone() })
}

/// A call was begun without a daemon.
pub(super) fn not_asked(model: &mut Model, what: &CallFor) -> Vec<Command> {
    let why = match model.daemon.away {
        Some(Away::ShutDown) => "the daemon was shut down",
        _ => "the daemon is away",
    };
    failed(model, what, &Failure::new(ErrorCode::ShuttingDown, format!("nothing was done: {why}")))
}

/// A call was sent, and the daemon was gone before it answered.
pub(super) fn unanswered(model: &mut Model, what: &CallFor, request: &Request) -> Vec<Command> {
    let act = act(model, request);
    let message = format!("it is not known whether {act}: the daemon was gone before it answered");
    failed(model, what, &Failure::new(ErrorCode::UnknownOutcome, message))
}

/// What a request does, once it is done.
fn act(model: &Model, request: &Request) -> String {
    let name = |target: &Target| {
        let id = target.0.parse::<ProcessId>();
        id.map_or_else(|_| Printable(&target.0).to_string(), |id| model.name(id))
    };
    match request {
        Request::Kill(kill) if kill.signal.is_some() => format!("{} got the signal", name(&kill.target)),
        Request::Kill(kill) => format!("the run of {} was ended", name(&kill.target)),
        Request::Close(close) => format!("{} was ended", name(&close.target)),
        Request::Restart(restart) => format!("{} was started again", name(&restart.target)),
        Request::Resume(resume) => format!("{} was started again", name(&resume.target)),
        Request::Interrupt(interrupt) => format!("{} was interrupted", name(&interrupt.target)),
        Request::Tell(tell) => format!("{} got the message", name(&tell.target)),
        Request::Answer(_) => "the answer was given".to_owned(),
        Request::Detach(_) => "the viewer was let go".to_owned(),
        Request::CancelMessage(cancel) => format!("message {} was cancelled", cancel.mail),
        Request::ChangeTimer(timer) => match timer.change {
            TimerChange::Cancel => format!("timer {} was ended", timer.timer),
            TimerChange::Pause => format!("timer {} was paused", timer.timer),
            TimerChange::Resume => format!("timer {} goes on", timer.timer),
        },
        Request::SetTimer(_) => "the timer was set".to_owned(),
        Request::Grant(_) => "the right was given".to_owned(),
        Request::Revoke(_) => "the right was taken back".to_owned(),
        Request::Spawn(spawn) => match &spawn.name {
            Some(name) => format!("{} was started", Printable(name)),
            None => "the process was started".to_owned(),
        },
        Request::Pad(pad) => match &pad.act {
            PadAct::Delete { name, .. } => format!("{} was removed", Printable(name)),
            PadAct::Rename { name, .. } => format!("{} was renamed", Printable(name)),
            PadAct::Write { name, .. } | PadAct::Append { name, .. } => {
                format!("{} was written", Printable(name))
            }
            PadAct::List(_) | PadAct::Read { .. } | PadAct::History { .. } => "it was read".to_owned(),
        },
        Request::Task(task) => match &task.act {
            TaskAct::Create(create) => format!("{} was created", Printable(&create.name)),
            TaskAct::Land(_) => "the task landed".to_owned(),
            TaskAct::Drop(_) => "the task was dropped".to_owned(),
            TaskAct::Restore(_) => "the task was brought back".to_owned(),
            TaskAct::Collect(_) => "the finished tasks were dropped".to_owned(),
            TaskAct::Review(review) => match review.act {
                ReviewAct::Send(_) => "the comments were sent".to_owned(),
                _ => "the comment was changed".to_owned(),
            },
            _ => "it was done".to_owned(),
        },
        _ => "it was done".to_owned(),
    }
}
