//! One typed method per verb of the protocol, with the reply that it gets. Arguments are sent as they are.

use proto::agent::{AgentOffer, Explanation, InboxItem, Receipt, Turn};
use proto::reply::{
    Attached, DaemonStatus, Ended, Following, HookAnswer, ManifestChecked, Matches, SampleTaken, Spawned,
    Subscribed, Text, ViewerView, Waited, Wrote,
};
use proto::request::{
    AskAgents, AskReceipt, AskResult, Attach, CancelMessage, CheckManifest, Close, Detach, Empty, Explain,
    Follow, GiveAnswer, Hook, Interrupt, Kill, Read, Rename, Resize, Restart, Resume, Sample, Search, Spawn,
    Tell, Wait, Write,
};
use proto::{ProcessView, Reply, Request};

use crate::{ClientError, Connection};

/// One method: its doc, its name, its request with arguments, its reply with its content.
macro_rules! verb {
    ($doc:literal, $name:ident($arguments:ty) => $request:ident, $reply:ident($inside:ty)) => {
        #[doc = $doc]
        pub fn $name(&mut self, arguments: $arguments) -> Result<$inside, ClientError> {
            match self.call(Request::$request(arguments))? {
                proto::Reply::$reply(inside) => Ok(inside),
                other => Err($crate::verbs::unexpected(stringify!($name), &other)),
            }
        }
    };
    ($doc:literal, $name:ident() => $request:ident, $reply:ident($inside:ty)) => {
        #[doc = $doc]
        pub fn $name(&mut self) -> Result<$inside, ClientError> {
            match self.call(Request::$request(Empty {}))? {
                proto::Reply::$reply(inside) => Ok(inside),
                other => Err($crate::verbs::unexpected(stringify!($name), &other)),
            }
        }
    };
}
pub(crate) use verb;

impl Connection {
    verb!("Reads a screen, its history or its log.", read(Read) => Read, Text(Text));
    verb!("Searches rendered history.", search(Search) => Search, Matches(Matches));
    verb!("Waits until something has happened.", wait(Wait) => Wait, Waited(Waited));
    verb!("Types, pastes or presses keys.", write(Write) => Write, Wrote(Wrote));
    verb!("Removes an entry, ending its run first.", close(Close) => Close, Ended(Ended));
    verb!("Starts a new run of the same argv.", restart(Restart) => Restart, Spawned(Spawned));
    verb!("Gives an agent a message.", tell(Tell) => Tell, Receipt(Receipt));
    verb!("What became of a message.", receipt(AskReceipt) => Receipt, Receipt(Receipt));
    verb!("Takes a message back.", cancel_message(CancelMessage) => CancelMessage, Receipt(Receipt));
    verb!("What an agent said at the end of a turn.", result(AskResult) => Result, Turn(Turn));
    verb!("Why an agent's state is what it is.", explain(Explain) => Explain, Explanation(Box<Explanation>));
    verb!("Starts an agent again in the session it had.", resume(Resume) => Resume, Spawned(Spawned));
    verb!("A lifecycle event of the agent around this process.", hook(Hook) => Hook, HookAnswer(HookAnswer));
    verb!("Looks for faults in a manifest.", check_manifest(CheckManifest) => CheckManifest, Manifest(ManifestChecked));
    verb!("An agent's screen as a sample.", sample(Sample) => Sample, Sample(SampleTaken));
    verb!("Becomes a viewer; frames follow.", attach(Attach) => Attach, Attached(Attached));
    verb!("Who watches which process.", viewers() => Viewers, Viewers(Vec<ViewerView>));
    verb!("Lets viewers go; who they were.", detach(Detach) => Detach, Viewers(Vec<ViewerView>));
    verb!("Streams the log; frames follow.", begin_follow(Follow) => Follow, Following(Following));
    verb!("What needs a person.", inbox() => Inbox, Inbox(Vec<InboxItem>));
    verb!("Which agents there are.", agents(AskAgents) => Agents, Agents(Vec<AgentOffer>));
    verb!("All processes the caller may see.", list() => List, Processes(Vec<ProcessView>));

    /// Starts a process.
    pub fn spawn(&mut self, arguments: Spawn) -> Result<Spawned, ClientError> {
        match self.call(Request::Spawn(Box::new(arguments)))? {
            Reply::Spawned(spawned) => Ok(spawned),
            other => Err(unexpected("spawn", &other)),
        }
    }

    /// Ends a run, or sends one signal; `None` then, because the run may continue.
    pub fn kill(&mut self, arguments: Kill) -> Result<Option<Ended>, ClientError> {
        match self.call(Request::Kill(arguments))? {
            Reply::Ended(ended) => Ok(Some(ended)),
            Reply::Done(_) => Ok(None),
            other => Err(unexpected("kill", &other)),
        }
    }

    /// Sets a process's terminal size.
    pub fn resize(&mut self, arguments: Resize) -> Result<(), ClientError> {
        self.done("resize", Request::Resize(arguments))
    }

    /// Gives a process another name.
    pub fn rename(&mut self, arguments: Rename) -> Result<(), ClientError> {
        self.done("rename", Request::Rename(arguments))
    }

    /// Answers an item of the inbox.
    pub fn answer_item(&mut self, arguments: GiveAnswer) -> Result<(), ClientError> {
        self.done("answer", Request::Answer(arguments))
    }

    /// Ends an agent's turn; the agent stays.
    pub fn interrupt(&mut self, arguments: Interrupt) -> Result<(), ClientError> {
        self.done("interrupt", Request::Interrupt(arguments))
    }

    /// The daemon's status; answered with any protocol version.
    pub fn status(&mut self) -> Result<DaemonStatus, ClientError> {
        match self.call(Request::Status(Empty {}))? {
            Reply::Status(status) => Ok(status),
            other => Err(unexpected("status", &other)),
        }
    }

    /// Subscribes to events; they arrive through [`Connection::receive`].
    pub fn subscribe(&mut self) -> Result<Subscribed, ClientError> {
        match self.call(Request::Subscribe(Empty {}))? {
            Reply::Subscribed(subscribed) => Ok(subscribed),
            other => Err(unexpected("subscribe", &other)),
        }
    }

    pub(crate) fn done(&mut self, verb: &str, request: Request) -> Result<(), ClientError> {
        match self.call(request)? {
            Reply::Done(_) => Ok(()),
            other => Err(unexpected(verb, &other)),
        }
    }
}

pub(crate) fn unexpected(verb: &str, reply: &Reply) -> ClientError {
    ClientError::nonsense(format!("{verb} was answered with {reply:?}"))
}
