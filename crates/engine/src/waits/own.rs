//! Waits of a process for what is its own: a timer to fire, a question to be answered.
//!
//! Owns how such a wait is answered instead of a message. Refuses saying the same thing twice: what was put into the
//! mail and has not left it is taken back when the wait says it.

use proto::crew::TimerStatus;
use proto::request::Until;
use proto::{ErrorCode, Failure};

use super::satisfied;
use crate::Engine;
use crate::input::{RunKey, WaitId};
use crate::questions::before_answer;
use crate::timers::TimerRecord;

/// What becomes of a message whose text was given to a wait instead.
const SAID_TO_WAIT: &str = "a wait was answered with it";

impl Engine {
    /// Whether somebody waits for this timer right now.
    pub(crate) fn is_timer_awaited(&self, timer: u64) -> bool {
        self.waits.values().any(|wait| wait.until == Until::Timer(timer))
    }

    /// A timer is over.
    pub(crate) fn waits_see_timer(&mut self, timer: u64) {
        for id in self.waits_until(&Until::Timer(timer)) {
            self.note_own(id);
            self.finish_wait(id);
        }
    }

    /// A question was answered; whether somebody waited for that.
    pub(crate) fn waits_see_answer(&mut self, item: u64, answer: &str) -> bool {
        let waits = self.waits_until(&Until::Item(item));
        for id in &waits {
            self.satisfy_own(*id, answer.to_owned());
            self.finish_wait(*id);
        }
        !waits.is_empty()
    }

    /// An item is closed without an answer for those who wait for one. A run that is over is told that it is.
    pub(crate) fn waits_see_item_closed(&mut self, item: u64) {
        for id in self.waits_until(&Until::Item(item)) {
            let target = self.waits.get(&id).and_then(|wait| wait.targets.first()).copied();
            if target.is_some_and(|run| self.is_run_live(run)) {
                self.fail_wait(id, no_longer_asked(item));
            }
        }
    }

    fn waits_until(&self, until: &Until) -> Vec<WaitId> {
        self.waits.iter().filter(|(_, wait)| wait.until == *until).map(|(id, _)| *id).collect()
    }

    /// Looks whether what a process waits for of its own, a timer or an answer, has come or never will. What was put
    /// into its mail meanwhile is taken back: the wait says it.
    pub(super) fn note_own(&mut self, id: WaitId) {
        let Some((until, target)) =
            self.waits.get(&id).and_then(|wait| Some((wait.until.clone(), *wait.targets.first()?)))
        else {
            return;
        };
        match until {
            Until::Timer(number) => self.note_timer(id, target, number),
            Until::Item(item) if !self.items.contains_key(&item) => {
                match self.retract(target, &answer_key(item), SAID_TO_WAIT) {
                    Some(text) => {
                        let answer = text.strip_prefix(&before_answer(item)).unwrap_or(&text);
                        self.satisfy_own(id, answer.to_owned());
                    }
                    None => self.fail_wait(id, no_longer_asked(item)),
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

    fn note_timer(&mut self, id: WaitId, owner: RunKey, number: u64) {
        let Some(timer) = self.timers.get(number) else { return };
        let (status, text) = (timer.status, timer.message());
        match status {
            TimerStatus::Armed | TimerStatus::Paused => {}
            TimerStatus::Fired => {
                let _taken_back = self.retract(owner, &TimerRecord::mail_key(number), SAID_TO_WAIT);
                self.satisfy_own(id, text);
            }
            TimerStatus::Cancelled => {
                let why = timer.outcome.clone().unwrap_or_default();
                let message = format!("timer {number} was cancelled: {why}");
                self.fail_wait(id, Failure::new(ErrorCode::Conflict, message).hint("set another"));
            }
        }
    }

    fn satisfy_own(&mut self, id: WaitId, text: String) {
        let Some(target) = self.waits.get(&id).and_then(|wait| wait.targets.first()).copied() else { return };
        let Some(process) = self.processes.get(&target.process) else { return };
        let found = satisfied(process, Some(text));
        if let Some(wait) = self.waits.get_mut(&id) {
            wait.satisfied.insert(target.process, found);
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
