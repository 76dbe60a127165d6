//! Saving a worktree to a hidden reference before it is removed, and forgetting such references after a time.
//!
//! A saved worktree is one commit on top of the worktree's own, and of the branch that is deleted with it if that is another.
//! Its tree has these entries:
//!
//! | entry | content |
//! |---|---|
//! | `worktree` | every file that is not ignored, byte for byte as it was on disk |
//! | `index` | the staged contents that the commit below lacks, so that they stay reachable |
//! | `index-info` | what to tell `git update-index --index-info` to have them staged again |
//! | `intent-to-add`, `modes`, `path`, `meta` | what neither files nor index can say |
//!
//! `git fast-import` writes it in one stream: no filter changes a byte, neither index is touched, and the reference appears
//! only when everything is on disk.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::error::{GitError, Result};
use crate::fingerprint::hash_length;
use crate::git::{Git, Input};
use crate::index_file::visit_entries;
use crate::layout::Layout;
use crate::name::BranchName;
use crate::oid::Oid;
use crate::porcelain::{Changed, Entry, FileVersion, Porcelain};
use crate::quote::c_quote;
use crate::repository::Repository;
use crate::status::read_porcelain;

/// All saved worktrees are below this.
pub const TRASH: &str = "refs/quarterdeck/trash/";

/// Returns the reference of a worktree saved at `time`: `refs/quarterdeck/trash/<task>/<seconds since 1970>`.
/// A slash in the task's name is written `%2F`, so that no task's references are in the way of another's.
#[must_use]
pub fn trash_reference(task: &BranchName, time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    format!("{TRASH}{}/{seconds:010}", task.as_str().replace('%', "%25").replace('/', "%2F"))
}

/// One saved worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashEntry {
    /// The whole reference.
    pub reference: String,
    /// The task that the worktree belonged to.
    pub task: String,
    /// When it was saved.
    pub time: SystemTime,
    /// The commit that holds it.
    pub commit: Oid,
}

/// The content of `meta` of a saved worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrashMeta {
    /// The branch that was checked out; none if `HEAD` was detached.
    pub(crate) branch: Option<BranchName>,
    /// The commit that was checked out.
    pub(crate) head: Oid,
    /// The full name of the reference that the branch tracked.
    pub(crate) upstream: Option<String>,
    /// The branch that was deleted with the worktree although it was not checked out there, with its commit.
    pub(crate) deleted: Option<(BranchName, Oid)>,
}

impl TrashMeta {
    /// Returns one line for each: neither a commit nor a reference has a line feed in it.
    fn write(&self) -> String {
        let branch = self.branch.as_ref().map(|name| format!("branch {name}\n")).unwrap_or_default();
        let upstream = self.upstream.as_ref().map(|name| format!("upstream {name}\n")).unwrap_or_default();
        let deleted = self
            .deleted
            .as_ref()
            .map(|(name, oid)| format!("task-branch {name} {oid}\n"))
            .unwrap_or_default();
        format!("head {}\n{branch}{upstream}{deleted}", self.head)
    }

    pub(crate) fn parse(text: &str) -> Result<Self> {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        Ok(Self {
            branch: value("branch").map(BranchName::parse).transpose()?,
            head: Oid::parse(value("head").unwrap_or_default())?,
            upstream: value("upstream").map(str::to_owned),
            deleted: value("task-branch").map(parse_deleted).transpose()?,
        })
    }

    /// Keeps a deleted branch, unless it is the one that is checked out.
    fn set_deleted(&mut self, deleted: Option<&(BranchName, Oid)>) {
        let is_other =
            |(name, oid): &&(BranchName, Oid)| self.branch.as_ref() != Some(name) || self.head != *oid;
        self.deleted = deleted.filter(is_other).cloned();
    }

    /// Returns the branches that a restoration needs, with their commits.
    pub(crate) fn branches(&self) -> impl Iterator<Item = (&BranchName, &Oid)> {
        let checked_out = self.branch.iter().map(|name| (name, &self.head));
        checked_out.chain(self.deleted.iter().map(|(name, oid)| (name, oid)))
    }
}

fn parse_deleted(value: &str) -> Result<(BranchName, Oid)> {
    let (name, oid) = value.split_once(' ').unwrap_or((value, ""));
    Ok((BranchName::parse(name)?, Oid::parse(oid)?))
}

/// What was checked out in a worktree whose directory is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoneCheckout {
    /// The branch; none if `HEAD` was detached.
    pub branch: Option<BranchName>,
    /// The commit.
    pub head: Oid,
}

impl Repository {
    /// Returns all saved worktrees, oldest first for each task.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn trash(&self) -> Result<Vec<TrashEntry>> {
        let found = self.references(TRASH)?.into_iter().filter_map(|(reference, commit)| {
            let (task, seconds) = reference.strip_prefix(TRASH)?.split_once('/')?;
            let time = UNIX_EPOCH.checked_add(Duration::from_secs(seconds.parse().ok()?))?;
            let task = task.replace("%2F", "/").replace("%25", "%");
            Some(TrashEntry { task, time, commit, reference })
        });
        Ok(found.collect())
    }

    /// Returns worktrees that were saved more than `age` before `now`.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn old_trash(&self, age: Duration, now: SystemTime) -> Result<Vec<TrashEntry>> {
        let is_old = |entry: &TrashEntry| now.duration_since(entry.time).is_ok_and(|passed| passed > age);
        Ok(self.trash()?.into_iter().filter(is_old).collect())
    }

    /// Forgets worktrees that were saved more than `age` before `now`, and returns them. git itself frees their space
    /// later.
    ///
    /// # Errors
    /// git cannot be run.
    pub fn forget_trash(&self, age: Duration, now: SystemTime) -> Result<Vec<TrashEntry>> {
        let old = self.old_trash(age, now)?;
        for entry in &old {
            let names = [entry.reference.as_str(), entry.commit.as_str()];
            self.write("update-ref").arg("-d").names(names).run()?;
        }
        Ok(old)
    }

    /// Returns a reference for what is saved now, and its time: the first second from `now` on in which nothing of this
    /// task was saved.
    pub(crate) fn free_trash_reference(
        &self,
        task: &BranchName,
        now: SystemTime,
    ) -> Result<(String, SystemTime)> {
        let mut time = now;
        loop {
            let reference = trash_reference(task, time);
            if self.find_commit(&reference)?.is_none() {
                return Ok((reference, time));
            }
            time += Duration::from_secs(1);
        }
    }

    /// Saves everything in the worktree at `path` that is not ignored, under `reference`. Neither the worktree nor its
    /// index is touched.
    ///
    /// # Errors
    /// [`GitError::Blocked`] for a repository inside the worktree or a branch without a commit, [`GitError::Changed`] if a
    /// file changed while it was read; nothing is saved then.
    pub fn save_worktree(&self, path: &Path, reference: &str, time: SystemTime) -> Result<Oid> {
        self.save(&Snapshot::read(&self.git, path)?, reference, time)
    }

    /// The same, together with a branch that is to be deleted.
    pub(crate) fn save_with_branch(
        &self,
        path: &Path,
        deleted: Option<&(BranchName, Oid)>,
        reference: &str,
        time: SystemTime,
    ) -> Result<Oid> {
        let mut snapshot = Snapshot::read(&self.git, path)?;
        snapshot.meta.set_deleted(deleted);
        self.save(&snapshot, reference, time)
    }

    /// Saves the commits of a worktree whose directory is gone.
    pub(crate) fn save_gone(
        &self,
        path: &Path,
        (gone, deleted): (&GoneCheckout, Option<&(BranchName, Oid)>),
        reference: &str,
        time: SystemTime,
    ) -> Result<Oid> {
        let upstream = upstream(&self.git, self.directory(), gone.branch.as_ref())?;
        let mut meta =
            TrashMeta { branch: gone.branch.clone(), head: gone.head.clone(), upstream, deleted: None };
        meta.set_deleted(deleted);
        self.save(&Snapshot::without_files(meta, path), reference, time)
    }

    fn save(&self, snapshot: &Snapshot, reference: &str, time: SystemTime) -> Result<Oid> {
        let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let tree = self.tree(&snapshot.meta.head)?;
        let mut has_changed = false;
        let mut stream = |out: &mut dyn Write| -> io::Result<()> {
            write_head(out, reference, seconds, snapshot, &tree)?;
            for file in &snapshot.files {
                if let Err(error) = write_file(out, &snapshot.path, file) {
                    has_changed = error.kind() == io::ErrorKind::UnexpectedEof;
                    return Err(error);
                }
            }
            write_notes(out, snapshot)?;
            out.write_all(b"done\n")
        };
        let call = self.write("fast-import").args(["--quiet", "--done", "--force", "--date-format=raw"]);
        let saved = call.setting("core.fsync=all").input(Input::Stream(&mut stream)).run();
        if has_changed {
            return Err(GitError::Changed { path: snapshot.path.clone() });
        }
        saved?;
        self.commit(reference)
    }
}

/// What is to be saved, before the files themselves are read.
struct Snapshot {
    meta: TrashMeta,
    path: PathBuf,
    /// Files that may differ from the commit, tracked or not, that are there.
    files: Vec<PathBuf>,
    /// Tracked files that are gone.
    removed: Vec<PathBuf>,
    /// Stage, content and path of everything that is staged.
    staged: Vec<(u8, FileVersion, PathBuf)>,
    intended: Vec<PathBuf>,
    /// Permissions that git does not keep.
    modes: Vec<(u32, PathBuf)>,
}

impl Snapshot {
    /// Returns a snapshot that has the files of its commit.
    fn without_files(meta: TrashMeta, path: &Path) -> Self {
        Self {
            meta,
            path: path.to_owned(),
            files: Vec::new(),
            removed: Vec::new(),
            staged: Vec::new(),
            intended: Vec::new(),
            modes: Vec::new(),
        }
    }

    fn read(git: &Git, path: &Path) -> Result<Self> {
        let porcelain = read_porcelain(git, path, &["--untracked-files=all", "--no-renames"])?;
        let blocked = |reason: String| GitError::Blocked { path: path.to_owned(), reason };
        let head = porcelain.head.clone();
        let head = head.ok_or_else(|| blocked("its branch has no commit: make one first".to_owned()))?;
        let branch = porcelain.branch.as_deref().map(BranchName::parse).transpose()?;
        let upstream = upstream(git, path, branch.as_ref())?;
        let mut snapshot = Self::without_files(TrashMeta { branch, head, upstream, deleted: None }, path);
        snapshot.add_entries(porcelain).map_err(blocked)?;
        let unwatched = unwatched_files(path).ok_or_else(|| unreadable_index(path))?;
        unwatched.into_iter().chain(converted_files(git, path)?).for_each(|file| snapshot.add_file(file));
        snapshot.files.sort();
        snapshot.files.dedup();
        Ok(snapshot)
    }

    fn add_entries(&mut self, porcelain: Porcelain) -> std::result::Result<(), String> {
        for entry in porcelain.entries {
            match entry {
                Entry::Changed(changed) => self.add_changed(changed),
                Entry::Unmerged { stages, path } => {
                    for (stage, version) in (1..).zip(stages) {
                        self.staged.extend((version.mode != 0).then(|| (stage, version, path.clone())));
                    }
                    self.add_file(path);
                }
                Entry::Untracked(path) if path.as_os_str().as_bytes().ends_with(b"/") => {
                    return Err(format!(
                        "`{}` is a repository of its own: move it away first",
                        path.display()
                    ));
                }
                Entry::Untracked(path) => self.add_file(path),
                Entry::Ignored(_) => {}
            }
        }
        Ok(())
    }

    fn add_changed(&mut self, changed: Changed) {
        if changed.staged != b'.' {
            self.staged.push((0, changed.index, changed.path.clone()));
        } else if changed.unstaged == b'A' {
            self.intended.push(changed.path.clone());
        }
        if !changed.is_submodule {
            self.add_file(changed.path);
        }
    }

    fn add_file(&mut self, file: PathBuf) {
        match fs::symlink_metadata(self.path.join(&file)) {
            Ok(found) if found.is_file() => {
                let mode = found.mode() & 0o7777;
                if !matches!(mode, 0o644 | 0o755) {
                    self.modes.push((mode, file.clone()));
                }
                self.files.push(file);
            }
            Ok(found) if found.is_symlink() => self.files.push(file),
            // Pipes, sockets and devices have no content; git does not see them either.
            Ok(found) if found.file_type().is_fifo() || found.file_type().is_socket() => {}
            _ => self.removed.push(file),
        }
    }
}

fn unreadable_index(path: &Path) -> GitError {
    let reason =
        "its index is split or sparse: run `git update-index --no-split-index` there first".to_owned();
    GitError::Blocked { path: path.to_owned(), reason }
}

fn upstream(git: &Git, path: &Path, branch: Option<&BranchName>) -> Result<Option<String>> {
    let Some(branch) = branch else { return Ok(None) };
    let printed =
        git.read(path, "for-each-ref").arg("--format=%(upstream)").names([branch.reference()]).text()?;
    Ok(Some(printed.trim().to_owned()).filter(|name| !name.is_empty()))
}

/// Files that git does not compare: their changes are in no status. `None` if the index cannot be read.
fn unwatched_files(path: &Path) -> Option<Vec<PathBuf>> {
    let layout = Layout::at(path)?;
    let Ok(index) = fs::read(layout.git_dir.join("index")) else { return Some(Vec::new()) };
    let mut found = Vec::new();
    visit_entries(&index, hash_length(&layout.common_dir), |entry| {
        let file = PathBuf::from(OsStr::from_bytes(entry.path));
        if entry.is_unwatched && path.join(&file).symlink_metadata().is_ok() {
            found.push(file);
        }
    })
    .ok()
    .map(|()| found)
}

/// Files whose line ends on disk differ from the index: a checkout might write others.
fn converted_files(git: &Git, path: &Path) -> Result<Vec<PathBuf>> {
    let printed = git.read(path, "ls-files").args(["--eol", "-z"]).run()?;
    let differs = |record: &[u8]| {
        let tab = record.iter().position(|byte| *byte == b'\t')?;
        let words = String::from_utf8_lossy(&record[..tab]).into_owned();
        let word = |prefix: &str| {
            words.split_whitespace().find_map(|word| word.strip_prefix(prefix).map(str::to_owned))
        };
        let (index, checkout) = (word("i/")?, word("w/")?);
        let is_other = index != checkout && !checkout.is_empty();
        is_other.then(|| PathBuf::from(OsStr::from_bytes(&record[tab + 1..])))
    };
    Ok(printed.split(|byte| *byte == 0).filter_map(differs).collect())
}

fn write_head(
    out: &mut dyn Write,
    reference: &str,
    seconds: u64,
    snapshot: &Snapshot,
    tree: &Oid,
) -> io::Result<()> {
    let head = &snapshot.meta.head;
    writeln!(out, "commit {reference}")?;
    writeln!(out, "committer Quarterdeck <quarterdeck@localhost> {seconds} +0000")?;
    write_data(out, b"A worktree before it was removed\n")?;
    writeln!(out, "from {head}")?;
    if let Some((_, oid)) = snapshot.meta.deleted.as_ref().filter(|(_, oid)| oid != head) {
        writeln!(out, "merge {oid}")?;
    }
    writeln!(out, "deleteall\nM 040000 {tree} worktree")?;
    for path in &snapshot.removed {
        out.write_all(b"D ")?;
        write_path(out, "worktree/", path)?;
    }
    Ok(())
}

/// Writes one file with the bytes that it has on disk.
fn write_file(out: &mut dyn Write, top: &Path, path: &Path) -> io::Result<()> {
    let full = top.join(path);
    let found = fs::symlink_metadata(&full)?;
    if found.is_symlink() {
        out.write_all(b"M 120000 inline ")?;
        write_path(out, "worktree/", path)?;
        return write_data(out, fs::read_link(&full)?.as_os_str().as_bytes());
    }
    let mode = if found.mode() & 0o100 == 0 { "100644" } else { "100755" };
    write!(out, "M {mode} inline ")?;
    write_path(out, "worktree/", path)?;
    let mut file = fs::File::open(&full)?;
    let length = file.metadata()?.len();
    writeln!(out, "data {length}")?;
    let copied = io::copy(&mut Read::by_ref(&mut file).take(length), out)?;
    if copied != length || file.read(&mut [0])? != 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    out.write_all(b"\n")
}

fn write_notes(out: &mut dyn Write, snapshot: &Snapshot) -> io::Result<()> {
    let mut index_info = Vec::new();
    for (stage, version, path) in &snapshot.staged {
        write!(index_info, "{:o} {} {stage}\t", version.mode, version.oid)?;
        index_info.extend([path.as_os_str().as_bytes(), b"\0"].concat());
        if version.mode != 0 {
            write!(out, "M {:o} {} ", version.mode, version.oid)?;
            write_path(out, &format!("index/{stage}/"), path)?;
        }
    }
    let mut modes = Vec::new();
    for (mode, path) in &snapshot.modes {
        modes.extend([format!("{mode:o} ").as_bytes(), path.as_os_str().as_bytes(), b"\0"].concat());
    }
    let intended: Vec<u8> =
        snapshot.intended.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
    let meta = snapshot.meta.write();
    let path = snapshot.path.as_os_str().as_bytes();
    let notes: [(&str, &[u8]); 5] = [
        ("index-info", &index_info),
        ("modes", &modes),
        ("intent-to-add", &intended),
        ("meta", meta.as_bytes()),
        ("path", path),
    ];
    for (name, content) in notes {
        writeln!(out, "M 100644 inline {name}")?;
        write_data(out, content)?;
    }
    Ok(())
}

fn write_path(out: &mut dyn Write, prefix: &str, path: &Path) -> io::Result<()> {
    let whole = [prefix.as_bytes(), path.as_os_str().as_bytes()].concat();
    out.write_all(&c_quote(&whole))?;
    out.write_all(b"\n")
}

fn write_data(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    writeln!(out, "data {}", bytes.len())?;
    out.write_all(bytes)?;
    out.write_all(b"\n")
}
