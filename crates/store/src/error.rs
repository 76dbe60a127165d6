//! The errors of the store, sorted by what the caller can do about them.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};

/// Why the store did not do what the caller asked.
///
/// After every variant the store is still usable, and everything acknowledged before is still there.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk or a quota is full. Nothing of this call was stored: keep it and retry.
    #[error("no space left to write {}: free some space; Quarterdeck tries again", .path.display())]
    NoSpace {
        /// The file that could not grow.
        path: PathBuf,
    },
    /// Another program holds the database. Nothing of this call was stored: retry.
    #[error("{} is locked by another program: close that program; Quarterdeck tries again", .path.display())]
    Locked {
        /// The locked file.
        path: PathBuf,
    },
    /// The file was written by a newer version. It was not touched.
    #[error("the stored state has schema {found} but this version knows {known}: run the newer qd")]
    Newer {
        /// The schema version in the file.
        found: i64,
        /// The newest schema version this build knows.
        known: i64,
    },
    /// The content cannot be trusted. Opening the file again moves it away and starts with an empty one.
    #[error("{} is corrupt ({reason}): restart the daemon to set it aside", .path.display())]
    Corrupt {
        /// The corrupt file.
        path: PathBuf,
        /// What was wrong with it.
        reason: String,
    },
    /// The file is not ours to use. It was not touched: a person has to look.
    #[error("refusing to use {}: {reason}", .path.display())]
    Refused {
        /// The file that was refused.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// The file system failed otherwise. Retrying may help.
    #[error("cannot use {}: {source}", .path.display())]
    Io {
        /// The file concerned.
        path: PathBuf,
        /// The failure below.
        source: io::Error,
    },
    /// The database failed otherwise. Retrying the same call is not expected to help.
    #[error("cannot use {}: {source}", .path.display())]
    Sqlite {
        /// The database file.
        path: PathBuf,
        /// The failure below.
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// Classifies a file system error at `path`.
    pub(crate) fn io(path: &Path, source: io::Error) -> StoreError {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                StoreError::NoSpace { path }
            }
            _ => StoreError::Io { path, source },
        }
    }

    /// Classifies a database error at `path`.
    pub(crate) fn sqlite(path: &Path, source: rusqlite::Error) -> StoreError {
        let path = path.to_path_buf();
        match &source {
            // We never write a value of another type than its column's, or text that is not UTF-8.
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..) => StoreError::Corrupt { path, reason: source.to_string() },
            rusqlite::Error::SqliteFailure(failure, _) => match failure.code {
                ErrorCode::DiskFull => StoreError::NoSpace { path },
                // The shared memory beside the log is allocated page by page; only a full disk refuses that.
                _ if failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE => StoreError::NoSpace { path },
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Locked { path },
                ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
                    StoreError::Corrupt { path, reason: source.to_string() }
                }
                ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied => StoreError::Io { path, source: io::Error::other(source) },
                _ => StoreError::Sqlite { path, source },
            },
            _ => StoreError::Sqlite { path, source },
        }
    }

    /// Creates the error for a corrupt file.
    pub(crate) fn corrupt(path: &Path, reason: impl Into<String>) -> StoreError {
        StoreError::Corrupt { path: path.to_path_buf(), reason: reason.into() }
    }

    /// Creates the error for a file that is not ours.
    pub(crate) fn refused(path: &Path, reason: impl Into<String>) -> StoreError {
        StoreError::Refused { path: path.to_path_buf(), reason: reason.into() }
    }
}
