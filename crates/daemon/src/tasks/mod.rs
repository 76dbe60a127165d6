//! The daemon's part in tasks: git runs here, on threads that may wait, and never on the async workers' time.
//!
//! The engine records what is to be done before a file is touched, and what came of it afterwards. In between this module
//! carries out a plan of `worktree`. A daemon that starts resumes every plan that has no end yet (`door::tasks`).
//!
//! | file | idea |
//! |---|---|
//! | `plan` | a plan as it is recorded, and how it is finished after a kill |
//! | `look` | what git says about tasks, and the list that follows from it |
//! | `forecast` | which branches would conflict |
//! | `lines` | lines of files that comments are about |
//! | `ports` | ports that nothing uses |
//! | `fetch` | fetching from a remote, in the process of the person who asks for it |
//! | `failpoint` | the steps at which a test kills the daemon |

pub(crate) mod failpoint;
pub(crate) mod fetch;
mod forecast;
pub(crate) mod lines;
pub(crate) mod look;
pub(crate) mod plan;
pub(crate) mod ports;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use engine::{
    Caller, Command, CommandAnswer, Principal, TaskCommand, TaskEnd, TaskRecord, TaskWithProcesses,
};
use proto::{Dirs, ErrorCode, Failure};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use worktree::{ForecastCache, Git, GitError, StatusCache};

use crate::engine_task::EngineHandle;
use crate::settings::Settings;
use crate::tasks::plan::Plan;

/// Everything that operations on tasks share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct TaskRunner {
    engine: EngineHandle,
    shared: Arc<Shared>,
}

struct Shared {
    dirs: Dirs,
    git: OnceLock<Git>,
    repositories: Mutex<HashMap<PathBuf, Arc<RepositoryState>>>,
    /// Changes whenever an operation has ended or cannot be finished.
    ends: watch::Sender<()>,
    /// Operations of earlier daemons that this one could not finish, with the reason.
    unfinishable: Mutex<HashMap<u64, String>>,
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
    pub(crate) fn new(engine: EngineHandle, dirs: &Dirs) -> Self {
        let shared = Shared {
            dirs: dirs.clone(),
            git: OnceLock::new(),
            repositories: Mutex::default(),
            ends: watch::Sender::default(),
            unfinishable: Mutex::default(),
        };
        Self { engine, shared: Arc::new(shared) }
    }

    /// The directory that worktrees are made in: the one of the settings, else one beside the data directory. Settings that
    /// do not read are an error: a worktree in a directory that the person did not choose is hard to find. Blocks.
    pub(crate) fn root(&self) -> Result<PathBuf, Failure> {
        let (settings, problem) = Settings::read(&self.shared.dirs);
        if let Some(problem) = problem {
            let failure = Failure::new(ErrorCode::InvalidArgs, problem);
            return Err(failure.hint(
                "correct the file, which says where worktrees are made; qd config check shows every fault",
            ));
        }
        Ok(settings.tasks.root.map_or_else(|| worktrees(&self.shared.dirs), |root| root.resolve()))
    }

    /// git, found when it is first needed. Blocks.
    pub(crate) fn git(&self) -> Result<Git, Failure> {
        if let Some(git) = self.shared.git.get() {
            return Ok(git.clone());
        }
        // A repository's filters and drivers run below git: whoever wrote them must not count as a person.
        let git = Git::find_prepared(holder::run_mark::put_on_program).map_err(|error| failure(&error))?;
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
    pub(crate) async fn ask(
        &self,
        principal: &Principal,
        command: TaskCommand,
    ) -> Result<Vec<TaskWithProcesses>, Failure> {
        match self.engine.ask(principal.clone(), Command::Task(command)).await? {
            CommandAnswer::Tasks(items) => Ok(items),
            _ => Ok(Vec::new()),
        }
    }

    /// The one task that a question is about.
    pub(crate) async fn ask_one(
        &self,
        principal: &Principal,
        command: TaskCommand,
    ) -> Result<TaskWithProcesses, Failure> {
        let found = self.ask(principal, command).await?.into_iter().next();
        found.ok_or_else(|| Failure::new(ErrorCode::Internal, "the engine answered about no task"))
    }

    /// Records that an operation is over.
    pub(crate) async fn end(&self, id: u64, end: TaskEnd) -> Result<(), Failure> {
        let ended = self.ask(&Principal::unlimited(Caller::Person), TaskCommand::End { id, end }).await;
        self.shared.ends.send_replace(());
        ended.map(drop)
    }

    /// Changes whenever an operation has ended or cannot be finished.
    pub(crate) fn ends(&self) -> watch::Receiver<()> {
        self.shared.ends.subscribe()
    }

    /// Keeps why an operation of an earlier daemon cannot be finished. The next daemon tries again.
    pub(crate) fn give_up(&self, task: &TaskRecord, failure: &Failure) {
        tracing::warn!(id = task.id, name = task.name, %failure, "an operation on a task could not be finished");
        let mut all = self.shared.unfinishable.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(task.id, failure.message.clone());
        drop(all);
        self.shared.ends.send_replace(());
    }

    /// Why the operation on this task cannot be finished, if it cannot.
    pub(crate) fn unfinishable(&self, id: u64) -> Option<String> {
        self.shared.unfinishable.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    /// Finishes what an earlier daemon began, or undoes it, and records what came of it.
    pub(crate) async fn resume(&self, task: &TaskRecord, plan: Plan) -> Result<TaskEnd, Failure> {
        let _changing = match &task.common_dir {
            Some(common_dir) => Some(self.lock(Path::new(common_dir)).await?),
            None => None,
        };
        let runner = self.clone();
        let end = blocking(move || plan.resume(&runner.git()?)).await?;
        self.end(task.id, end.clone()).await?;
        Ok(end)
    }
}

async fn permit(one: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Failure> {
    let closed = |_| Failure::new(ErrorCode::ShuttingDown, "the daemon is ending");
    Arc::clone(one).acquire_owned().await.map_err(closed)
}

/// Where worktrees are made: beside the data directory, so that no tool that cleans or backs up one meets the other.
fn worktrees(dirs: &Dirs) -> PathBuf {
    let name = dirs.data.file_name().map_or_else(Default::default, std::ffi::OsStr::to_os_string);
    let mut beside = name;
    beside.push("-worktrees");
    dirs.data.with_file_name(beside)
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
        GitError::DirectoryGone { .. } => ErrorCode::WorkdirGone,
        GitError::UnknownRevision { .. } | GitError::Missing { .. } => ErrorCode::NotFound,
        GitError::NoCommits { .. }
        | GitError::Exists { .. }
        | GitError::Dirty { .. }
        | GitError::Blocked { .. }
        | GitError::Changed { .. }
        | GitError::Conflict { .. }
        | GitError::WouldOverwrite { .. }
        | GitError::Unfinished { .. }
        | GitError::Moved { .. } => ErrorCode::Conflict,
        GitError::Locked { .. } | GitError::Busy { .. } => ErrorCode::Busy,
        GitError::TimedOut { .. } => ErrorCode::Timeout,
        GitError::NotTrusted { .. } => ErrorCode::Denied,
        GitError::GitMissing
        | GitError::GitTooOld { .. }
        | GitError::OutputTooLarge { .. }
        | GitError::Unreadable { .. }
        | GitError::Io { .. }
        | GitError::Failed { .. } => ErrorCode::Internal,
    };
    // What git prints may have several lines, and an error is one.
    let text = match error {
        GitError::InitFile(fault) => {
            let message = crate::toml_fault::in_words(&fault.message);
            worktree::InitFileError { message, ..fault.clone() }.to_string()
        }
        other => other.to_string(),
    };
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let failure = Failure::new(code, proto::Printable(&lines.join("; ")).to_string());
    match error {
        GitError::DirectoryGone { .. } => failure
            .hint("the branch is still there: `git worktree add` brings it back, qd drop removes the task"),
        GitError::Dirty { .. } => failure.hint("commit or push it, or use --force: it is saved first"),
        GitError::UnknownRevision { .. } => {
            failure.hint("name a commit, a branch or a remote's branch; qd new --fetch gets what is new")
        }
        GitError::Conflict { .. } => {
            failure.hint("nothing was landed; rebase or merge it in the task's directory, then land again")
        }
        GitError::WouldOverwrite { .. } => {
            failure.hint("nothing was landed; commit, stash or move them there, then land again")
        }
        _ => failure,
    }
}
