//! The files and the index of a worktree as they are saved: which ones, and the stream that `git fast-import` reads.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{TrashMeta, operation};
use crate::checkout::read_porcelain;
use crate::error::{GitError, Result};
use crate::fingerprint::hash_length;
use crate::git::{Git, GitInput};
use crate::index_file::visit_entries;
use crate::layout::Layout;
use crate::name::BranchName;
use crate::oid::Oid;
use crate::porcelain::{ChangedFile, FileVersion, Porcelain, StatusEntry};
use crate::quote::c_quote;
use crate::repository::Repository;

/// What is to be saved, before the files themselves are read.
pub(super) struct Snapshot {
    pub(super) meta: TrashMeta,
    path: PathBuf,
    /// Files that may differ from the commit, tracked or not, that are there.
    files: Vec<PathBuf>,
    /// Tracked files that are gone.
    removed: Vec<PathBuf>,
    staged: Vec<StagedFile>,
    intended: Vec<PathBuf>,
    /// Permissions that git does not keep.
    modes: Vec<(u32, PathBuf)>,
    /// The files of a merge or rebase that is under way.
    operation: Vec<(PathBuf, Vec<u8>)>,
}

/// A file of the index that differs from the commit, or one side of a conflict.
struct StagedFile {
    /// 0, or which side of a conflict.
    stage: u8,
    version: FileVersion,
    path: PathBuf,
}

impl Snapshot {
    /// Returns a snapshot that has the files of its commit.
    pub(super) fn without_files(meta: TrashMeta, path: &Path) -> Self {
        Self {
            meta,
            path: path.to_owned(),
            files: Vec::new(),
            removed: Vec::new(),
            staged: Vec::new(),
            intended: Vec::new(),
            modes: Vec::new(),
            operation: Vec::new(),
        }
    }

    pub(super) fn read(git: &Git, path: &Path) -> Result<Self> {
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
        if let Some(layout) = Layout::at(path) {
            let read = operation::read(&layout.git_dir);
            snapshot.operation = read.map_err(|error| GitError::io(&layout.git_dir, error))?;
        }
        snapshot.files.sort();
        snapshot.files.dedup();
        Ok(snapshot)
    }

    /// Writes the snapshot as one commit, and then its reference.
    pub(super) fn save(&self, repository: &Repository, reference: &str, time: SystemTime) -> Result<Oid> {
        let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let tree = repository.tree(&self.meta.head)?;
        let mut has_changed = false;
        let mut stream = |out: &mut dyn Write| -> io::Result<()> {
            write_head(out, reference, seconds, self, &tree)?;
            for file in &self.files {
                if let Err(error) = write_file(out, &self.path, file) {
                    has_changed = error.kind() == io::ErrorKind::UnexpectedEof;
                    return Err(error);
                }
            }
            write_notes(out, self)?;
            out.write_all(b"done\n")
        };
        let options = ["--quiet", "--done", "--force", "--date-format=raw"];
        let call = repository.write("fast-import").args(options).setting("core.fsync=all");
        let saved = call.input(GitInput::Stream(&mut stream)).run();
        if has_changed {
            return Err(GitError::Changed { path: self.path.clone() });
        }
        saved?;
        repository.commit(reference)
    }

    fn add_entries(&mut self, porcelain: Porcelain) -> std::result::Result<(), String> {
        for entry in porcelain.entries {
            match entry {
                StatusEntry::Changed(changed) => self.add_changed(changed),
                StatusEntry::Unmerged { stages, path } => {
                    for (stage, version) in (1..).zip(stages) {
                        let path = path.clone();
                        self.staged.extend((version.mode != 0).then_some(StagedFile {
                            stage,
                            version,
                            path,
                        }));
                    }
                    self.add_file(path);
                }
                StatusEntry::Untracked(path) if path.as_os_str().as_bytes().ends_with(b"/") => {
                    return Err(format!(
                        "`{}` is a repository of its own: move it away first",
                        path.display()
                    ));
                }
                StatusEntry::Untracked(path) => self.add_file(path),
                StatusEntry::Ignored(_) => {}
            }
        }
        Ok(())
    }

    fn add_changed(&mut self, changed: ChangedFile) {
        if changed.staged != b'.' {
            let path = changed.path.clone();
            self.staged.push(StagedFile { stage: 0, version: changed.index, path });
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

/// Returns the reference that a branch tracks.
pub(super) fn upstream(git: &Git, path: &Path, branch: Option<&BranchName>) -> Result<Option<String>> {
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
    for StagedFile { stage, version, path } in &snapshot.staged {
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
    for (path, content) in &snapshot.operation {
        out.write_all(b"M 100644 inline ")?;
        write_path(out, "operation/", path)?;
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
