//! The protocol between the daemon and its clients: ids, names, requests, replies, events, errors and the
//! framing of the socket. Everything here is plain data; there is no I/O, no clock and no decision.
//!
//! Reading order: [`id`] and [`name`] (what things are called), [`process`] (one process), [`modes`] and
//! [`styled`] (its terminal), [`ports`] (where it listens), [`agent`] (an agent), [`context_use`] (how full its
//! context is), [`observed`] (what its program shows), [`timers`], [`pads`] (scratchpads), [`rights`] (the
//! caller, grants, budgets), [`trust`] and [`presets`] (what agents may start), [`project`] and [`workspace`]
//! (where work belongs), [`audit`] (the audit log), [`task`] (units of work), [`mod@verbs`] (every verb, declared
//! once), [`repeat`] (which may be sent again), [`request`], [`stop`] and [`reply`] (requests and their replies),
//! [`event`] (events), [`error`] (errors), [`frame`] (the bytes on the socket), [`terminal`] (what may reach a
//! person's terminal and back), [`printable`] (which characters reach it as they are), [`long_text`] (what is said of a text that is cut),
//! [`nearest`] (the word that was probably meant), [`limit`] (what a
//! connection may do at most), [`inherited_variables`] (what a child gets of its starter's environment), [`dirs`]
//! and [`lock_table`] (where a daemon is, and which process holds its locks), [`version`] (compatibility).

pub mod agent;
pub mod audit;
pub mod context_use;
pub mod dirs;
pub mod error;
pub mod event;
pub mod frame;
pub mod id;
pub mod inherited_variables;
pub mod limit;
pub mod lock_table;
pub mod long_text;
pub mod modes;
pub mod name;
pub mod nearest;
pub mod observed;
pub mod pads;
pub mod ports;
pub mod presets;
pub mod printable;
pub mod process;
pub mod project;
pub mod repeat;
pub mod reply;
pub mod request;
pub mod rights;
pub mod stop;
pub mod styled;
pub mod task;
pub mod terminal;
pub mod timers;
pub mod trust;
pub mod verbs;
pub mod version;
pub mod workspace;

pub use agent::{AgentState, AgentView, Evidence};
pub use dirs::{Address, Dirs};
pub use error::{ErrorCode, Failure};
pub use event::{Event, Notice};
pub use frame::{Decoder, Frame, FrameError};
pub use id::{ProcessId, RunNumber};
pub use limit::{Limit, Role};
pub use name::Name;
pub use nearest::nearest_word;
pub use printable::{Printable, ShellWord};
pub use process::{Exit, ExitReason, Kind, Owner, ProcessView, Size, Status};
pub use repeat::Repeat;
pub use reply::Outcome;
pub use request::{Call, Request, Target};
pub use stop::Stop;
pub use verbs::{Reply, VerbSpec, verb};
