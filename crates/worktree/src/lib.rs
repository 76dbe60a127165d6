//! Git worktrees for tasks: creates, watches, compares, lands and removes them without losing a byte. The
//! only crate that runs git.
//!
//! It is synchronous and keeps no state of its own. What must survive a crash is a plan (a *creation*,
//! *removal*, *restoration* or *landing*) that the caller stores before it runs it and finishes afterwards;
//! what may be forgotten is a cache that the caller keeps in memory.
//!
//! Read in this order:
//!
//! | file | idea |
//! |---|---|
//! | `git/` | [`Git`]: one call of git, with its environment, limits and errors |
//! | `name`, `oid` | [`BranchName`] and [`Oid`]: what may be passed to git as a name |
//! | `layout`, `repository`, `references`, `list` | where a repository is, its references and its worktrees |
//! | `discover` | [`discover()`]: projects and worktrees below some directories |
//! | `create`, `fetch` | [`Creation`]: a new worktree from any commit |
//! | `init_file`, `include` | [`InitFile`]: the files and commands that prepare a new worktree |
//! | `status`, `checkout`, `porcelain`, `fingerprint/`, `index_file` | [`StatusCache`]: what changed, without a git process if nothing did |
//! | `comparison`, `stash` | a branch compared with its base, merged in whatever way; its stashes |
//! | `losses`, `nested`, `trash`, `remove`, `restore` | [`Removal`] and [`Restoration`]: a proof, a saved copy, and the undo |
//! | `forecast` | [`Repository::forecast`]: which branches would conflict |
//! | `land` | [`Landing`]: combined in a scratch worktree, tested by the caller, then one step forward |
//! | `diff`, `patch` | a branch's changes as text, hunks and numbers |
//! | `operation_lock`, `beneath`, `delete`, `temporary`, `quote` | what several of the above need |
//!
//! It never runs a command of a repository (hooks, init commands and gates belong to the caller), never
//! touches a branch or checkout that the caller did not name, and never deletes a file that is saved nowhere.

mod error;
mod git;

mod layout;
mod list;
mod name;
mod oid;
mod references;
mod repository;

mod create;
mod discover;
mod fetch;
mod include;
mod init_file;

mod checkout;
mod comparison;
mod fingerprint;
mod index_file;
mod porcelain;
mod stash;
mod status;

mod losses;
mod nested;
mod new_directory;
mod remove;
mod restore;
mod trash;

mod diff;
mod forecast;
mod land;
mod patch;

mod beneath;
mod delete;
mod operation_lock;
mod quote;
mod temporary;

pub use checkout::{CheckoutStatus, checkout_status};
pub use comparison::{Comparison, LineCounts, Merged};
pub use create::{CreateRequest, Creation, StartPoint};
pub use diff::{
    DIFF_CONTEXT, DIFF_LIMIT, DiffExtent, DiffTarget, FileStat, RawDiff, diff_stat, parse_numstat, raw_diff,
};
pub use discover::{DiscoveredProject, IGNORED_DIRECTORIES, ProjectSearch, discover};
pub use error::{GitError, Result};
pub use fetch::FetchProgress;
pub use fingerprint::{Fingerprint, UNTRACKED_LIMIT, references_fingerprint};
pub use forecast::{ForecastCache, ForecastPair, parse_merges};
pub use git::{Git, MINIMUM_VERSION};
pub use include::{Copied, copy_included};
pub use index_file::{IndexEntry, SUBMODULE, UnreadableIndex, visit_entries};
pub use init_file::{INIT_FILE, InitCommand, InitFile, InitFileError};
pub use land::{LandMethod, LandRequest, Landing, Prepared, Resumed, TargetCheckout};
pub use layout::{Layout, key_of, shared_path};
pub use list::{ListedWorktree, parse_list};
pub use losses::{Losses, Occupant, occupants};
pub use name::BranchName;
pub use oid::Oid;
pub use patch::{DiffLine, DiffSide, FileChange, FileDiff, Hunk, parse_patch};
pub use porcelain::{ChangedFile, FileVersion, Porcelain, StatusEntry};
pub use references::{LocalBranch, References};
pub use remove::{Removal, RemovalStep, RemoveRequest, Removed};
pub use repository::Repository;
pub use restore::Restoration;
pub use stash::Stash;
pub use status::{RepositoryLook, StatusCache, StatusQuery, WorktreeStatus};
pub use trash::{GoneCheckout, TRASH, TrashEntry, trash_reference};
