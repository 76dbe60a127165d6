//! The writer process that tests kill, run on full disks and start with odd umasks. It acknowledges each
//! write on stdout; the tests compare the results.

mod levels;

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use store::{AuditBound, AuditRow, Change, Store, StoreError, write_file_atomically};

/// The number of processes that the endless writer rotates through.
const PROCESSES: u64 = 50;

/// The space that is occupied until the scenario frees it, and the limit on a file's size where no small disk
/// can be mounted.
const BALLAST_BYTES: usize = 256 * 1024;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let words: Vec<&OsStr> = arguments.iter().map(AsRef::as_ref).collect();
    let number = |word: &OsStr| word.to_string_lossy().parse::<u64>();
    match words.as_slice() {
        [mode, path, first] if *mode == "records" => write_records(Path::new(path), number(first)?),
        [mode, path, first] if *mode == "files" => write_files(Path::new(path), number(first)?),
        [mode, directory, limit] if *mode == "full" => fill(Path::new(directory), *limit == "limited"),
        [mode, directory, limit] if *mode == "levels" => {
            levels::walk(Path::new(directory), *limit == "limited")
        }
        _ => {
            Err("usage: store-writer records|files PATH FIRST, or full|levels DIRECTORY mounted|limited"
                .into())
        }
    }
}

/// Keeps so little of the audit log that a segment ends every few rows and soon one is deleted.
const AUDIT: AuditBound = AuditBound { segment_rows: 5, bytes: 2000 };

/// Writes one batch per number, each touching every kind of record, for ever.
fn write_records(path: &Path, first: u64) -> Result<(), Box<dyn Error>> {
    let mut store = Store::open(path)?.bounding_audit(AUDIT);
    for number in first.. {
        let process = format!("p_{:08}", number % PROCESSES);
        let document = format!("{number} {}", "x".repeat(usize::try_from(number % 7)? * 700));
        store.apply(&[
            Change::PutProcess { id: process.clone(), document: document.clone() },
            Change::PutTurn { process, turn: 1, document },
            Change::Setting { key: "last".into(), value: number.to_string() },
        ])?;
        store.audit(&AuditRow { detail: number.to_string(), ..AuditRow::default() })?;
        acknowledge(number)?;
    }
    Ok(())
}

/// Writes one whole file per number, for ever.
fn write_files(path: &Path, first: u64) -> Result<(), Box<dyn Error>> {
    for number in first.. {
        write_file_atomically(path, format!("{number:08} ").repeat(1000).as_bytes())?;
        acknowledge(number)?;
    }
    Ok(())
}

fn acknowledge(number: u64) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{number}")?;
    out.flush()
}

/// Fills the disk, reads, frees some, retries, fills it again and opens the store on the full disk.
fn fill(directory: &Path, limited: bool) -> Result<(), Box<dyn Error>> {
    let database = directory.join("state.db");
    let note = directory.join("note.md");
    occupy(directory, limited)?;
    write_file_atomically(&note, b"old")?;
    let mut store = Store::open(&database)?;
    let (stored, refusal) = put_until_refused(&mut store, 0);
    state("filled_by", refusal)?;
    state("stored_is_loaded", store.load()?.processes.len() == stored)?;
    state("big_note", verdict(&write_file_atomically(&note, &[b'n'; 4 * 1024 * 1024])))?;
    state("note_is_old", fs::read(&note)? == b"old")?;
    free(directory, limited)?;
    state("retried", verdict(&store.apply(&[put(stored)])))?;
    state("message", verdict(&store.apply(&[message()])))?;
    state("audit", verdict(&store.audit(&AuditRow::default())))?;
    state("retried_is_loaded", store.load()?.processes.len() == stored + 1)?;
    state("small_note", verdict(&write_file_atomically(&note, b"new")))?;
    let (stored, _) = put_until_refused(&mut store, stored + 1);
    drop(store);
    let opened = Store::open(&database);
    state("opened_when_full", verdict(&opened))?;
    if let Ok(store) = opened {
        state("opened_is_loaded", store.load()?.processes.len() == stored)?;
    }
    let names = fs::read_dir(directory)?.flatten().map(|entry| entry.file_name());
    let names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    state("set_aside", names.iter().any(|name| name.contains(".corrupt-")))?;
    state("left_over", names.iter().any(|name| name.contains(".tmp-")))?;
    Ok(())
}

fn occupy(directory: &Path, limited: bool) -> Result<(), Box<dyn Error>> {
    match limited {
        true => limit_files(Some(BALLAST_BYTES as u64))?,
        false => fs::write(directory.join("ballast"), vec![0; BALLAST_BYTES])?,
    }
    Ok(())
}

fn free(directory: &Path, limited: bool) -> Result<(), Box<dyn Error>> {
    match limited {
        true => limit_files(Some(2 * BALLAST_BYTES as u64))?,
        false => fs::remove_file(directory.join("ballast"))?,
    }
    Ok(())
}

fn limit_files(bytes: Option<u64>) -> io::Result<()> {
    let maximum = getrlimit(Resource::Fsize).maximum;
    Ok(setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum })?)
}

fn put(number: usize) -> Change {
    Change::PutProcess { id: format!("p_{number:08}"), document: "d".repeat(2000) }
}

fn message() -> Change {
    Change::PutMail { id: 1, document: "{}".into() }
}

/// Returns how many processes were stored before the first refusal, and the kind of refusal.
fn put_until_refused(store: &mut Store, first: usize) -> (usize, &'static str) {
    for number in first..100_000 {
        let applied = store.apply(&[put(number)]);
        if applied.is_err() {
            return (number, verdict(&applied));
        }
    }
    (100_000, "nothing")
}

fn verdict<T>(result: &Result<T, StoreError>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(StoreError::NoSpace { .. }) => "no_space",
        Err(StoreError::Locked { .. }) => "locked",
        Err(StoreError::Newer { .. }) => "newer",
        Err(StoreError::Corrupt { .. }) => "corrupt",
        Err(StoreError::Refused { .. }) => "refused",
        Err(StoreError::Io { .. }) => "io",
        Err(StoreError::Sqlite { .. }) => "sqlite",
    }
}

fn state(fact: &str, value: impl std::fmt::Display) -> io::Result<()> {
    writeln!(io::stdout(), "{fact}={value}")
}
