//! The errors of talking to the daemon, by what the caller can do about them. Faces add exit codes and hints.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use proto::{ErrorCode, Failure};

use crate::connect_or_start;

/// Talking to the daemon failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No daemon listens, and none could be started.
    #[error("the daemon cannot be reached: {0}")]
    Unreachable(String),
    /// Somebody shut the daemon down while this client used it, and no other has started.
    #[error("the daemon was shut down")]
    ShutDown,
    /// The daemon's socket may exist but cannot be opened, so it is unknown whether a daemon listens.
    #[error("the daemon's socket {} cannot be opened: {source}", .socket.display())]
    Unopened {
        /// Which.
        socket: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A daemon listens and does not answer; the request may or may not still take effect.
    #[error("the daemon has not answered for {:.0} s: it is stopped or stuck", .0.as_secs_f64())]
    Silent(Duration),
    /// A daemon with another protocol version; only `status` and `shutdown` work with it.
    #[error("the daemon speaks protocol {theirs}, this qd speaks {ours}")]
    Version {
        /// The version of this build.
        ours: u16,
        /// The daemon's version; 0 when it did not report it.
        theirs: u16,
    },
    /// The daemon answered with an error.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The connection broke or carried invalid data; the request may or may not have taken effect.
    #[error("the connection to the daemon broke: {0}")]
    Broken(#[source] io::Error),
}

impl ClientError {
    /// Returns true if the system does not let this user connect.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Unopened { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
    }

    /// Returns true if the daemon is ending or gone: the request may not have taken effect.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        match self {
            Self::Failed(failure) => failure.code == ErrorCode::ShuttingDown,
            Self::Broken(error) => connect_or_start::has_closed(error),
            _ => false,
        }
    }

    /// Returns true if something could not be ended; the rest of the request was done.
    #[must_use]
    pub fn is_survived(&self) -> bool {
        matches!(self, Self::Failed(failure) if failure.code == ErrorCode::Survived)
    }

    /// Creates the error for a message that is not in the protocol.
    pub(crate) fn nonsense(what: impl Into<String>) -> Self {
        Self::Broken(io::Error::new(io::ErrorKind::InvalidData, what.into()))
    }

    /// Creates the error for another side that is gone.
    #[must_use]
    pub fn gone() -> Self {
        Self::Broken(io::Error::new(io::ErrorKind::UnexpectedEof, "the daemon closed the connection"))
    }
}
