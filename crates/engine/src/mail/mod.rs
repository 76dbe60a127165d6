//! Messages to agents, from sending to the receipt.
//!
//! `queue` keeps every message, `notices` sends those of Quarterdeck about an agent's children, `format` writes the text
//! that arrives, `delivery` is the state of one delivery, `deliverable_now` decides whether and how a message can be
//! delivered now, `deliver` takes the steps, `confirm` proves that the agent took the text, `restored` goes on after a
//! restart of the daemon. `docs/design/0007-delivery.md` has the steps with their words.
//!
//! One delivery has three states, each for another reader:
//!
//! | type | what it says | who reads it |
//! |---|---|---|
//! | [`Delivery`] | what the sender may know: queued, delivering, and how it ended | the receipt |
//! | [`MailStage`] | how far it had come when it was last recorded | the next daemon (`restored`) |
//! | `Phase` | the step that is under way, with its deadline | `deliver` and `confirm` |

mod confirm;
mod deliver;
mod deliverable_now;
pub(crate) mod delivery;
mod expiry;
pub(crate) mod format;
mod notices;
mod queue;
mod restored;

pub use expiry::Due;
pub(crate) use queue::{MailQueue, NewMessage, ReceiptWaiter};

use proto::agent::{Delivery, MailId, Receipt};
use proto::rights::PERSON;
use proto::{Name, ProcessId, RunNumber};
use serde::{Deserialize, Serialize};

/// How far a delivery had come when it was last recorded; it decides what a later daemon may still do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailStage {
    /// Nothing of it has left the queue.
    #[default]
    Queued,
    /// Its text may be in the composer.
    Pasted,
    /// Enter may have been pressed.
    Pressed,
    /// The vendor's own channel may have it.
    #[serde(rename = "handed")]
    HandedOver,
}

/// Who speaks in a message, which decides its head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// A person: what they wrote is typed as it is. Also the default of older records; one of
    /// those that names a process is from a peer.
    #[default]
    Person,
    /// A process.
    Process(SenderRelation),
    /// Quarterdeck itself.
    System {
        /// What stands in the head: `system`, or `timer:` and a label.
        tag: String,
    },
}

/// What the sender is to the recipient when it sends; it may be gone when the message arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SenderRelation {
    /// Above it.
    Orchestrator,
    /// Below it.
    SubAgent,
    /// Beside it.
    Peer,
}

/// One message, as it is made durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailRecord {
    /// Its number.
    pub id: MailId,
    /// To whom.
    pub to: ProcessId,
    /// The process that sent it; none: a person.
    #[serde(default)]
    pub from: Option<ProcessId>,
    /// What that process was called then.
    #[serde(default)]
    pub from_name: Option<Name>,
    /// Who speaks in it.
    #[serde(default, rename = "voice")]
    pub sender: Sender,
    /// The only run it may reach; none: any run of the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunNumber>,
    /// Its text; empty once its state is final.
    #[serde(default)]
    pub text: String,
    /// The sender's own mark against sending it twice.
    #[serde(default)]
    pub key: Option<String>,
    /// When it was sent, wall time.
    #[serde(default)]
    pub at: u64,
    /// When it is given up, wall time.
    #[serde(default)]
    pub expires_at: u64,
    /// When it is given up on the clock that counts; none: it was sent in an earlier boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Due>,
    /// The state of its delivery.
    pub delivery: Delivery,
    /// How far it had come.
    #[serde(default)]
    pub stage: MailStage,
    /// The comments that it consists of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<MailedReview>,
}

/// The comments of a task's review that became a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailedReview {
    /// The number of the task.
    pub task: u64,
    /// The numbers of the comments.
    pub comments: Vec<u32>,
}

impl MailRecord {
    /// Its receipt.
    #[must_use]
    pub fn receipt(&self) -> Receipt {
        let (mail, to, from, at) = (self.id, self.to, self.from, self.at);
        Receipt { mail, to, from, sender: self.sender_words(), at, delivery: self.delivery.clone() }
    }

    fn sender_words(&self) -> String {
        match &self.sender {
            Sender::System { tag } => tag.clone(),
            Sender::Person | Sender::Process(_) => {
                self.from_name.as_ref().map_or_else(|| PERSON.to_owned(), ToString::to_string)
            }
        }
    }
}

/// Moves the messages of the queue into agents. The state of each delivery is with its agent (`DeliveryProgress`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Mailbox {
    pub(crate) queue: MailQueue,
}

#[cfg(test)]
mod tests;
