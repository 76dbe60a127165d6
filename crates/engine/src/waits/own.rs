//! Waits of a process for what is its own: a timer to fire, a question to be answered.
//!
//! Such a wait is answered instead of a message: a message that still waits in the queue is taken back.

use proto::request::Until;
use proto::timers::TimerStatus;
use proto::{ErrorCode, Failure};

use super::satisfied;
use crate::context::Context;
use crate::inbox::Inbox;
use crate::inbox::questions::before_answer;
use crate::input::WaitId;
use crate::mail::MailQueue;
use crate::timers::TimerRecord;
use crate::timers::Timers;
use crate::waits::Waits;

/// What becomes of a message whose text was given to a wait instead.
const SAID_TO_WAIT: &str = "a wait was answered with it";

impl Waits {
    /// Returns true if a wait for this timer is open.
    pub(crate) fn is_timer_awaited(&self, timer: u64) -> bool {
        self.open.values().any(|wait| wait.until == Until::Timer(timer))
    }

    /// Answers the waits for an item; returns false if there was none.
    pub(crate) fn see_answer(&mut self, item: u64, answer: &str, inbox: &Inbox, ctx: &mut Context) -> bool {
        let waits = self.waits_until(&Until::Item(item));
        for id in &waits {
            self.satisfy_own(*id, answer.to_owned(), ctx);
            self.finish_wait(*id, inbox, ctx);
        }
        !waits.is_empty()
    }

    /// Fails the waits for an item that was closed without an answer. A wait of a run that is over fails with the run.
    pub(crate) fn see_item_closed(&mut self, item: u64, ctx: &mut Context) {
        for id in self.waits_until(&Until::Item(item)) {
            let target = self.open.get(&id).and_then(|wait| wait.targets.first()).copied();
            if target.is_some_and(|run| ctx.processes.is_run_live(run)) {
                self.fail_wait(id, no_longer_asked(item), ctx);
            }
        }
    }

    pub(crate) fn waits_until(&self, until: &Until) -> Vec<WaitId> {
        self.open.iter().filter(|(_, wait)| wait.until == *until).map(|(id, _)| *id).collect()
    }

    pub(crate) fn satisfy_own(&mut self, id: WaitId, text: String, ctx: &Context) {
        let Some(target) = self.open.get(&id).and_then(|wait| wait.targets.first()).copied() else {
            return;
        };
        let Some(process) = ctx.processes.get(&target.process) else { return };
        let found = satisfied(process, Some(text));
        if let Some(wait) = self.open.get_mut(&id) {
            wait.satisfied.insert(target.process, found);
        }
    }
}

impl Waits {
    /// Looks whether what a process waits for of its own, a timer or an answer, has come or never will. What was put
    /// into its mail meanwhile is taken back: the wait carries it.
    pub(crate) fn note_own(
        &mut self,
        id: WaitId,
        inbox: &Inbox,
        mail: &mut MailQueue,
        timers: &Timers,
        ctx: &mut Context,
    ) {
        let Some((until, target)) =
            self.open.get(&id).and_then(|wait| Some((wait.until.clone(), *wait.targets.first()?)))
        else {
            return;
        };
        match until {
            Until::Timer(number) => self.note_timer(id, number, mail, timers, ctx),
            Until::Item(item) if !inbox.items.contains_key(&item) => {
                match mail.retract(target, &answer_key(item), SAID_TO_WAIT, ctx) {
                    Some(text) => {
                        let answer = text.strip_prefix(&before_answer(item)).unwrap_or(&text);
                        self.satisfy_own(id, answer.to_owned(), ctx);
                    }
                    None => self.fail_wait(id, no_longer_asked(item), ctx),
                }
            }
            Until::Item(_)
            | Until::Pattern(_)
            | Until::State(_)
            | Until::Turn(_)
            | Until::Exit(_)
            | Until::Silence(_)
            | Until::Ready(_) => {}
        }
    }

    pub(crate) fn note_timer(
        &mut self,
        id: WaitId,
        number: u64,
        mail: &mut MailQueue,
        timers: &Timers,
        ctx: &mut Context,
    ) {
        let target = self.open.get(&id).and_then(|wait| wait.targets.first()).copied();
        let Some(owner) = target else { return };
        let Some(timer) = timers.get(number) else { return };
        let (status, text) = (timer.status, timer.message());
        match status {
            TimerStatus::Armed | TimerStatus::Paused => {}
            TimerStatus::Fired => {
                let _taken_back = mail.retract(owner, &TimerRecord::mail_key(number), SAID_TO_WAIT, ctx);
                self.satisfy_own(id, text, ctx);
            }
            TimerStatus::Cancelled => {
                let why = timer.outcome.clone().unwrap_or_default();
                let message = format!("timer {number} was cancelled: {why}");
                self.fail_wait(id, Failure::new(ErrorCode::Conflict, message).hint("set another"), ctx);
            }
        }
    }

    /// A timer is over.
    pub(crate) fn see_timer(
        &mut self,
        timer: u64,
        inbox: &Inbox,
        mail: &mut MailQueue,
        timers: &Timers,
        ctx: &mut Context,
    ) {
        for id in self.waits_until(&Until::Timer(timer)) {
            self.note_own(id, inbox, mail, timers, ctx);
            self.finish_wait(id, inbox, ctx);
        }
    }
}

/// The key of the message that carries an answer.
pub(crate) fn answer_key(item: u64) -> String {
    format!("item:{item}")
}

fn no_longer_asked(item: u64) -> Failure {
    Failure::new(ErrorCode::Conflict, format!("item {item} is no longer open"))
        .hint("its answer came as a message")
}
