//! A writer that is killed at any moment loses nothing that it acknowledged and tears nothing; its files are
//! private.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use store::{AuditCheck, Store, write_file_atomically};

/// Far more than a loaded machine needs for one write.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The number of processes that the writer rotates through.
const PROCESSES: u64 = 50;

struct Writer {
    child: Child,
    acknowledged: Receiver<u64>,
}

impl Writer {
    fn start(umask: &str, mode: &str, path: &Path, first: u64) -> Writer {
        let script = format!("umask {umask}; exec \"$0\" \"$@\"");
        let mut child = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_store-writer"), mode])
            .arg(path)
            .arg(first.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh starts");
        let lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let (sender, acknowledged) = sync_channel(1024);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if sender.send(line.parse().expect("an acknowledgement is a number")).is_err() {
                    return;
                }
            }
        });
        Writer { child, acknowledged }
    }

    fn wait_for(&self, writes: u64) -> u64 {
        let mut last = 0;
        for _ in 0..writes {
            last = self.acknowledged.recv_timeout(TIMEOUT).expect("the writer keeps writing");
        }
        last
    }

    /// Kills it and returns the last write it acknowledged.
    fn kill(mut self, seen: u64) -> u64 {
        self.child.kill().expect("the writer is ours");
        self.child.wait().expect("the writer is ours");
        self.acknowledged.iter().last().unwrap_or(seen)
    }
}

/// Returns how many kills; a longer run multiplies them.
fn kills() -> u64 {
    u64::try_from(testkit::scaled(25)).expect("a count")
}

/// Returns a small unpredictable number; enough to choose the moment of a kill.
fn chance(below: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is after 1970").as_nanos();
    let mixed =
        u64::try_from(now & u128::from(u64::MAX)).expect("masked").wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) % below
}

/// Lets the writer run into the middle of something.
fn spin(microseconds: u64) {
    let until = Instant::now() + Duration::from_micros(microseconds);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

fn number_of(document: &str) -> u64 {
    document
        .split(' ')
        .next()
        .and_then(|number| number.parse().ok())
        .expect("a document starts with its number")
}

/// Every record is exactly what the writes up to `last` leave behind.
fn assert_whole(store: &Store, last: u64) {
    let contents = store.load().expect("the state loads");
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for number in last.saturating_sub(PROCESSES - 1).max(1)..=last {
        expected.insert(format!("p_{:08}", number % PROCESSES), number);
    }
    let processes: BTreeMap<_, _> =
        contents.processes.iter().map(|(id, document)| (id.clone(), number_of(document))).collect();
    let turns: BTreeMap<_, _> =
        contents.turns.iter().map(|turn| (turn.process.clone(), number_of(&turn.document))).collect();
    assert_eq!(processes, expected);
    assert_eq!(turns, expected);
}

/// Returns the numbers that the writer put into the audit log, as far as it is kept, without the rows that
/// record deletions.
fn audited_numbers(store: &Store) -> Vec<u64> {
    let rows = store.audit_rows(0, usize::MAX).expect("the audit log loads");
    rows.iter().filter(|row| row.verb.is_empty()).map(|row| number_of(&row.detail)).collect()
}

#[test]
fn f1_every_acknowledged_record_survives_sigkill_at_random_moments() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let (mut last, mut audited) = (0, 0);
    for round in 0..kills() {
        let writer = Writer::start("077", "records", &path, last + 1);
        let seen = writer.wait_for(1 + chance(60));
        spin(chance(3000));
        let acknowledged = writer.kill(seen);

        let store = Store::open(&path).unwrap();
        assert_eq!((store.recovered(), store.damaged_log()), (None, None), "round {round}");
        let contents = store.load().unwrap();
        let (_, value) = contents.settings.iter().find(|(key, _)| key == "last").unwrap();
        last = value.parse().unwrap();
        assert!(last == acknowledged || last == acknowledged + 1, "round {round}: {last}, {acknowledged}");
        assert_whole(&store, last);
        let AuditCheck::Intact { first, rows, .. } = store.verify_audit().unwrap() else {
            panic!("round {round}: the audit chain broke");
        };
        assert!(first + rows > audited && rows < 40, "round {round}: {rows} from {first} on");
        audited = first + rows;
        // Killed between its two writes, the writer has one row fewer than batches.
        let newest = audited_numbers(&store);
        assert!(newest.is_sorted() && newest.last() >= Some(&acknowledged), "round {round}: {newest:?}");
        assert!(newest.last() <= Some(&last), "round {round}: {newest:?}");
    }
    assert!(last >= kills() && audited > last, "rows went, and each time a row says so");
}

#[test]
fn f1_a_small_file_is_never_torn_and_leaves_no_temporary_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("note.md");
    let mut last = 0;
    for round in 0..kills() {
        let writer = Writer::start("077", "files", &path, last + 1);
        let seen = writer.wait_for(1 + chance(20));
        spin(chance(3000));
        let acknowledged = writer.kill(seen);

        let content = fs::read_to_string(&path).unwrap();
        last = number_of(&content);
        assert_eq!(content, format!("{last:08} ").repeat(1000), "round {round}");
        assert!(last == acknowledged || last == acknowledged + 1, "round {round}: {last}, {acknowledged}");
    }
    write_file_atomically(&path, b"end").unwrap();
    let names: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["note.md"]);
}

#[test]
fn b12_no_file_is_open_to_others_under_any_umask() {
    for umask in ["000", "022", "777"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        let records = Writer::start(umask, "records", &path, 1);
        let files = Writer::start(umask, "files", &directory.path().join("note.md"), 1);
        let seen = (records.wait_for(1), files.wait_for(1));

        let mut names = Vec::new();
        for entry in fs::read_dir(directory.path()).unwrap() {
            let entry = entry.unwrap();
            // The writer of small files renames its temporary file at any moment.
            let Ok(found) = entry.metadata() else { continue };
            let mode = found.permissions().mode() & 0o777;
            let name = entry.file_name().to_string_lossy().into_owned();
            assert_eq!(mode & 0o077, 0, "umask {umask}: {name} has mode {mode:o}");
            names.push(name);
        }
        for name in ["state.db", "state.db-wal", "state.db-shm", "note.md"] {
            assert!(names.iter().any(|found| found == name), "umask {umask}: {name} is not in {names:?}");
        }
        records.kill(seen.0);
        files.kill(seen.1);
    }
}
