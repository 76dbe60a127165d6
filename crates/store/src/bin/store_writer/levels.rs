//! Writes every kind of file with every amount of free space, from none to plenty, and checks what is left
//! afterwards. The tests decide how often.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use store::{
    AuditBound, AuditCheck, AuditRow, Change, PadName, Pads, Store, StoreError, write_file_atomically,
};

use super::{limit_files, put, state, verdict};

/// Bytes of one step.
const PAGE: usize = 4096;

/// Pages of free space: every number at first, where most writes end, then every fourth.
fn levels() -> impl Iterator<Item = usize> {
    (0..24).chain((24..=96).step_by(4))
}

/// A file of an older schema, as the tests of the store have it.
const SCHEMA_4: [&str; 4] = [
    include_str!("../../../tests/fixtures/schema_1.sql"),
    include_str!("../../../tests/fixtures/schema_2.sql"),
    include_str!("../../../tests/fixtures/schema_3.sql"),
    include_str!("../../../tests/fixtures/schema_4.sql"),
];

const PROJECT: &str = "0123456789abcdef";

type Fault = Box<dyn Error>;

/// How free space is limited: a disk that is filled up, or a limit on every file.
struct Room<'a> {
    disk: &'a Path,
    limited: bool,
    pages: usize,
}

impl Room<'_> {
    /// Leaves this much.
    fn take(&self) -> Result<(), Fault> {
        if self.limited {
            return Ok(limit_files(Some((self.pages * PAGE) as u64))?);
        }
        let ballast = self.disk.join("ballast");
        // This write ends when the disk is full.
        let _full = fs::write(&ballast, vec![0; 2 * 1024 * 1024]);
        let length = fs::metadata(&ballast)?.len().saturating_sub((self.pages * PAGE) as u64);
        fs::File::options().write(true).open(&ballast)?.set_len(length)?;
        Ok(())
    }

    fn give_back(&self) -> Result<(), Fault> {
        match self.limited {
            true => Ok(limit_files(None)?),
            false => Ok(fs::remove_file(self.disk.join("ballast"))?),
        }
    }

    /// Runs `work` with this much free space, then removes the limit.
    fn during<T>(&self, work: impl FnOnce() -> T) -> Result<T, Fault> {
        self.take()?;
        let done = work();
        self.give_back()?;
        Ok(done)
    }
}

/// Writes one kind of file in this directory and returns true if the store accepted it. An error is a broken
/// promise.
type Kind = fn(&Path, &Room<'_>) -> Result<bool, Fault>;

const KINDS: [(&str, Kind); 9] = [
    ("batch", batch),
    ("audit", audit),
    ("creation", creation),
    ("migration", migration),
    ("set_aside", set_aside),
    ("damaged_log", damaged_log),
    ("file", file),
    ("pad", pad),
    ("pad_name", pad_name),
];

pub(super) fn walk(disk: &Path, limited: bool) -> Result<(), Fault> {
    for (name, kind) in KINDS {
        let (mut done, mut refused, mut wrong) = (0, 0, Vec::new());
        for pages in levels() {
            let directory = disk.join(format!("{name}-{pages}"));
            fs::create_dir(&directory)?;
            match kind(&directory, &Room { disk, limited, pages }) {
                Ok(true) => done += 1,
                Ok(false) => refused += 1,
                Err(fault) => wrong.push(format!("with {pages} pages: {fault}")),
            }
            if temporary_files(&directory)? > 0 {
                wrong.push(format!("with {pages} pages: a temporary file is left"));
            }
            fs::remove_dir_all(&directory)?;
        }
        state(&format!("{name}_done"), done)?;
        state(&format!("{name}_refused"), refused)?;
        state(&format!("{name}_wrong"), wrong.join("; "))?;
    }
    Ok(())
}

fn temporary_files(directory: &Path) -> Result<usize, Fault> {
    let mut found = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => found += temporary_files(&entry.path())?,
            false => found += usize::from(entry.file_name().to_string_lossy().contains(".tmp-")),
        }
    }
    Ok(found)
}

fn holds(fact: bool, otherwise: &str) -> Result<(), Fault> {
    if fact { Ok(()) } else { Err(otherwise.into()) }
}

/// Returns true if the store accepted a write. A refusal must be for lack of space.
fn is_done<T>(result: &Result<T, StoreError>) -> Result<bool, Fault> {
    match verdict(result) {
        "ok" => Ok(true),
        "no_space" | "io" => Ok(false),
        other => Err(format!("refused as {other}").into()),
    }
}

/// Opens a store that must be healthy.
fn open_whole(path: &Path) -> Result<Store, Fault> {
    let store = Store::open(path)?;
    holds(store.recovered().is_none() && store.damaged_log().is_none(), "the database was set aside")?;
    Ok(store)
}

fn batch(directory: &Path, room: &Room<'_>) -> Result<bool, Fault> {
    let path = directory.join("state.db");
    let mut store = Store::open(&path)?;
    store.apply(&[put(1), put(2)])?;
    let before = store.load()?;
    let mail = Change::PutMail { id: 1, document: "m".repeat(30_000) };
    let batch = [put(3), mail, Change::RemoveProcess { id: "p_00000001".into() }];
    let is_stored = is_done(&room.during(|| store.apply(&batch))?)?;
    if !is_stored {
        holds(store.load()? == before, "a part of a refused batch is there")?;
        holds(open_whole(&path)?.load()? == before, "a part of a refused batch is in the file")?;
        store.apply(&batch)?;
    }
    let after = store.load()?;
    holds(after.processes.len() == 2 && after.mail.len() == 1, "the batch is not there")?;
    drop(store);
    holds(open_whole(&path)?.load()? == after, "the file differs")?;
    Ok(is_stored)
}

fn audit(directory: &Path, room: &Room<'_>) -> Result<bool, Fault> {
    let path = directory.join("state.db");
    let mut store = Store::open(&path)?.bounding_audit(AuditBound { segment_rows: 5, bytes: 3000 });
    let row = |number: u32| AuditRow {
        detail: number.to_string(),
        target: Some("t".repeat(number as usize * 10)),
        ..AuditRow::default()
    };
    let mut written: Vec<u32> = (1..=20).collect();
    for number in &written {
        store.audit(&row(*number))?;
    }
    let verdicts: Vec<_> = room.during(|| (21..=32).map(|n| (n, store.audit(&row(n)))).collect())?;
    for (number, verdict) in &verdicts {
        written.extend(is_done(verdict)?.then_some(*number));
    }
    let is_stored = written.len() == 32;
    for number in 33..=36 {
        store.audit(&row(number))?;
        written.push(number);
    }
    drop(store);
    let store = open_whole(&path)?;
    holds(matches!(store.verify_audit()?, AuditCheck::Intact { .. }), "the chain is broken")?;
    let rows = store.audit_rows(0, usize::MAX)?;
    let kept = rows.iter().filter(|row| row.verb.is_empty()).map(|row| row.detail.parse());
    let kept: Vec<u32> = kept.collect::<Result<_, _>>()?;
    holds(written.ends_with(&kept) && kept.len() >= 3, "rows are missing, doubled or out of order")?;
    Ok(is_stored)
}

fn creation(directory: &Path, room: &Room<'_>) -> Result<bool, Fault> {
    let path = directory.join("state.db");
    let is_made = is_done(&room.during(|| Store::open(&path))?)?;
    open_whole(&path)?.apply(&[put(1)])?;
    holds(open_whole(&path)?.load()?.processes.len() == 1, "nothing is kept")?;
    Ok(is_made)
}

fn migration(directory: &Path, room: &Room<'_>) -> Result<bool, Fault> {
    let path = directory.join("state.db");
    let old = Connection::open(&path)?;
    for step in SCHEMA_4 {
        old.execute_batch(step)?;
    }
    drop(old);
    let is_migrated = is_done(&room.during(|| Store::open(&path))?)?;
    let store = open_whole(&path)?;
    let contents = store.load()?;
    holds(contents.processes.len() == 2 && contents.documents.len() == 1, "records are missing")?;
    let check = store.verify_audit()?;
    holds(matches!(check, AuditCheck::Intact { first: 1, rows: 3, .. }), "the audit log is not what it was")?;
    Ok(is_migrated)
}

/// Returns every file in this directory, with its name.
fn all_files(directory: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, Fault> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        found.push((path.clone(), fs::read(path)?));
    }
    Ok(found)
}

fn is_somewhere(directory: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let is_kept = all_files(directory)?.iter().any(|(_, found)| found == bytes);
    holds(is_kept, "the damaged file is nowhere any more")
}

fn set_aside(directory: &Path, room: &Room<'_>) -> Result<bool, Fault> {
    let path = directory.join("state.db");
    let (garbage, log) = (vec![b'g'; 3 * PAGE], vec![b'l'; PAGE]);
    fs::write(&path, &garbage)?;
    fs::write(directory.join("state.db-wal"), &log)?;
    let is_opened = is_done(&room.during(|| Store::open(&path))?)?;
    is_somewhere(directory, &garbage)?;
    is_somewhere(directory, &log)?;
    Store::open(&path)?.apply(&[put(1)])?;
    is_somewhere(directory, &garbage)?;
    is_somewhere(directory, &log)?;
    let moved = all_files(directory)?.iter().any(|(name, _)| name.to_string_lossy().contains(".corrupt-"));
    holds(moved, "it was not set aside")?;
    Ok(is_opened)
}

fn damaged_log(directory: &Path, room: &Room<'_>) -> Result<bool, Fault> {
    let (path, log) = (directory.join("state.db"), directory.join("state.db-wal"));
    let mut store = Store::open(&path)?;
    for number in 0..8 {
        store.apply(&[put(number)])?;
    }
    let (database, mut bytes) = (fs::read(&path)?, fs::read(&log)?);
    drop(store);
    let middle = bytes.len() / 2;
    bytes.get_mut(middle).into_iter().for_each(|byte| *byte ^= 0xff);
    fs::write(&path, &database)?;
    fs::write(&log, &bytes)?;
    let opened = room.during(|| Store::open(&path))?;
    let is_opened = is_done(&opened)?;
    if let Ok(store) = &opened {
        holds(store.damaged_log().is_some(), "the damage is not reported")?;
    }
    is_somewhere(directory, &bytes)?;
    drop(opened);
    drop(Store::open(&path)?);
    is_somewhere(directory, &bytes)?;
    Ok(is_opened)
}

fn file(directory: &Path, room: &Room<'_>) -> Result<bool, Fault> {
    let path = directory.join("note.md");
    write_file_atomically(&path, b"old")?;
    let new = vec![b'n'; 5 * PAGE];
    let is_written = is_done(&room.during(|| write_file_atomically(&path, &new))?)?;
    let expected: &[u8] = if is_written { &new } else { b"old" };
    holds(fs::read(&path)? == expected, "the file is neither the old nor the new one")?;
    Ok(is_written)
}

/// Separates the store's errors from a pad's other errors.
fn of_pad<T>(result: Result<T, store::PadError>) -> Result<Result<T, StoreError>, Fault> {
    match result {
        Ok(done) => Ok(Ok(done)),
        Err(store::PadError::Store(error)) => Ok(Err(error)),
        Err(other) => Err(other.into()),
    }
}

fn pad(directory: &Path, room: &Room<'_>) -> Result<bool, Fault> {
    let (pads, name): (_, PadName) = (Pads::new(&directory.join("pads")), "plan".parse()?);
    pads.write(PROJECT, &name, "old", "human", None)?;
    let new = "n".repeat(3 * PAGE);
    let written = room.during(|| pads.write(PROJECT, &name, &new, "fix", Some(1)))?;
    let is_written = is_done(&of_pad(written)?)?;
    let pad = pads.read(PROJECT, &name)?;
    let expected = if is_written { (new.as_str(), 2, "fix") } else { ("old", 1, "human") };
    let found = (pad.content.as_str(), pad.revision, pad.author.as_str());
    holds(found == expected, "the pad is neither the old nor the new one")?;
    if !is_written {
        pads.write(PROJECT, &name, &new, "fix", Some(1))?;
    }
    Ok(is_written)
}

/// Renames a pad.
fn pad_name(directory: &Path, room: &Room<'_>) -> Result<bool, Fault> {
    let pads = Pads::new(&directory.join("pads"));
    let (from, to): (PadName, PadName) = ("plan".parse()?, "goal".parse()?);
    let text = "t".repeat(3 * PAGE);
    pads.write(PROJECT, &from, &text, "human", None)?;
    let renamed = room.during(|| pads.rename(PROJECT, &from, &to, "fix"))?;
    let is_renamed = is_done(&of_pad(renamed)?)?;
    if !is_renamed {
        let names: Vec<_> = pads.list(PROJECT)?.into_iter().map(|(name, _)| name).collect();
        holds(names == [from.clone()], "half of it was renamed")?;
        pads.rename(PROJECT, &from, &to, "fix")?;
    }
    let names: Vec<_> = pads.list(PROJECT)?.into_iter().map(|(name, _)| name).collect();
    holds(names == [to.clone()] && pads.read(PROJECT, &to)?.content == text, "it is not renamed")?;
    Ok(is_renamed)
}
