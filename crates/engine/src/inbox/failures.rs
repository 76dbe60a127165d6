//! Failures of agents that wait for a person: one for each agent, with its cause. A failure is kept in the agent's record, so
//! it outlives the daemon.

use proto::agent::{DialogOption, InboxItem, ItemKind};
use proto::{AgentState, ProcessId};
use serde::{Deserialize, Serialize};

use super::{Inbox, ItemSubject, ItemText, NewItem, option};
use crate::context::Context;

/// Why an agent has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// The session that was to be continued could not be continued.
    ResumeRefused,
    /// Its turn failed.
    TurnFailed,
    /// The vendor refuses turns, as when a quota is used up.
    TurnsRefused,
    /// Its run ended before it took a prompt.
    EndedEarly,
    /// Its run ended with an error or by a signal.
    EndedBadly,
    /// Its program and its holder are gone.
    Lost,
    /// It takes no prompts although it should by now.
    StartsSlowly,
    /// Its next run could not be started.
    NotStarted,
    /// A review of its work did not reach it.
    ReviewReturned,
    /// A cause that this version does not know.
    #[serde(other)]
    Unknown,
}

impl FailureCause {
    const ALL: [Self; 9] = [
        Self::ResumeRefused,
        Self::TurnFailed,
        Self::TurnsRefused,
        Self::EndedEarly,
        Self::EndedBadly,
        Self::Lost,
        Self::StartsSlowly,
        Self::NotStarted,
        Self::ReviewReturned,
    ];

    /// What a person reads in one line.
    fn title(self) -> &'static str {
        match self {
            Self::ResumeRefused => "resume refused",
            Self::TurnFailed => "its turn failed",
            Self::TurnsRefused => "the vendor refuses turns for now",
            Self::EndedEarly => "it ended before it took a prompt",
            Self::EndedBadly => "it ended badly",
            Self::Lost => "it was lost",
            Self::StartsSlowly => "it is still starting",
            Self::NotStarted => "it could not be started",
            Self::ReviewReturned => "your review did not reach it",
            Self::Unknown => "it failed",
        }
    }

    /// Returns the cause of a failure that a version without causes recorded under this title.
    fn recorded_as(title: &str) -> Self {
        Self::ALL.into_iter().find(|cause| cause.title() == title).unwrap_or(Self::Unknown)
    }
}

/// The failure of an agent that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "RecordedFailure")]
pub struct AgentFailure {
    /// Why it failed.
    pub cause: FailureCause,
    /// What the person sees.
    #[serde(flatten)]
    pub view: InboxItem,
}

/// A failure as it stands in a record. Records of versions without causes have none.
#[derive(Deserialize)]
struct RecordedFailure {
    #[serde(default)]
    cause: Option<FailureCause>,
    #[serde(flatten)]
    view: InboxItem,
}

impl From<RecordedFailure> for AgentFailure {
    fn from(RecordedFailure { cause, view }: RecordedFailure) -> Self {
        Self { cause: cause.unwrap_or_else(|| FailureCause::recorded_as(&view.title)), view }
    }
}

impl Inbox {
    /// Opens a failure for a person; it replaces an older failure of the same agent.
    pub(crate) fn fail_agent(&mut self, id: ProcessId, cause: FailureCause, body: &str, ctx: &mut Context) {
        self.open_failure(id, cause, body, vec![option(1, "dismiss", "Dismiss")], ctx);
    }

    /// Opens a failure with answers of its own.
    pub(crate) fn open_failure(
        &mut self,
        id: ProcessId,
        cause: FailureCause,
        body: &str,
        options: Vec<DialogOption>,
        ctx: &mut Context,
    ) {
        self.clear_failure(id, ctx);
        let text = ItemText { title: cause.title().to_owned(), body: body.to_owned() };
        let item = NewItem { kind: ItemKind::Failure, text, options, about: ItemSubject::Failure };
        let number = self.open_item(id, item, ctx);
        let view = self.items.get(&number).map(|item| item.view.clone());
        if let Some(agent) = ctx.processes.agent_mut(id) {
            agent.record.failure = view.map(|view| AgentFailure { cause, view });
            ctx.out.mark_durable(id);
        }
    }

    /// Tells a person that a review did not arrive. What they were to read of the agent before stays below it.
    pub(crate) fn review_returned(&mut self, id: ProcessId, body: &str, ctx: &mut Context) {
        let before = ctx.processes.agent(id).and_then(|agent| agent.record.failure.as_ref());
        let before = before.filter(|failure| failure.cause != FailureCause::ReviewReturned);
        let before = before.map(|failure| format!("\nbefore: {}: {}", failure.view.title, failure.view.body));
        let body = format!("{body}{}", before.unwrap_or_default());
        self.fail_agent(id, FailureCause::ReviewReturned, &body, ctx);
    }

    /// A review has arrived: that an earlier one did not needs nobody any more.
    pub(crate) fn review_arrived(&mut self, id: ProcessId, ctx: &mut Context) {
        let failure = ctx.processes.agent(id).and_then(|agent| agent.record.failure.as_ref());
        if failure.is_some_and(|failure| failure.cause == FailureCause::ReviewReturned) {
            self.clear_failure(id, ctx);
        }
    }

    /// Adds the vendor's words to the failure of a turn that came without any: the source that has them may be later.
    pub(crate) fn complete_failure(&mut self, id: ProcessId, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent(id) else { return };
        let is_wordless = |failure: &AgentFailure| {
            failure.cause == FailureCause::TurnFailed && failure.view.body.is_empty()
        };
        let words = agent.words_of_failure(ctx.out.now.uptime_ms);
        if agent.state() == AgentState::Error
            && !words.is_empty()
            && agent.record.failure.as_ref().is_some_and(is_wordless)
        {
            self.fail_agent(id, FailureCause::TurnFailed, &words, ctx);
        }
    }

    /// Adds the last lines of the program to the failure that a person reads.
    pub(crate) fn add_to_failure(&mut self, id: ProcessId, lines: &str, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        let Some(failure) = agent.record.failure.as_mut().filter(|_| !lines.trim().is_empty()) else {
            return;
        };
        failure.view.body = format!("{}\nits last words:\n{}", failure.view.body, lines.trim_end());
        let view = failure.view.clone();
        ctx.out.mark_durable(id);
        if let Some(item) = self.items.get_mut(&view.item) {
            item.view = view;
            item.announce_opened(&mut ctx.out);
        }
    }

    /// Closes the failure of an agent.
    pub(crate) fn clear_failure(&mut self, id: ProcessId, ctx: &mut Context) {
        let Some(failure) = ctx.processes.agent_mut(id).and_then(|agent| agent.record.failure.take()) else {
            return;
        };
        self.close_item(failure.view.item, ctx);
        ctx.out.mark_durable(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(title: &str) -> serde_json::Value {
        serde_json::json!({
            "item": 3, "id": "p_abcdefgh", "name": "a", "kind": "failure", "title": title, "options": [], "at": 1,
        })
    }

    #[test]
    fn a_failure_that_a_version_without_causes_recorded_has_the_cause_of_its_title() {
        for cause in FailureCause::ALL {
            let read: AgentFailure = serde_json::from_value(view(cause.title())).unwrap();
            assert_eq!(read.cause, cause);
        }
        let read: AgentFailure = serde_json::from_value(view("anything")).unwrap();
        assert_eq!((read.cause, read.view.title.as_str()), (FailureCause::Unknown, "anything"));
    }

    #[test]
    fn a_recorded_failure_keeps_its_cause_whatever_its_title_says() {
        let mut recorded = view("words of another version");
        recorded["cause"] = "resume_refused".into();
        let read: AgentFailure = serde_json::from_value(recorded.clone()).unwrap();
        assert_eq!(read.cause, FailureCause::ResumeRefused);
        let again: AgentFailure = serde_json::from_value(serde_json::to_value(&read).unwrap()).unwrap();
        assert_eq!(again, read);
        recorded["cause"] = "of_a_later_version".into();
        let later: AgentFailure = serde_json::from_value(recorded).unwrap();
        assert_eq!(later.cause, FailureCause::Unknown, "a later version's record is still read");
    }
}
