//! Delivers messages to an agent by its vendor's own channels: a server that accepts requests, or a command.
//! Nothing is tried twice: a message that the vendor may have accepted has an unknown outcome.

use std::sync::Arc;
use std::time::Duration;

use agents::deliver::Channel;
use agents::template::Placeholder;
use engine::input::{HandOver, JobId, TypingOutcome};
use engine::{RunFact, RunKey};
use proto::agent::MailId;

use super::Agents;
use super::agent_run::AgentRun;
use super::file_watcher::{AgentNotice, SoughtMessage, WantedText};
use super::subprocess::{Subprocess, SubprocessError};
use super::vendor_server::VendorServer;

/// How long a vendor's command may take to deliver a message.
const LIMIT: Duration = Duration::from_secs(20);

impl Agents {
    /// Delivers a message through the vendor's own channel.
    pub(crate) fn hand_over(&self, run: RunKey, mail: MailId, text: String) {
        let agents = self.clone();
        self.shared.runtime.spawn(async move {
            let outcome = match agents.find(run) {
                Some(agent_run) => agents.hand_over_to(agent_run, text).await,
                None => HandOver::Unavailable("the agent's launch is not known any more".to_owned()),
            };
            agents.deliver_fact(run, RunFact::HandedOver { mail, outcome }).await;
        });
    }

    /// Answers a request of the agent through its vendor's server.
    pub(crate) fn answer_server(&self, run: RunKey, job: JobId, dialog: String, choice: Vec<String>) {
        let agents = self.clone();
        self.shared.runtime.spawn(async move {
            let outcome = match agents.find(run).and_then(|agent_run| agent_run.line()) {
                Some(line) => line.answer(&dialog, &choice).await,
                None => TypingOutcome::Gone,
            };
            agents.deliver_fact(run, RunFact::TypingDone { job, outcome }).await;
        });
    }

    /// Requests the agent's text in a turn from the vendor's server.
    pub(super) fn list_turn(&self, agent_run: Arc<AgentRun>, line: Arc<VendorServer>, wanted: WantedText) {
        let agents = self.clone();
        self.shared.runtime.spawn(async move {
            let found = line.turn(&agent_run, &wanted.span).await;
            agents.shared.file_watcher.notify(agent_run.run, AgentNotice::Listed(wanted, found));
        });
    }

    /// Asks the vendor's server whether it has a message as a prompt.
    pub(super) fn find_on_server(
        &self,
        agent_run: Arc<AgentRun>,
        line: Arc<VendorServer>,
        sought: SoughtMessage,
    ) {
        let agents = self.clone();
        self.shared.runtime.spawn(async move {
            let found = line.has_prompt(&agent_run, &sought.text, sought.since).await;
            agents.deliver_fact(agent_run.run, RunFact::PromptSought { mail: sought.mail, found }).await;
        });
    }

    async fn hand_over_to(&self, agent_run: Arc<AgentRun>, text: String) -> HandOver {
        match agent_run.manifest().deliver.channel {
            Channel::None => HandOver::Unavailable("the vendor has no channel of its own".to_owned()),
            Channel::Command => {
                let ran = crate::threads::run(move || command(&agent_run, &text)).await;
                ran.unwrap_or_else(|error| HandOver::Unknown(error.to_string()))
            }
            Channel::Server => {
                let Some(line) = agent_run.line() else {
                    return HandOver::Unavailable("the agent's server is not there".to_owned());
                };
                let (outcome, session) = line.hand_over(&agent_run, &text).await;
                if let Some(session) = session.filter(|session| agent_run.pin_session(session)) {
                    self.deliver_fact(agent_run.run, RunFact::Session(session)).await;
                }
                outcome
            }
        }
    }
}

fn command(agent_run: &AgentRun, text: &str) -> HandOver {
    let session = agent_run.note().session;
    let lookup = |place| match place {
        Placeholder::Text => Some(text.into()),
        Placeholder::Session => session.as_deref().map(Into::into),
        _ => None,
    };
    let argv = match agent_run.manifest().deliver.command_words(&lookup) {
        Ok(argv) => argv,
        Err(error) => return HandOver::Unavailable(error.to_string()),
    };
    let (env, cwd) = (agent_run.env.clone(), agent_run.cwd.clone());
    match (Subprocess { argv, env, cwd, input: String::new(), limit: LIMIT }).run() {
        Ok(done) if done.code == Some(0) => HandOver::Submitted,
        Ok(done) => HandOver::Unavailable(format!("the vendor's command ended with {:?}", done.code)),
        Err(error @ SubprocessError::NotStarted { .. }) => HandOver::Unavailable(error.to_string()),
        Err(error @ SubprocessError::TooLong { .. }) => HandOver::Unknown(error.to_string()),
    }
}
