//! What is known of tasks: named units of work, each a directory with the runs that worked in it.

mod review;

use serde::{Deserialize, Serialize};

pub use review::{ReviewComment, ReviewSide, ReviewStatus, TaskReview};

use crate::project::Project;
use crate::{AgentState, Exit, Kind, Name, ProcessId, RunNumber, Status};

/// Where a task stands. It is derived at each look from its processes and from git, and never stored. The order of the
/// variants is the order of the list: what needs a person comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// An agent of it shows a dialog or has failed.
    Blocked,
    /// An agent of it asks something.
    Waiting,
    /// A turn or a run of it ended and no person has seen it.
    Done,
    /// Its branch would conflict with another task or with its base.
    Conflict,
    /// Its directory is not there.
    Gone,
    /// Its branch is not there.
    Orphan,
    /// Something works in it.
    Working,
    /// Nothing works in it.
    Idle,
    /// Its work is in its base.
    Merged,
    /// Nothing has happened in it for 30 days.
    Stale,
}

impl TaskStatus {
    /// Every status, in the order of the list.
    pub const ALL: [Self; 10] = [
        Self::Blocked,
        Self::Waiting,
        Self::Done,
        Self::Conflict,
        Self::Gone,
        Self::Orphan,
        Self::Working,
        Self::Idle,
        Self::Merged,
        Self::Stale,
    ];

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Conflict => "conflict",
            Self::Gone => "gone",
            Self::Orphan => "orphan",
            Self::Working => "working",
            Self::Idle => "idle",
            Self::Merged => "merged",
            Self::Stale => "stale",
        }
    }

    /// True if it waits for a person.
    #[must_use]
    pub fn needs_person(self) -> bool {
        self <= Self::Orphan
    }
}

/// What is being done to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskOperationKind {
    /// Its worktree is being made.
    Create,
    /// Its worktree is being saved and removed.
    Drop,
    /// Its worktree is being brought back.
    Restore,
    /// Its branch is being landed.
    Land,
    /// The commands of the init file run in its new worktree.
    Prepare,
}

impl TaskOperationKind {
    /// What goes on, for a sentence.
    #[must_use]
    pub fn doing(self) -> &'static str {
        match self {
            Self::Create => "being created",
            Self::Drop => "being dropped",
            Self::Restore => "being restored",
            Self::Land => "being landed",
            Self::Prepare => "being prepared",
        }
    }
}

/// One run that worked in a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRun {
    /// The process.
    pub process: ProcessId,
    /// What it was called.
    pub name: Name,
    /// What it was.
    pub kind: Kind,
    /// Which run of it.
    pub run: RunNumber,
    /// The vendor's own session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// When it started, in milliseconds since the epoch; 0 before it has.
    pub started_at: u64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// The beginning of what the agent was asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Turns of the agent, up to the newest.
    #[serde(default)]
    pub turns: u64,
}

/// Something that happened to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEvent {
    /// When, in milliseconds since the epoch.
    pub at: u64,
    /// What.
    pub what: TaskEventKind,
    /// The key of the request that it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// What can happen to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskEventKind {
    /// It was created.
    Created,
    /// Its worktree was made.
    WorktreeMade,
    /// A run began in it.
    RunStarted {
        /// The process.
        process: ProcessId,
        /// Which run of it.
        run: RunNumber,
    },
    /// A run of it ended.
    RunEnded {
        /// The process.
        process: ProcessId,
        /// Which run of it.
        run: RunNumber,
    },
    /// Its work landed.
    Landed {
        /// The branch that moved.
        into: String,
        /// The commit that it moved to.
        commit: String,
        /// What became of the checkout of that branch; none in records of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkout: Option<TaskCheckout>,
    },
    /// The commands of the init file have run in its worktree.
    Prepared {
        /// Which of them failed, and why; the ones after it were not run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
    },
    /// What its branch would conflict with has changed.
    ConflictsChanged {
        /// All that it would conflict with now.
        conflicts: Vec<TaskConflict>,
    },
    /// Its work did not land.
    LandingFailed {
        /// Why.
        why: String,
        /// The commit of its branch that was tried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// It was dropped.
    Dropped {
        /// The reference that holds its files; none if there were none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trash: Option<String>,
    },
    /// It was brought back.
    Restored,
}

/// A process of a task, as far as a list of tasks shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskProcess {
    /// Its id.
    pub id: ProcessId,
    /// Its name.
    pub name: Name,
    /// Its kind.
    pub kind: Kind,
    /// Its status.
    pub status: Status,
    /// Which agent it is, by the manifest that it was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What an agent is doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<AgentState>,
    /// How full an agent's context is, in per cent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u8>,
}

/// What git says about a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskGit {
    /// The commit of the branch; none if the branch is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Files that differ between commit and index.
    pub staged: u64,
    /// Tracked files that differ between index and directory.
    pub unstaged: u64,
    /// Files that git does not know and does not ignore.
    pub untracked: u64,
    /// Files with conflicts.
    pub conflicted: u64,
    /// Stashes that were made on the branch.
    #[serde(default)]
    pub stashed: u64,
    /// Processes whose current directory is inside the task's, as far as the daemon's user sees them.
    #[serde(default)]
    pub in_use: u64,
    /// Commits that the base lacks.
    pub ahead: u64,
    /// Commits of the base that the branch lacks.
    pub behind: u64,
    /// Lines added since the base.
    pub added: u64,
    /// Lines removed since the base.
    pub removed: u64,
    /// The work is in the base, by whatever kind of merge.
    pub merged: bool,
    /// The directory is there and is a checkout.
    pub directory: bool,
}

/// Two sides that would conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskConflict {
    /// The other task, or the base branch.
    pub with: String,
    /// The other side is the base, not a task.
    #[serde(default)]
    pub is_base: bool,
    /// The files that a person would have to look at.
    pub files: Vec<String>,
}

/// Two tasks, or a task and its base, that would conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskForecast {
    /// The task.
    pub task: String,
    /// What it conflicts with.
    pub conflict: TaskConflict,
}

/// The branch of a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskWorktree {
    /// Its branch.
    pub branch: String,
    /// The branch that it began from and lands on.
    pub base: String,
}

/// One row of `qd tasks --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskView {
    /// Its name.
    pub name: String,
    /// The access scope it belongs to.
    pub workspace: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// Since when it has waited for what its status says, in milliseconds since the epoch.
    pub since: u64,
    /// The project it belongs to.
    pub project: Project,
    /// Where its work is.
    pub directory: String,
    /// The worktree that Quarterdeck made and may remove; none for a directory that was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<TaskWorktree>,
    /// The agent that `run` starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What its agent was asked at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// When it was created, in milliseconds since the epoch.
    pub created_at: u64,
    /// When something last happened in it.
    pub active_at: u64,
    /// Its processes that are there now.
    pub processes: Vec<TaskProcess>,
    /// The runs that worked in it, oldest first.
    pub runs: Vec<TaskRun>,
    /// What git says about it; none outside of a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<TaskGit>,
    /// The ports that are its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// What it would conflict with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<TaskConflict>,
    /// What is being done to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<TaskOperationKind>,
    /// Why its worktree is not prepared, its newest landing did not succeed or its agent did not start, with the next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Comments of its review that are not resolved.
    #[serde(default)]
    pub comments: u32,
}

/// A task that was just created, and how its worktree was prepared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCreated {
    /// The task.
    pub task: TaskView,
    /// Files that were copied from the main checkout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copied: Vec<String>,
    /// Files that were passed over, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// Which of the commands that prepare the worktree failed, and why. The commands after it were not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// One file of `diff --stat`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFileStat {
    /// Its path.
    pub path: String,
    /// Its path before, if it was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
    /// Lines added; none for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// Lines removed; none for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
}

/// The changes of a task since its base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDiff {
    /// The task.
    pub name: String,
    /// The commit that it is compared with.
    pub base: String,
    /// The files with their numbers.
    pub files: Vec<TaskFileStat>,
    /// The text of the changes; empty when only numbers were asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// There was more text than the limit.
    #[serde(default)]
    pub is_truncated: bool,
}

/// What became of a landing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLanded {
    /// The task.
    pub name: String,
    /// The branch that moved.
    pub into: String,
    /// The commit that it moved to.
    pub commit: String,
    /// What became of the checkout of that branch.
    pub checkout: TaskCheckout,
}

/// What became of the checkout of the branch that moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskCheckout {
    /// The branch is checked out nowhere.
    Absent,
    /// Its files are those of the new commit.
    Updated {
        /// Where.
        path: String,
        /// The reference that holds what was there, if some files were in neither the old nor the new state after a kill.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        saved: Option<String>,
    },
    /// It had changes of its own and was left alone.
    Left {
        /// Where.
        path: String,
    },
}

/// What became of a drop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDropped {
    /// The task.
    pub name: String,
    /// The reference that holds its files; none for a directory that is not ours, or without a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trash: Option<String>,
    /// What could not be deleted, and why. It is saved all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// A dropped task that can be brought back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRestorable {
    /// Its name.
    pub name: String,
    /// The access scope it belongs to.
    pub workspace: String,
    /// Where its work was.
    pub directory: String,
    /// Its branch, if Quarterdeck made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// When it was dropped, wall time.
    pub dropped_at: u64,
    /// Until when it is kept, wall time.
    pub kept_until: u64,
    /// A task that lives has the name now, so this one cannot come back before that one is dropped.
    #[serde(default)]
    pub is_name_taken: bool,
}

/// What became of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCollected {
    /// Tasks that were dropped, or would be.
    pub dropped: Vec<String>,
    /// Finished tasks that stay.
    pub kept: Vec<TaskKept>,
    /// Saved worktrees that were forgotten, or would be.
    pub forgotten: Vec<String>,
}

/// A finished task that stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskKept {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
}

/// A task that was imported, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskImported {
    /// Its name.
    pub name: String,
    /// Its directory.
    pub directory: String,
    /// Its branch, if Quarterdeck may remove its worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Why Quarterdeck will not remove a directory that the other program made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub borrowed_because: Option<String>,
}

/// What a request about tasks gives back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskOutcome {
    /// All tasks the caller may see, what needs a person first.
    Listed(Vec<TaskView>),
    /// One task.
    Task(Box<TaskView>),
    /// It was created.
    Created(Box<TaskCreated>),
    /// Its changes.
    Diff(TaskDiff),
    /// Its review.
    Review(TaskReview),
    /// Which tasks would conflict.
    Forecast(Vec<TaskForecast>),
    /// It landed.
    Landed(TaskLanded),
    /// It was dropped.
    Dropped(TaskDropped),
    /// Dropped tasks that can be brought back, the newest drop first.
    Restorable(Vec<TaskRestorable>),
    /// What is finished was dropped.
    Collected(TaskCollected),
    /// It was imported.
    Imported(TaskImported),
}

/// Longest name of a task, in bytes: it leaves room for what git puts around the name of a branch in a file name.
const MAX_NAME: usize = 150;

/// Returns the rule that a task's name breaks, if it breaks one. A task may have a branch of its name, so the rules are those
/// of git for branches (`git check-ref-format --branch`), also for a task in a directory without git: its name becomes a part
/// of commands, paths and messages all the same.
#[must_use]
pub fn broken_name_rule(name: &str) -> Option<&'static str> {
    let is_forbidden = |character: char| character.is_control() || " ~^:?*[\\".contains(character);
    let is_bad_part = |part: &str| part.starts_with('.') || part.ends_with(".lock");
    let rules: [(bool, &'static str); 10] = [
        (name.is_empty(), "it is empty"),
        (name.len() > MAX_NAME, "it is longer than 150 bytes"),
        (name.starts_with('-'), "it begins with a dash"),
        (name == "@" || name == "HEAD" || name.starts_with("refs/"), "git gives this name another meaning"),
        (name.contains(is_forbidden), "it has a space, a control character or one of ~ ^ : ? * [ \\"),
        (name.contains(".."), "it has two dots in a row"),
        (name.contains("@{"), "it has `@{`"),
        (name.ends_with('.'), "it ends with a dot"),
        (name.split('/').any(str::is_empty), "it begins or ends with a slash, or has two in a row"),
        (name.split('/').any(is_bad_part), "a part of it begins with a dot or ends with `.lock`"),
    ];
    rules.iter().find(|(is_broken, _)| *is_broken).map(|(_, rule)| *rule)
}

/// Returns a task's name made of the first words of a prompt: letters and digits, joined by dashes. `None` if the
/// prompt has no word.
#[must_use]
pub fn name_from_prompt(prompt: &str) -> Option<String> {
    let words = prompt.split(|character: char| !character.is_ascii_alphanumeric());
    let mut name = String::new();
    for word in words.filter(|word| !word.is_empty()).take(5) {
        if name.len() + word.len() > 32 && !name.is_empty() {
            break;
        }
        name.push_str(if name.is_empty() { "" } else { "-" });
        name.extend(word.chars().take(32).map(|character| character.to_ascii_lowercase()));
    }
    Some(name).filter(|name| !name.is_empty())
}

/// Returns the name of a process that works on the task of this name, if it can be one.
#[must_use]
pub fn process_name(task: &str) -> Option<Name> {
    task.replace('/', "-").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_of_the_first_words_of_a_prompt() {
        let name = |prompt: &str| name_from_prompt(prompt);
        assert_eq!(name("5 tries per minute on /login, please").as_deref(), Some("5-tries-per-minute-on"));
        assert_eq!(name("--Fix: `rm -rf $HOME`!").as_deref(), Some("fix-rm-rf-home"));
        assert_eq!(name(&"a".repeat(99)).map(|name| name.len()), Some(32));
        assert_eq!(name("…?"), None);
    }

    #[test]
    fn a_task_has_a_name_that_a_branch_may_have() {
        for name in ["fix", "ana/fix", "5-tries", "v1.2", "größe"] {
            assert_eq!(broken_name_rule(name), None, "{name}");
        }
        let long = "a".repeat(151);
        for name in
            ["", "../bad name", "a b", "-x", ".git", "a/.b", "a.lock", "a//b", "/a", "a/", "a.", "@", &long]
        {
            assert!(broken_name_rule(name).is_some(), "{name:?}");
        }
    }

    #[test]
    fn a_process_has_the_name_of_its_task_without_slashes() {
        assert_eq!(process_name("ana/fix").map(|name| name.to_string()).as_deref(), Some("ana-fix"));
        assert_eq!(process_name(""), None);
    }

    #[test]
    fn what_needs_a_person_comes_before_the_rest() {
        let needs: Vec<bool> = TaskStatus::ALL.iter().map(|status| status.needs_person()).collect();
        assert!(needs.is_sorted_by(|before, after| before >= after), "{needs:?}");
        assert!(TaskStatus::ALL.is_sorted());
    }
}
