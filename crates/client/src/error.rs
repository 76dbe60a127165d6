//! How talking to the daemon fails, by what the caller can do about it.
//!
//! Owns the six ways. Refuses exit codes and hints for people: those are the face's.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use proto::{ErrorCode, Failure};

use crate::address;

/// Talking to the daemon failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens and nobody could be started.
    #[error("the daemon cannot be reached: {0}")]
    Unreachable(String),
    /// The daemon's socket may be there and cannot be opened from here: nothing can be said about who listens.
    #[error("the daemon's socket {} cannot be opened: {source}", .socket.display())]
    Unopened {
        /// Which.
        socket: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody listens and does not answer; what was asked may or may not happen yet.
    #[error("the daemon has not answered for {:.0} s: it is stopped or stuck", .0.as_secs_f64())]
    Silent(Duration),
    /// Somebody listens and speaks another protocol; only `status` and `shutdown` work with it.
    #[error("the daemon speaks protocol {theirs}, this qd speaks {ours}")]
    Version {
        /// What this build speaks.
        ours: u16,
        /// What the daemon speaks; 0 when it did not say.
        theirs: u16,
    },
    /// The daemon answered, and the answer is no.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The connection broke or carried nonsense; what was asked may or may not have happened.
    #[error("the connection to the daemon broke: {0}")]
    Broken(#[source] io::Error),
}

impl ClientError {
    /// Whether the system does not let this user in.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Unopened { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
    }

    /// Whether the daemon is on its way out or gone: nothing more is done there, and what was asked may not have been.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        match self {
            Self::Failed(failure) => failure.code == ErrorCode::ShuttingDown,
            Self::Broken(error) => address::has_closed(error),
            _ => false,
        }
    }

    /// Whether something could not be ended, so that the rest of the request was done and this was not.
    #[must_use]
    pub fn is_survived(&self) -> bool {
        matches!(self, Self::Failed(failure) if failure.code == ErrorCode::Survived)
    }

    /// The other side said something that is not in the protocol.
    pub(crate) fn nonsense(what: impl Into<String>) -> Self {
        Self::Broken(io::Error::new(io::ErrorKind::InvalidData, what.into()))
    }

    /// The other side is gone.
    pub(crate) fn gone() -> Self {
        Self::Broken(io::Error::new(io::ErrorKind::UnexpectedEof, "the daemon closed the connection"))
    }
}
