//! The daemon's part in tasks: git runs here, on threads that may wait, and never on the async workers' time.
//!
//! The engine records what is to be done before a file is touched, and what came of it afterwards. In between this module
//! carries out a plan of `worktree`. A daemon that starts resumes every plan that has no end yet (`resume`).
//!
//! | file | idea |
//! |---|---|
//! | `plan` | a plan as it is recorded, and how it is finished after a kill |
//! | `look` | what git says about tasks, and the list that follows from it |
//! | `lines` | lines of files that comments are about |
//! | `ports` | ports that nothing uses |
//! | `failpoint` | the steps at which a test kills the daemon |

pub(crate) mod failpoint;
pub(crate) mod lines;
pub(crate) mod look;
pub(crate) mod plan;
pub(crate) mod ports;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use engine::{Caller, Command, CommandAnswer, TaskCommand, TaskEnd, TaskRecord, TaskSight};
use proto::{Dirs, ErrorCode, Failure};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use worktree::{ForecastCache, Git, GitError, StatusCache};

use crate::engine_task::EngineHandle;
use crate::tasks::plan::Plan;

/// Everything that operations on tasks share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct TaskRunner {
    engine: EngineHandle,
    shared: Arc<Shared>,
}

struct Shared {
    /// Where worktrees are made.
    root: PathBuf,
    git: OnceLock<Git>,
    repositories: Mutex<HashMap<PathBuf, Arc<RepositoryState>>>,
}

/// What the daemon keeps of one repository.
pub(crate) struct RepositoryState {
    /// One permit: the operation that changes the repository has it.
    changing: Arc<Semaphore>,
    /// One permit: the landing that goes on has it; the others wait in the order in which they came.
    landing: Arc<Semaphore>,
    /// What was read of it. A look waits for another look at the same repository.
    caches: Mutex<Caches>,
}

impl Default for RepositoryState {
    fn default() -> Self {
        let one = || Arc::new(Semaphore::new(1));
        Self { changing: one(), landing: one(), caches: Mutex::default() }
    }
}

#[derive(Default)]
struct Caches {
    status: StatusCache,
    forecast: ForecastCache,
}

impl TaskRunner {
    pub(crate) fn new(engine: EngineHandle, places: &Dirs) -> Self {
        let shared = Shared { root: worktrees(places), git: OnceLock::new(), repositories: Mutex::default() };
        Self { engine, shared: Arc::new(shared) }
    }

    /// The directory that worktrees are made in.
    pub(crate) fn root(&self) -> &Path {
        &self.shared.root
    }

    /// git, found when it is first needed. Blocks.
    pub(crate) fn git(&self) -> Result<Git, Failure> {
        if let Some(git) = self.shared.git.get() {
            return Ok(git.clone());
        }
        let git = Git::find().map_err(|error| failure(&error))?;
        Ok(self.shared.git.get_or_init(|| git).clone())
    }

    pub(crate) fn repository(&self, common_dir: &Path) -> Arc<RepositoryState> {
        let mut all = self.shared.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(common_dir.to_owned()).or_default())
    }

    /// Waits until no other operation changes the repository.
    pub(crate) async fn lock(&self, common_dir: &Path) -> Result<OwnedSemaphorePermit, Failure> {
        permit(&self.repository(common_dir).changing).await
    }

    /// Waits until no other landing goes on in the repository.
    pub(crate) async fn lock_landing(&self, common_dir: &Path) -> Result<OwnedSemaphorePermit, Failure> {
        permit(&self.repository(common_dir).landing).await
    }

    /// Asks the engine about tasks.
    pub(crate) async fn ask(&self, caller: Caller, command: TaskCommand) -> Result<Vec<TaskSight>, Failure> {
        match self.engine.ask(caller, Command::Task(command)).await? {
            CommandAnswer::Tasks(sights) => Ok(sights),
            _ => Ok(Vec::new()),
        }
    }

    /// The one task that a question is about.
    pub(crate) async fn ask_one(&self, caller: Caller, command: TaskCommand) -> Result<TaskSight, Failure> {
        let found = self.ask(caller, command).await?.into_iter().next();
        found.ok_or_else(|| Failure::new(ErrorCode::Internal, "the engine answered about no task"))
    }

    /// Records that an operation is over.
    pub(crate) async fn end(&self, id: u64, end: TaskEnd) -> Result<(), Failure> {
        self.ask(Caller::Human, TaskCommand::End { id, end }).await.map(drop)
    }

    /// Finishes what an earlier daemon began. What cannot be finished stays, and the next daemon tries again.
    pub(crate) fn resume_all(&self, unfinished: Vec<TaskRecord>) {
        for task in unfinished {
            let runner = self.clone();
            drop(tokio::spawn(async move {
                let (id, name) = (task.id, task.name.clone());
                if let Err(failure) = runner.resume(task).await {
                    tracing::warn!(id, name, %failure, "an operation on a task could not be finished");
                }
            }));
        }
    }

    async fn resume(&self, task: TaskRecord) -> Result<(), Failure> {
        let Some(operation) = &task.operation else { return Ok(()) };
        let plan = Plan::read(&operation.plan)?;
        let _changing = match &task.common_dir {
            Some(common_dir) => Some(self.lock(Path::new(common_dir)).await?),
            None => None,
        };
        let runner = self.clone();
        let end = blocking(move || plan.resume(&runner.git()?)).await?;
        self.end(task.id, end).await
    }
}

async fn permit(one: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Failure> {
    let closed = |_| Failure::new(ErrorCode::ShuttingDown, "the daemon is ending");
    Arc::clone(one).acquire_owned().await.map_err(closed)
}

/// Where worktrees are made: beside the data directory, so that no tool that cleans or backs up one meets the other.
fn worktrees(places: &Dirs) -> PathBuf {
    let name = places.data.file_name().map_or_else(Default::default, std::ffi::OsStr::to_os_string);
    let mut beside = name;
    beside.push("-worktrees");
    places.data.with_file_name(beside)
}

/// Runs what waits for git or for the disk on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = crate::threads::run(work).await;
    done.map_err(|error| Failure::new(ErrorCode::Internal, format!("git was not run: {error}")))?
}

/// What a client is told about an error of git.
pub(crate) fn failure(error: &GitError) -> Failure {
    let code = match error {
        GitError::NotARepository { .. } | GitError::BadName { .. } | GitError::InitFile(_) => {
            ErrorCode::InvalidArgs
        }
        GitError::UnknownRevision { .. } | GitError::Missing { .. } => ErrorCode::NotFound,
        GitError::NoCommits { .. }
        | GitError::Exists { .. }
        | GitError::Dirty { .. }
        | GitError::Blocked { .. }
        | GitError::Changed { .. }
        | GitError::Conflict { .. }
        | GitError::Moved { .. } => ErrorCode::Conflict,
        GitError::Locked { .. } | GitError::Busy { .. } => ErrorCode::Busy,
        GitError::TimedOut { .. } => ErrorCode::Timeout,
        GitError::NotTrusted { .. } => ErrorCode::Denied,
        GitError::GitMissing
        | GitError::GitTooOld { .. }
        | GitError::Cancelled
        | GitError::OutputTooLarge { .. }
        | GitError::Unreadable { .. }
        | GitError::Io { .. }
        | GitError::Failed { .. } => ErrorCode::Internal,
    };
    let failure = Failure::new(code, proto::Printable(&error.to_string()).to_string());
    match error {
        GitError::Dirty { .. } => failure.hint("commit or push it, or use --force: it is saved first"),
        GitError::Conflict { .. } => failure.hint("resolve it in the task's directory and commit"),
        _ => failure,
    }
}
