//! Every command, and the way from each to the code that decides it. Verbs that come as they were sent are made from the
//! rows of `proto::verbs!`; the others are what the daemon prepares from a verb, and what it asks by itself.

use proto::request::{Attach, Empty, Request, See, Target};
use proto::{Role, VerbSpec, verb};

use super::CommandResult;
use super::declaration::{Asker, Decide, Declaration, Needs};
use super::grant::{permit, permit_project};
use super::locate::locate;
use super::see::SeeOrder;
use super::whoami::caller_identity;
use crate::Engine;
use crate::input::{HookNotice, SpawnOrder, TrustSubject};
use crate::rights::Verb;
use crate::tasks::{TaskCommand, TaskDecision};

/// What a verb was sent with, in a pattern or in an expression; a verb without arguments has `Empty` ones.
macro_rules! sent {
    ($name:ident) => {
        Empty {}
    };
    ($name:ident $arguments:ident) => {
        $name
    };
}

/// The pattern for what a verb was sent with; a verb without arguments binds nothing.
macro_rules! binding {
    ($name:ident) => {
        _
    };
    ($name:ident $arguments:ident) => {
        $name
    };
}

macro_rules! define_command {
    (engine { $(
        $(#[doc = $doc:literal])*
        $verb:ident $(($arguments:ident))? $word:ident $(as $method:ident)?
            -> $reply:ident $(or $other:ident)?: $result:ty $(, of $field:ident)? $(, within $time:ident)?
            $(, repeat $repeat:ident)?;
    )* } door { $($door:tt)* }) => {
        /// What a caller may ask for. Verbs of the data plane (`read`, `write` …) come as [`Command::Locate`]: the engine
        /// checks the right and finds the run, the daemon moves the bytes.
        #[derive(Clone, Debug)]
        pub enum Command {
            $(
                $(#[doc = $doc])*
                $verb $((proto::request::$arguments))?,
            )*
            /// Starts a process.
            Spawn(Box<SpawnOrder>),
            /// What there is.
            List,
            /// What there is, and events from here on.
            Subscribe,
            /// Which run an attach means; sets the size policy too.
            Attach(Attach),
            /// Marks what a process did as seen by a person.
            See {
                /// What was asked.
                see: See,
                /// How much of the log the screen of its version shows.
                offset: Option<u64>,
            },
            /// A lifecycle event of the agent the caller lives in.
            Hook(Box<HookNotice>),
            /// Lets agents start this without asking.
            Trust(Box<TrustSubject>),
            /// Which run a data-plane verb means.
            Locate {
                /// The process.
                target: Target,
                /// What will be done to it.
                verb: Verb,
            },
            /// Whether the caller may do something that only the daemon does and that has no target.
            Permit(Verb),
            /// Whether the caller may do something to what belongs to a project: its pads, its presets, its trust.
            Project {
                /// The key of the project; none: only the role is asked about.
                project: Option<String>,
                /// The least role of a connection that may.
                role: Role,
                /// The verb that the daemon goes on with.
                word: &'static str,
            },
            /// Who the caller is, for a verb that the daemon goes on with: a refusal is one of that verb.
            CallerIdentity(&'static str),
            /// Something about tasks, with what the daemon has planned.
            Task(TaskCommand),
        }

        /// Requests that the engine decides as they were sent; the error holds any other.
        impl TryFrom<Request> for Command {
            type Error = Box<Request>;

            fn try_from(request: Request) -> Result<Self, Box<Request>> {
                match request {
                    $(
                        Request::$verb(binding!(sent $($arguments)?)) => Ok(Self::$verb $((sent!(sent $arguments)))?),
                    )*
                    other => Err(Box::new(other)),
                }
            }
        }

        impl Command {
            /// What its verb declares about itself.
            pub(crate) fn declaration(&self) -> Declaration {
                match self {
                    $(Self::$verb { .. } => Declaration::of::<verb::$verb>(),)*
                    Self::Spawn(_) => Declaration::of::<verb::Spawn>(),
                    Self::List => Declaration::of::<verb::List>(),
                    Self::Subscribe => Declaration::of::<verb::Subscribe>(),
                    Self::Attach(_) => Declaration::of::<verb::Attach>(),
                    Self::See { .. } => Declaration::of::<verb::See>(),
                    Self::Hook(_) => Declaration::of::<verb::Hook>(),
                    Self::Trust(_) => Declaration::of::<verb::Trust>(),
                    Self::Locate { verb, .. } => {
                        Declaration::internal(verb.word(), verb.role(), Needs::Over(*verb))
                    }
                    Self::Permit(verb) => {
                        Declaration::internal(verb.word(), verb.role(), Needs::AtAll(*verb))
                    }
                    Self::Project { word, role, .. } => Declaration::internal(word, *role, Needs::Checked),
                    Self::CallerIdentity(word) => Declaration::internal(word, Role::View, Needs::Checked),
                    Self::Task(command) => command.declaration(),
                }
            }

            /// The process that it is about, as the caller named it.
            pub(crate) fn target(&self) -> Option<&Target> {
                match self {
                    $(Self::$verb $((sent!(sent $arguments)))? => {
                        verb::$verb::target(&sent!(sent $($arguments)?))
                    })*
                    Self::Attach(attach) => Some(&attach.target),
                    Self::See { see, .. } => Some(&see.target),
                    Self::Locate { target, .. } => Some(target),
                    Self::Spawn(_)
                    | Self::List
                    | Self::Subscribe
                    | Self::Hook(_)
                    | Self::Trust(_)
                    | Self::Permit(_)
                    | Self::Project { .. }
                    | Self::CallerIdentity(_)
                    | Self::Task(_) => None,
                }
            }
        }

        impl Engine {
            /// What the audit log keeps of a command beside its target, and what it names in place of the target.
            pub(crate) fn audited_words(&self, command: &Command) -> (String, Option<String>) {
                match command {
                    $(Command::$verb $((sent!(sent $arguments)))? => {
                        words::<verb::$verb>(self, &sent!(sent $($arguments)?))
                    })*
                    Command::Spawn(order) => words::<verb::Spawn>(self, order),
                    Command::Trust(subject) => words::<verb::Trust>(self, subject),
                    Command::Task(command) => (command.detail(), None),
                    Command::List
                    | Command::Subscribe
                    | Command::Attach(_)
                    | Command::See { .. }
                    | Command::Hook(_)
                    | Command::Locate { .. }
                    | Command::Permit(_)
                    | Command::Project { .. }
                    | Command::CallerIdentity(_) => (String::new(), None),
                }
            }

            /// Decides a command by its verb.
            pub(super) fn decide(&mut self, asker: Asker, command: Command) -> CommandResult {
                match command {
                    $(Command::$verb $((sent!(sent $arguments)))? => {
                        verb::$verb::decide(self, asker, sent!(sent $($arguments)?))
                    })*
                    Command::Spawn(order) => verb::Spawn::decide(self, asker, *order),
                    Command::List => verb::List::decide(self, asker, Empty {}),
                    Command::Subscribe => verb::Subscribe::decide(self, asker, Empty {}),
                    Command::Attach(attach) => verb::Attach::decide(self, asker, attach),
                    Command::See { see, offset } => verb::See::decide(self, asker, SeeOrder { see, offset }),
                    Command::Hook(notice) => verb::Hook::decide(self, asker, *notice),
                    Command::Trust(subject) => verb::Trust::decide(self, asker, *subject),
                    Command::Locate { verb, .. } => locate(asker, verb, self),
                    Command::Permit(verb) => permit(verb, &self.ctx),
                    Command::Project { project, .. } => {
                        permit_project(asker.caller, project.as_deref(), &self.ctx)
                    }
                    Command::CallerIdentity(_) => caller_identity(asker.caller, self),
                    Command::Task(command) => TaskDecision::new(self, asker.caller).decide(command),
                }
            }
        }
    };
}
proto::verbs!(define_command);

fn words<V: Decide>(engine: &Engine, order: &V::Order) -> (String, Option<String>) {
    (V::detail(engine, order), V::about(engine, order))
}
