//! Every verb of the door, declared once: its word, its arguments, its reply, its target and how soon it is
//! answered. `repeat` decides which requests may be sent again.
//!
//! The rows of the macro `verbs!` are the declaration. [`Request`](crate::request::Request) and the types in
//! [`verb`] are made from them, the engine's commands and their routing in `engine`, one call per verb in
//! `client`. What a verb needs of its caller, what the audit log keeps of it and what must be recorded stands
//! with the code that decides it: one file per verb or family in `engine/src/command`.

use serde::{Deserialize, Serialize};

use crate::agent::{AgentOffer, Explanation, InboxItem, Receipt, Turn};
use crate::audit::AuditPage;
use crate::pads::PadOutcome;
use crate::ports::Listening;
use crate::presets::PresetList;
use crate::repeat::Repeat;
use crate::reply::Asked;
use crate::reply::{
    Attached, DaemonStatus, Done, Ended, Following, HookAnswer, ManifestChecked, Matches, SampleTaken,
    Spawned, Subscribed, Text, ViewerView, Waited, Welcome, Wrote,
};
use crate::rights::{GrantView, Identity};
use crate::task::TaskOutcome;
use crate::timers::TimerView;
use crate::trust::TrustView;
use crate::workspace::WorkspaceView;
use crate::{ProcessView, Target, request};

/// Hands every verb to the macro `$then`, one row each:
///
/// `Variant(Arguments) word as method -> Reply or OtherReply: Result, of target_field, within AnswerTime, repeat how;`
///
/// The engine gets those under `engine` as they were sent. Those under `door` are served by the daemon, which asks the
/// engine what it needs. `as` names the client's method where it is not the word. `or` is a second reply that says only that
/// it worked. A verb without `within` may take as long as what it waits for. `repeat` names a function of
/// [`Repeat`](crate::repeat::Repeat); a verb without it may not be sent again when its answer was lost.
#[macro_export]
macro_rules! verbs {
    ($then:ident) => {
        $then! {
            engine {
                /// Replies when something has happened.
                Wait(Wait) wait -> Waited: Waited, repeat harmless;
                /// Sets a process's terminal size.
                Resize(Resize) resize -> Done: (), of target, within Deciding, repeat harmless;
                /// Ends the run (or sends one signal); the entry stays.
                Kill(Kill) kill -> Ended or Done: Option<Ended>, of target;
                /// Ends the run and removes the entry.
                Close(Close) close -> Ended: Ended, of target;
                /// Starts a new run of the same argv, ending the old one first.
                Restart(Restart) restart -> Spawned: Spawned, of target;
                /// Gives a process another name.
                Rename(Rename) rename -> Done: (), of target, within Deciding, repeat harmless;
                /// The viewers of all processes.
                Viewers viewers -> Viewers: Vec<ViewerView>, within Deciding, repeat harmless;
                /// Lets viewers go.
                Detach(Detach) detach -> Viewers: Vec<ViewerView>, of target, within Deciding;
                /// Sends a message to an agent, with a receipt.
                Tell(Tell) tell -> Receipt: Receipt, of target, repeat keyed;
                /// The delivery of a message.
                Receipt(AskReceipt) receipt -> Receipt: Receipt, repeat harmless;
                /// The newest messages that the caller may follow, with their deliveries.
                Messages messages -> Messages: Vec<Receipt>, within Deciding, repeat harmless;
                /// Cancels a message whose delivery has not begun.
                CancelMessage(CancelMessage) cancel_message -> Receipt: Receipt;
                /// Ends an agent's turn; the agent stays.
                Interrupt(Interrupt) interrupt -> Done: (), of target;
                /// The agent's text at the end of a turn.
                Result(AskResult) result -> Turn: Turn, of target, repeat harmless;
                /// The evidence for an agent's state.
                Explain(Explain) explain -> Explanation: Box<Explanation>, of target, within Deciding, repeat harmless;
                /// The items that need a person.
                Inbox inbox -> Inbox: Vec<InboxItem>, within Deciding, repeat harmless;
                /// Answers an item of the inbox.
                Answer(GiveAnswer) answer as answer_item -> Done: (), within Deciding;
                /// Starts an agent again in its vendor session.
                Resume(Resume) resume -> Spawned: Spawned, of target;
                /// As whom the daemon identifies the caller, and what it may do.
                WhoAmI who_am_i -> Identity: Box<Identity>, within Deciding, repeat harmless;
                /// Sends a process a message later.
                SetTimer(SetTimer) set_timer -> Timer: TimerView, of owner, within Deciding, repeat keyed;
                /// The timers.
                Timers timers -> Timers: Vec<TimerView>, within Deciding, repeat harmless;
                /// Cancels, pauses or resumes a timer.
                ChangeTimer(ChangeTimer) change_timer -> Timer: TimerView, within Deciding;
                /// Asks the person something.
                Ask(Ask) ask -> Asked: Asked, repeat keyed;
                /// Asks for a person's attention.
                Attention(Attention) attention -> Asked: Asked, within Deciding, repeat keyed;
                /// Shows a process in all clients.
                Select(Select) select -> Done: (), of target, within Deciding, repeat harmless;
                /// Gives a process a right beyond the tree.
                Grant(Grant) grant -> Granted: GrantView, of over, within Deciding;
                /// Takes a grant back.
                Revoke(Revoke) revoke -> Done: (), within Deciding;
                /// The grants.
                Grants grants -> Grants: Vec<GrantView>, within Deciding, repeat harmless;
                /// Ends the trust in something.
                Distrust(Distrust) distrust -> Done: (), within Deciding;
                /// What agents may start without approval.
                Trusted trusted -> Trusted: Vec<TrustView>, within Deciding, repeat harmless;
                /// The workspaces.
                Workspaces workspaces -> Workspaces: Vec<WorkspaceView>, within Deciding, repeat harmless;
                /// Makes, renames or removes a workspace.
                ChangeWorkspace(ChangeWorkspace) change_workspace -> Workspace: WorkspaceView, within Deciding;
                /// Ends the daemon; the holders stay unless the request says otherwise.
                Shutdown(Shutdown) shutdown as begin_shutdown -> Done: ();
            }
            door {
                /// Opens a connection: the client's name, protocol and token. Must come first.
                Hello(Hello) hello as greet -> Welcome: Welcome, within Greeting;
                /// The daemon's status. Answered before and after `hello`, with any protocol version.
                Status status -> Status: DaemonStatus, within Greeting, repeat harmless;
                /// Starts a process.
                Spawn(Box<Spawn>) spawn -> Spawned: Spawned, repeat keyed;
                /// All processes that the caller may see.
                List list -> Processes: Vec<ProcessView>, within Deciding, repeat harmless;
                /// Text of a screen, of its history or of its log.
                Read(Read) read -> Text: Text, of target, within Deciding, repeat harmless;
                /// Matches in rendered history.
                Search(Search) search -> Matches: Matches, of target, repeat harmless;
                /// Types, pastes or presses keys.
                Write(Write) write -> Wrote: Wrote, of target, repeat typed;
                /// Turns this connection into a viewer of one process.
                Attach(Attach) attach -> Attached: Attached, of target, within Attaching;
                /// Changes what an attached viewer sees; only on an attached connection.
                View(View) view -> Done: ();
                /// Streams the log by offset on this connection.
                Follow(Follow) follow as begin_follow -> Following: Following, of target, within Deciding, repeat harmless;
                /// Streams events on this connection.
                Subscribe subscribe -> Subscribed: Subscribed, within Deciding, repeat harmless;
                /// A lifecycle event of the agent that the caller runs in.
                Hook(Hook) hook -> HookAnswer: HookAnswer;
                /// The agents that can be started.
                Agents(AskAgents) agents -> Agents: Vec<AgentOffer>, repeat harmless;
                /// Checks a manifest for faults.
                CheckManifest(CheckManifest) check_manifest -> Manifest: ManifestChecked, repeat harmless;
                /// Records the screen of an agent, with secrets masked.
                Sample(Sample) sample -> Sample: SampleTaken, of target;
                /// Reads and writes scratchpads.
                Pad(Pad) pad -> Pad: PadOutcome, repeat by_act;
                /// Makes, lists, compares, reviews, lands and removes tasks.
                Task(Task) task -> Task: Box<TaskOutcome>, repeat by_operation;
                /// Marks what a process did as seen by a person.
                See(See) see -> Done: (), of target, within Deciding, repeat harmless;
                /// The ports on which a process listens.
                Ports(Ports) ports -> Ports: Listening, of target, repeat harmless;
                /// The presets of a project.
                Presets(Presets) presets -> Presets: PresetList, repeat harmless;
                /// Lets agents start something without approval.
                Trust(Trust) trust -> Trust: TrustView;
                /// Who asked for what, and what was decided.
                Audit(Audit) audit -> Audit: AuditPage, repeat harmless;
            }
        }
    };
}

/// How soon a daemon that works answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerTime {
    /// At once, without asking anybody.
    Greeting,
    /// As soon as the connection has become a viewer.
    Attaching,
    /// As soon as it is decided.
    Deciding,
    /// When what was asked for has happened.
    Unbounded,
}

/// What is declared about one verb. The types in [`verb`] have it.
pub trait VerbSpec {
    /// Its word on the wire, in logs and in the audit log.
    const WORD: &'static str;
    /// How soon it is answered.
    const ANSWER: AnswerTime = AnswerTime::Unbounded;
    /// What it is asked with.
    type Arguments;
    /// What a caller gets.
    type Reply;

    /// The request that asks for it.
    fn request(arguments: Self::Arguments) -> request::Request;

    /// What a caller gets from a reply; an error holds a reply to something else.
    fn result(reply: Reply) -> Result<Self::Reply, Box<Reply>>;

    /// The process that it is about.
    fn target(_arguments: &Self::Arguments) -> Option<&Target> {
        None
    }

    /// Returns the effect of sending it a second time, and gives it a key if it takes one and has none.
    fn make_repeatable(_arguments: &mut Self::Arguments, _fresh_key: &mut dyn FnMut() -> String) -> Repeat {
        Repeat::Harmful
    }
}

/// The type of a verb's arguments.
macro_rules! arguments {
    () => { request::Empty };
    (Box<Spawn>) => { Box<request::Spawn> };
    ($arguments:ident) => { request::$arguments };
}

macro_rules! define_verbs {
    (engine { $($engine:tt)* } door { $($door:tt)* }) => {
        define_verbs! { $($engine)* $($door)* }
    };
    ($(
        $(#[doc = $doc:literal])*
        $verb:ident $(($($arguments:tt)+))? $word:ident $(as $method:ident)?
            -> $reply:ident $(or $other:ident)?: $result:ty $(, of $field:ident)? $(, within $time:ident)?
            $(, repeat $repeat:ident)?;
    )*) => {
        /// One type per verb, for code that is about a verb and not about one request.
        pub mod verb {
            $(
                $(#[doc = $doc])*
                #[derive(Clone, Copy, Debug)]
                pub struct $verb;
            )*
        }

        $(
            impl VerbSpec for verb::$verb {
                const WORD: &'static str = stringify!($word);
                $(const ANSWER: AnswerTime = AnswerTime::$time;)?
                type Arguments = arguments!($($($arguments)+)?);
                type Reply = $result;

                fn request(arguments: Self::Arguments) -> request::Request {
                    request::Request::$verb(arguments)
                }

                fn result(reply: Reply) -> Result<Self::Reply, Box<Reply>> {
                    match reply {
                        Reply::$reply(result) => Ok(result.into()),
                        $(Reply::$other(_) => Ok(<$result>::default()),)?
                        other => Err(Box::new(other)),
                    }
                }

                $(fn target(arguments: &Self::Arguments) -> Option<&Target> {
                    Option::from(&arguments.$field)
                })?

                $(fn make_repeatable(
                    arguments: &mut Self::Arguments,
                    fresh_key: &mut dyn FnMut() -> String,
                ) -> Repeat {
                    Repeat::$repeat(arguments, fresh_key)
                })?
            }
        )*

        #[cfg(test)]
        const WORDS_AND_REPLIES: &[(&str, &str)] = &[$((stringify!($word), stringify!($reply))),*];
    };
}
crate::verbs!(define_verbs);

/// The result of a verb.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// To `hello`.
    Welcome(Welcome),
    /// To `status`.
    Status(DaemonStatus),
    /// To `spawn` and `restart`.
    Spawned(Spawned),
    /// To `list`.
    Processes(Vec<ProcessView>),
    /// To `read`.
    Text(Text),
    /// To `search`.
    Matches(Matches),
    /// To `wait`.
    Waited(Waited),
    /// To `write`.
    Wrote(Wrote),
    /// To `attach`: live frames follow.
    Attached(Attached),
    /// To `viewers`: the viewers; to `detach`: those that were detached.
    Viewers(Vec<ViewerView>),
    /// To `follow`: log frames follow.
    Following(Following),
    /// To `subscribe`: events follow.
    Subscribed(Subscribed),
    /// To `kill` once the run is over, and to `close` once the entry is removed.
    Ended(Ended),
    /// To `tell` and `receipt`.
    Receipt(Receipt),
    /// To `messages`.
    Messages(Vec<Receipt>),
    /// To `result`.
    Turn(Turn),
    /// To `explain`.
    Explanation(Box<Explanation>),
    /// To `inbox`.
    Inbox(Vec<InboxItem>),
    /// To `hook`: the hook's answer to the vendor's program.
    HookAnswer(HookAnswer),
    /// To `agents`.
    Agents(Vec<AgentOffer>),
    /// To `check_manifest`.
    Manifest(ManifestChecked),
    /// To `sample`.
    Sample(SampleTaken),
    /// To `who_am_i`.
    Identity(Box<Identity>),
    /// To `set_timer` and `change_timer`.
    Timer(TimerView),
    /// To `timers`.
    Timers(Vec<TimerView>),
    /// To `pad`.
    Pad(PadOutcome),
    /// To `task`.
    Task(Box<TaskOutcome>),
    /// To `ask` and `attention`.
    Asked(Asked),
    /// To `ports`.
    Ports(Listening),
    /// To `grant`.
    Granted(GrantView),
    /// To `grants`.
    Grants(Vec<GrantView>),
    /// To `presets`.
    Presets(PresetList),
    /// To `trust`.
    Trust(TrustView),
    /// To `trusted`.
    Trusted(Vec<TrustView>),
    /// To `workspaces`.
    Workspaces(Vec<WorkspaceView>),
    /// To `change_workspace`: as it is now, or as it was before it went.
    Workspace(WorkspaceView),
    /// To `audit`.
    Audit(AuditPage),
    /// To verbs without a result.
    Done(Done),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name of a type as it is on the wire.
    fn snake(name: &str) -> String {
        let mut word = String::new();
        for character in name.chars() {
            if character.is_uppercase() && !word.is_empty() {
                word.push('_');
            }
            word.extend(character.to_lowercase());
        }
        word
    }

    #[test]
    fn every_verb_has_a_row_with_its_reply_on_the_page_of_the_protocol() {
        let page = include_str!("../../../docs/protocol.md");
        let rows: Vec<Vec<&str>> = page
            .lines()
            .filter(|line| line.starts_with("| `"))
            .map(|line| line.split('|').collect())
            .collect();
        for (word, reply) in WORDS_AND_REPLIES.iter().filter(|(word, _)| !["hello", "view"].contains(word)) {
            let names = |cell: Option<&&str>, name: &str| {
                cell.is_some_and(|cell| cell.contains(&format!("`{name}`")))
            };
            let row = rows.iter().find(|row| names(row.get(1), word));
            let row = row.unwrap_or_else(|| panic!("docs/protocol.md has no row for {word}"));
            assert!(names(row.get(2), &snake(reply)), "docs/protocol.md: the row of {word} lacks {reply}");
        }
    }

    #[test]
    fn the_word_of_a_verb_is_its_name_on_the_wire() {
        let request = verb::Viewers::request(request::Empty {});
        assert_eq!(serde_json::to_string(&request).unwrap(), r#"{"viewers":{}}"#);
        for (word, _) in WORDS_AND_REPLIES {
            let line = format!(r#"{{"id":1,"request":{{"{word}":3}}}}"#);
            let (_, failure) = request::parse_call(line.as_bytes()).unwrap_err();
            assert!(!failure.message.contains("unknown variant"), "{word}: {}", failure.message);
        }
    }

    #[test]
    fn a_second_reply_says_only_that_it_worked() {
        assert_eq!(verb::Kill::result(Reply::Done(Done {})), Ok(None));
        assert!(verb::Close::result(Reply::Done(Done {})).is_err());
        assert_eq!(verb::Rename::result(Reply::Done(Done {})), Ok(()));
    }
}
