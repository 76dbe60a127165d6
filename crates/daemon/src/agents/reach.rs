//! Reaching an agent by its vendor's own ways: a server that takes requests, a command that hands a message over.
//!
//! Owns choosing the way and telling the engine what became of it. Refuses trying twice: what may have been taken is
//! told as unknown.

use std::sync::Arc;
use std::time::Duration;

use agents::deliver::Channel;
use agents::template::Place;
use engine::input::{HandOver, JobId, Typing};
use engine::{Fact, RunKey};
use proto::agent::MailId;

use super::Agents;
use super::attendant::{Heard, Sought, WantedText};
use super::charge::Charge;
use super::errand::{Errand, ErrandError};
use super::link::ServerLine;

/// How long a vendor's command may take to hand a message over.
const LIMIT: Duration = Duration::from_secs(20);

impl Agents {
    /// Hands a message to the vendor's own channel.
    pub(crate) fn hand_over(&self, run: RunKey, mail: MailId, text: String) {
        let agents = self.clone();
        drop(crate::threads::run(move || {
            let outcome = match agents.find(run) {
                Some(charge) => agents.hand_over_to(&charge, &text),
                None => HandOver::Unavailable("the agent's launch is not known any more".to_owned()),
            };
            agents.say(run, Fact::HandedOver { mail, outcome });
        }));
    }

    /// Answers what the agent asks through its vendor's server.
    pub(crate) fn answer_server(&self, run: RunKey, job: JobId, dialog: String, choice: Vec<String>) {
        let agents = self.clone();
        drop(crate::threads::run(move || {
            let line = agents.find(run).and_then(|charge| charge.line());
            let outcome = line.map_or(Typing::Gone, |line| line.answer(&dialog, &choice));
            agents.say(run, Fact::TypingDone { job, outcome });
        }));
    }

    /// Asks the vendor's server what the agent said in a turn.
    pub(super) fn list_turn(&self, charge: Arc<Charge>, line: Arc<ServerLine>, wanted: WantedText) {
        let agents = self.clone();
        drop(crate::threads::run(move || {
            let found = line.turn(&charge, &wanted.span);
            agents.shared.attendant.heard(charge.run, Heard::Listed(wanted, found));
        }));
    }

    /// Asks the vendor's server whether it has a message as a prompt.
    pub(super) fn find_on_server(&self, charge: Arc<Charge>, line: Arc<ServerLine>, sought: Sought) {
        let agents = self.clone();
        drop(crate::threads::run(move || {
            let found = line.has_prompt(&charge, &sought.text, sought.since);
            agents.say(charge.run, Fact::PromptSought { mail: sought.mail, found });
        }));
    }

    fn hand_over_to(&self, charge: &Arc<Charge>, text: &str) -> HandOver {
        match charge.manifest().deliver.channel {
            Channel::None => HandOver::Unavailable("the vendor has no channel of its own".to_owned()),
            Channel::Command => command(charge, text),
            Channel::Server => {
                let Some(line) = charge.line() else {
                    return HandOver::Unavailable("the agent's server is not there".to_owned());
                };
                let (outcome, session) = line.hand_over(charge, text);
                if let Some(session) = session.filter(|session| charge.pin_session(session)) {
                    self.say(charge.run, Fact::Session(session));
                }
                outcome
            }
        }
    }
}

fn command(charge: &Charge, text: &str) -> HandOver {
    let session = charge.note().session;
    let lookup = |place| match place {
        Place::Text => Some(text.into()),
        Place::Session => session.as_deref().map(Into::into),
        _ => None,
    };
    let argv = match charge.manifest().deliver.command_words(&lookup) {
        Ok(argv) => argv,
        Err(error) => return HandOver::Unavailable(error.to_string()),
    };
    let (env, cwd) = (charge.env.clone(), charge.cwd.clone());
    match (Errand { argv, env, cwd, input: String::new(), limit: LIMIT }).run() {
        Ok(done) if done.code == Some(0) => HandOver::Submitted,
        Ok(done) => HandOver::Unavailable(format!("the vendor's command ended with {:?}", done.code)),
        Err(error @ ErrandError::NotStarted { .. }) => HandOver::Unavailable(error.to_string()),
        Err(error @ ErrandError::TooLong { .. }) => HandOver::Unknown(error.to_string()),
    }
}
