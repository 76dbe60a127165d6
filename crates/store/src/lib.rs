//! Durable state: the only crate that writes it. Owns the database, small atomic files and private directories.
//!
//! Refuses: to know what a record means (documents are opaque text whose version is the caller's), to wait
//! (every call is synchronous; the daemon gives the store its own thread), to overwrite a file it could not
//! read, and to leave a file that anyone but its user may read.
//!
//! | file | owns |
//! |---|---|
//! | `database` | [`Store`]: opening, checking, one transaction per call |
//! | `schema` | tables, migrations by `user_version`, what a healthy file looks like |
//! | `records` | [`Change`] and [`Contents`]: processes, mail, turns, settings, small documents |
//! | `audit` | [`AuditRow`], the chain of hashes over them, and how much of it is kept |
//! | `quarantine` | where a corrupt file goes |
//! | `log` | what the database's write-ahead log says of itself |
//! | `atomic` | [`write_file_atomically`] |
//! | `pads` | [`Pads`]: a project's notes as plain files with revisions |
//! | `private_dir` | [`ensure_private_dir`] |
//! | `run_files` | [`RunFiles`]: what is kept of a process's earlier runs, a few files each |
//!
//! What durable means here: a change that was acknowledged survives any death of the process, kill -9 included.
//! Messages, timers, grants, trust and questions survive a power cut too: their commit returns when the disk has it.
//! Of processes, turns and the audit log a power cut can undo the newest changes, as a whole and in order: their
//! part of the write-ahead log is synced with the next such commit or checkpoint (docs/design/0010). Nothing is ever
//! torn, and no file is left unreadable.

mod database;
mod schema;

mod audit;
mod records;

mod atomic;
mod error;
mod log;
mod pads;
mod private_dir;
mod quarantine;
mod run_files;

pub use atomic::write_file_atomically;
pub use audit::{AuditBound, AuditCheck, AuditReader, AuditRow};
pub use database::Store;
pub use error::StoreError;
pub use pads::{BadPadName, PAD_LIMIT, PadChange, PadError, PadName, Pads, Revision, StoredPad};
pub use private_dir::{PrivateDirError, ensure_own_dir, ensure_private_dir};
pub use records::{Change, Contents};
pub use run_files::RunFiles;
