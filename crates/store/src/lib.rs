//! Durable state: the database, small atomic files and private directories. No other crate writes state.
//!
//! The store does not interpret records: documents are opaque text whose version is the caller's. Every call
//! is synchronous; the daemon runs the store on a thread of its own. It never overwrites a file that it could
//! not read, and leaves no file that another user may read.
//!
//! | file | what it has |
//! |---|---|
//! | `database` | [`Store`]: opening, checking, one transaction per call |
//! | `schema` | tables, migrations by `user_version`, what a healthy file looks like |
//! | `records` | [`Change`] and [`Contents`]: all records in one table of documents |
//! | `old_tables` | the tables of older schemas, for migrations |
//! | `audit` | [`AuditRow`], the chain of hashes over them, and how much of it is kept |
//! | `quarantine` | where a corrupt file goes |
//! | `write_ahead_log` | finds lost commits in the database's write-ahead log |
//! | `atomic` | [`write_file_atomically`] |
//! | `pads` | [`Pads`]: a project's notes as plain files with revisions |
//! | `private_dir` | [`ensure_private_dir`] |
//! | `run_files` | [`RunFiles`]: the output of a process's earlier runs, a few files each |
//!
//! Durability: a change that was acknowledged survives any death of the process, kill -9 included. Messages,
//! timers, grants, trust, questions and the removal of a process survive a power cut too: their commit returns when the
//! disk has it. A power cut can undo the newest other changes of processes, turns and the audit log, as a whole and in order:
//! their part of the write-ahead log is synced with the next such commit or checkpoint (docs/design/0010).
//! Nothing is ever torn, and no file is left unreadable.

mod database;
mod schema;

mod audit;
mod records;

mod atomic;
mod error;
mod old_tables;
mod pads;
mod private_dir;
mod quarantine;
mod run_files;
mod write_ahead_log;

pub use atomic::write_file_atomically;
pub use audit::{AuditBound, AuditCheck, AuditReader, AuditRow};
pub use database::Store;
pub use error::StoreError;
pub use pads::{BadPadName, PAD_LIMIT, PadChange, PadError, PadName, Pads, Revision, StoredPad};
pub use private_dir::{PrivateDirError, ensure_own_dir, ensure_private_dir};
pub use records::{Change, Contents, StoredDocument, StoredTurn};
pub use run_files::RunFiles;
