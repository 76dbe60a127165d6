//! The words every process of Quarterdeck speaks to another through the door.
//!
//! Owns: ids, names, requests, replies, events, errors and the framing of bytes on the socket.
//! Refuses: I/O, clocks, tokio, decisions. Everything here is plain data that parses or does not.
//!
//! Reading order: [`id`] and [`name`] (what things are called), [`process`] (what is known of one), [`modes`] and [`styled`] (of its terminal), [`agent`] (what is
//! known of an agent beyond that), [`crew`] (timers, grants, trust, scratchpads),
//! [`request`], [`stop`] and [`reply`] (what may be asked and answered), [`event`] (what is announced),
//! [`error`] (how it fails), [`frame`] (how all of it travels), [`terminal`] (what of it may reach
//! a person's terminal and back), [`version`] (who may talk to whom).

pub mod agent;
pub mod crew;
pub mod dirs;
pub mod environment;
pub mod error;
pub mod event;
pub mod frame;
pub mod id;
pub mod modes;
pub mod name;
pub mod printable;
pub mod process;
pub mod reply;
pub mod request;
pub mod stop;
pub mod styled;
pub mod terminal;
pub mod version;

pub use agent::{AgentState, AgentView, Evidence};
pub use dirs::{Address, Dirs};
pub use error::{ErrorCode, Failure};
pub use event::{Event, Notice};
pub use frame::{Decoder, Frame, FrameError};
pub use id::{ProcessId, RunNumber};
pub use name::Name;
pub use printable::Printable;
pub use process::{Exit, ExitReason, Kind, Owner, ProcessView, Size, Status};
pub use reply::{Outcome, Reply};
pub use request::{Call, Request, Target};
pub use stop::Stop;
