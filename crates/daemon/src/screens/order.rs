//! The orders to a worker, as a closed list, and their data. Results come as facts and oneshots.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use agents::Detector;
use engine::effect::Guard;
use engine::input::TypingOutcome;
use engine::{Principal, RunFact, RunKey, ViewerId, WaitId};
use holder::{HolderHello, Link};
use proto::{Exit, Owner, Size};
use term::{Limits, PastePiece, Screen};
use tokio::sync::oneshot;

use super::handle::{HelloParts, ScreenHandle};
use super::hosting::WorkerSlot;
use super::observe::ObservedAgent;
use super::typing::TypeJob;
use super::view_options::ViewOptions;
use crate::door::ViewerPermit;
use crate::line_pattern::LinePattern;

/// One order to the worker that hosts a run.
pub(crate) enum Order {
    /// Take this run.
    Host(Box<NewRun>),
    /// Set the terminal's size; storms are coalesced.
    Resize(RunKey, Size),
    /// Signal the foreground.
    Signal(RunKey, i32),
    /// Send only the child this signal, so that it ends.
    EndChild(RunKey, i32),
    /// End the tree: ask it with this signal, and kill it when the grace is over.
    Kill { run: RunKey, signal: i32, grace_ms: u32 },
    /// End the holder, which did not answer, and its tree.
    Sweep(RunKey),
    /// The holder may exit.
    Release { run: RunKey, end_tree: bool, reason: &'static str },
    /// Report when this pattern appears.
    Watch { run: RunKey, wait: WaitId, pattern: LinePattern, since: Option<u64> },
    /// No longer.
    Unwatch(RunKey, WaitId),
    /// The run is over; viewers of one that is restarted wait for its release.
    ReportExit(RunKey, Ended),
    /// Detach this viewer.
    LetGo(RunKey, ViewerId),
    /// Take this viewer.
    Attach(Box<NewViewer>),
    /// Type this.
    Write(RunKey, WriteJob),
    /// Read this run's screen by these rules from now on.
    Observe(RunKey, Box<Detector>),
    /// Type this for a program, if the screen allows it.
    Type(RunKey, Box<TypeJob>),
    /// Alert every attached person.
    Alert { sound: Arc<[u8]> },
    /// The daemon ends: reply when every released holder has exited.
    Finish(oneshot::Sender<()>),
}

impl Order {
    /// Returns the hosted run that it is about, if any.
    pub(super) fn run(&self) -> Option<RunKey> {
        match self {
            Self::Resize(run, _)
            | Self::Signal(run, _)
            | Self::EndChild(run, _)
            | Self::Kill { run, .. }
            | Self::Sweep(run)
            | Self::Release { run, .. }
            | Self::Watch { run, .. }
            | Self::Unwatch(run, _)
            | Self::ReportExit(run, _)
            | Self::LetGo(run, _)
            | Self::Write(run, _)
            | Self::Observe(run, _)
            | Self::Type(run, _) => Some(*run),
            Self::Attach(viewer) => Some(viewer.run),
            Self::Host(_) | Self::Alert { .. } | Self::Finish(_) => None,
        }
    }

    /// Returns the fact that the engine waits for when this cannot be done. Dropping a job's sender is its
    /// reply.
    pub(super) fn owed_fact(&self) -> Option<(RunKey, RunFact)> {
        match self {
            Self::Watch { run, wait, .. } => Some((*run, RunFact::Unmatched { wait: *wait })),
            Self::Attach(new) => Some((new.run, RunFact::ViewerLeft { viewer: new.viewer })),
            Self::Host(_)
            | Self::Resize(..)
            | Self::Signal(..)
            | Self::EndChild(..)
            | Self::Kill { .. }
            | Self::Sweep(_)
            | Self::Release { .. }
            | Self::Unwatch(..)
            | Self::ReportExit(..)
            | Self::LetGo(..)
            | Self::Write(..)
            | Self::Observe(..)
            | Self::Type(..)
            | Self::Alert { .. }
            | Self::Finish(_) => None,
        }
    }
}

/// How a run ended, and whether another follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) exit: Exit,
    /// The log's end.
    pub(crate) final_offset: u64,
    /// Another run follows.
    pub(crate) restarts: bool,
    /// It restarts by itself after this many milliseconds.
    pub(crate) restarts_in_ms: Option<u64>,
}

/// A holder that has answered: its greeting, and the link over which it came.
pub(crate) struct AnsweredHolder {
    pub(crate) link: Link,
    /// Where it listens.
    pub(crate) socket: PathBuf,
    pub(crate) hello: HolderHello,
}

/// A run to be hosted.
pub(crate) struct NewRun {
    pub(crate) handle: Arc<ScreenHandle>,
    pub(crate) link: Link,
    pub(crate) wake: OwnedFd,
    /// True if this daemon started it; an earlier daemon has announced an adopted one.
    pub(crate) is_new: bool,
    /// How the child ended, when it already has.
    pub(crate) exited: Option<holder::RunExit>,
    pub(crate) last_input_id: u64,
    /// The screen of an earlier daemon, and its offset.
    pub(crate) checkpoint: Option<(u64, Vec<u8>)>,
    /// The child's start time, as the kernel counts; guards against recycled pids.
    pub(crate) child_start_time: u64,
    /// The mark its processes carry.
    pub(crate) token: String,
    /// What reading its screen needs, if it is an agent's.
    pub(crate) agent: Option<ObservedAgent>,
    /// The engine's first input about it, if it was adopted while the door was open.
    pub(crate) adopted: Option<Box<engine::Input>>,
    /// Where it is watched already, before it was announced.
    pub(super) place: Option<WorkerSlot>,
    /// The wire version of its holder.
    pub(crate) wire_version: u16,
    /// Where its holder listens.
    pub(crate) socket: PathBuf,
}

impl NewRun {
    /// Creates a run from a holder's greeting. Its screen is blank until its worker has restored it: a
    /// hundred of them are restored while the door is already open.
    pub(crate) fn new(
        run: RunKey,
        token: String,
        holder: AnsweredHolder,
        limits: Limits,
        is_new: bool,
    ) -> Self {
        let AnsweredHolder { link, socket, hello } = holder;
        let size = term::GridSize::clamped(hello.fields.cols.into(), hello.fields.rows.into());
        let screen = Screen::new(size, limits);
        let ring = Arc::new(hello.ring);
        let parts = HelloParts {
            ring,
            holder_pid: hello.fields.holder_pid,
            child_pid: hello.fields.child_pid,
            master: hello.master,
            limits,
        };
        Self {
            handle: Arc::new(ScreenHandle::new(run, screen, parts)),
            link,
            wake: hello.wake,
            is_new,
            exited: hello.fields.exited,
            last_input_id: hello.fields.last_input_id,
            checkpoint: hello.fields.checkpoint.map(|(offset, _)| (offset, hello.checkpoint)),
            child_start_time: hello.fields.child_start_time,
            token,
            agent: None,
            adopted: None,
            place: None,
            wire_version: hello.fields.wire_version,
            socket,
        }
    }
}

/// A connection that becomes a viewer.
pub(crate) struct NewViewer {
    pub(crate) run: RunKey,
    /// What is left of the run when its worker no longer has it.
    pub(crate) handle: Arc<ScreenHandle>,
    pub(crate) viewer: ViewerId,
    pub(crate) socket: UnixStream,
    /// Bytes that the door had read and not parsed yet.
    pub(crate) unread: Vec<u8>,
    /// Bytes to send first: the reply to `attach`.
    pub(crate) greeting: Vec<u8>,
    pub(crate) stream: u32,
    pub(crate) size: Size,
    pub(crate) read_only: bool,
    pub(crate) take_over: bool,
    /// On whose behalf it watches.
    pub(crate) principal: Principal,
    pub(crate) options: ViewOptions,
    /// Freed when the viewer is gone.
    pub(crate) permit: ViewerPermit,
}

/// What is typed.
pub(crate) enum Text {
    /// These bytes.
    Bytes(Vec<u8>),
    /// A paste, or a piece of one: in brackets if the child accepts them when it is typed.
    Paste(PastePiece),
}

impl Text {
    /// Returns the bytes for a child that does or does not accept brackets.
    pub(crate) fn encode(&self, bracketed: bool) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Paste(piece) => piece.encode(bracketed),
        }
    }

    /// Returns the same for a paste whose brackets were closed for something that could not wait.
    pub(crate) fn encode_again(&self, bracketed: bool) -> Vec<u8> {
        match self {
            Self::Paste(piece) if piece.length() == 0 => Vec::new(),
            Self::Paste(piece) => piece.beginning_again().encode(bracketed),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }

    /// Bytes of the text itself.
    pub(crate) fn length(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Paste(piece) => piece.length(),
        }
    }

    /// Returns the most bytes that it can become.
    pub(crate) fn most(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Paste(piece) => piece.most(),
        }
    }
}

/// Input for the child from a program or a person's command.
pub(crate) struct WriteJob {
    pub(crate) text: Text,
    /// Enter follows: if it is long, it is held while the child reads whole lines, because a program that is
    /// still starting drops it.
    pub(crate) is_prompt: bool,
    pub(crate) deadline: Instant,
    pub(crate) by: Owner,
    /// For programs: the conditions.
    pub(crate) guard: Option<Guard>,
    /// The key under which the holder counts its bytes.
    pub(crate) key: Option<JobKey>,
    pub(crate) reply: oneshot::Sender<WriteOutcome>,
}

/// The key under which a holder counts the bytes of a job, so that the next daemon can continue it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobKey {
    pub(crate) key: Vec<u8>,
    /// The end of the log before the job. The holder returns it to the daemon that continues the job.
    pub(crate) offset: u64,
    /// An earlier daemon may have begun the job, so this daemon asks the holder before it types.
    pub(crate) is_repeated: bool,
}

/// What became of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriteOutcome {
    /// Bytes that reached the terminal.
    pub(crate) written: u64,
    /// The total number of bytes.
    pub(crate) of: u64,
    /// The child never left canonical mode.
    pub(crate) was_held: bool,
    /// Nothing was typed, because of this.
    pub(crate) obstacle: Option<TypingOutcome>,
    /// The note of the earlier daemon that began the job.
    pub(crate) begun: Option<Begun>,
}

/// The note that an earlier daemon left with the holder about a job it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Begun {
    /// The end of the log before the job.
    pub(crate) offset: u64,
    /// The earlier daemon handed the whole text to the holder.
    pub(crate) is_whole: bool,
}
