//! `qd doctor`: checks everything that processes need to be safe here. It repairs, starts and displaces
//! nothing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use client::{ClientError, Connection, DaemonAddress};
use daemon::Settings;
use holder::run_mark;
use proto::version::PROTOCOL;
use proto::{Dirs, Printable};
use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
use rustix::process::{PidfdFlags, Resource, getpid, getrlimit, getuid, pidfd_open};
use serde::Serialize;

use crate::context::{Context, dirs};
use crate::errors::CliError;
use crate::output::{Output, Style, Table};

/// Below this many descriptors a few hundred processes do not fit.
const FEW_DESCRIPTORS: u64 = 1024;
/// Below this file size no daemon starts.
const FEW_BYTES: u64 = 64 << 20; // 64 MiB
/// Below this many terminals the next few spawns may fail.
const FEW_TERMINALS: u64 = 32;

/// Check that everything Quarterdeck needs is in order; changes nothing
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Also check `qd web` at this public URL: its page and its WebSockets
    #[arg(long, value_name = "URL")]
    web: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Health {
    Ok,
    Warn,
    Fail,
}

/// The result of one check.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    status: Health,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    checks: Vec<Check>,
}

impl Check {
    fn new(name: &'static str, status: Health, detail: impl Into<String>) -> Self {
        Self { name, status, detail: detail.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl DoctorArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let dirs = dirs()?;
        let mut checks = vec![
            private("runtime directory", &dirs.runtime),
            private("data directory", &dirs.data),
            private("holders' directory", &dirs.holders()),
            private("launch files", &dirs.launches()),
            private("earlier runs", &dirs.kept_runs()),
            configuration(&dirs),
            file_size(),
            room(&[&dirs.runtime, &dirs.data]),
        ];
        let (daemon, mut connection) = reach(&dirs);
        let daemon_pid = connection.as_mut().and_then(|daemon| daemon.status().ok()).map(|status| status.pid);
        checks.extend([
            database(&dirs.database(), connection.is_some()),
            daemon,
            holders(&dirs, connection),
            terminals(),
            descriptors(),
            marks(run_mark::limit_of(std::process::id()), daemon_pid.and_then(run_mark::limit_of)),
            visibility(),
            kernel(),
        ]);
        if let Some(url) = &self.web {
            checks.extend(web_checks(url)?);
        }
        let report = Report { ok: checks.iter().all(|check| check.status != Health::Fail), checks };
        context.print(&report, print_report)?;
        Ok(ExitCode::from(u8::from(!report.ok)))
    }
}

/// Asks a public URL as a browser would.
fn web_checks(url: &str) -> Result<Vec<Check>, CliError> {
    let results = web::probe(url).map_err(|error| CliError::usage(error.to_string()))?;
    let check = |result: web::ProbeResult| match result.outcome {
        Ok(detail) => Check::new(result.name, Health::Ok, detail),
        Err(fault) => Check::new(result.name, Health::Fail, fault.detail).hint(fault.hint),
    };
    Ok(results.into_iter().map(check).collect())
}

fn print_report(report: &Report, out: &mut Output) -> Result<(), CliError> {
    let mut table = Table::new(&["CHECK", "STATUS", "DETAIL"]);
    for check in &report.checks {
        let (word, style) = match check.status {
            Health::Ok => ("ok", Style::Green),
            Health::Warn => ("warning", Style::Yellow),
            Health::Fail => ("failed", Style::Red),
        };
        let detail = (check.detail.clone(), Style::Plain);
        table.row(vec![(check.name.to_owned(), Style::Plain), (word.to_owned(), style), detail]);
    }
    out.table(&table)?;
    let hints = report.checks.iter().filter_map(|check| check.hint.as_deref());
    hints.into_iter().try_for_each(|hint| out.line(&format!("hint: {}", Printable(hint))))
}

/// Checks that a directory belongs to this user alone.
fn private(name: &'static str, dir: &Path) -> Check {
    let shown = dir.display();
    let found = match fs::symlink_metadata(dir) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Check::new(name, Health::Ok, format!("{shown} is made when it is needed"));
        }
        Err(error) => return Check::new(name, Health::Fail, format!("{shown}: {error}")),
    };
    let mode = found.mode() & 0o777;
    if !found.is_dir() {
        return Check::new(name, Health::Fail, format!("{shown} is not a directory"));
    }
    if found.uid() != getuid().as_raw() {
        return Check::new(name, Health::Fail, format!("{shown} belongs to user {}", found.uid()));
    }
    if mode & 0o077 != 0 {
        let hint = format!("chmod 700 {shown}");
        return Check::new(name, Health::Fail, format!("{shown} is open to others (mode {mode:o})"))
            .hint(hint);
    }
    // A link or a pipe is replaced by the next daemon; a directory is not, because it may have something in it.
    let lock = dir.join("qd.lock");
    if lock.is_dir() {
        let detail = format!("{} is a directory, so no daemon can start", lock.display());
        return Check::new(name, Health::Fail, detail).hint(format!("move {} away", lock.display()));
    }
    Check::new(name, Health::Ok, shown.to_string())
}

/// Checks that no other user can write the configuration, and that it can be read.
fn configuration(dirs: &Dirs) -> Check {
    let (name, dir) = ("config directory", &dirs.config);
    let shown = dir.display();
    if fs::symlink_metadata(dir).is_err() {
        return Check::new(name, Health::Ok, format!("{shown} is made when it is needed"));
    }
    let found = match fs::metadata(dir) {
        Ok(found) => found,
        Err(error) => return Check::new(name, Health::Fail, format!("{shown} leads to nothing: {error}")),
    };
    let mode = found.mode() & 0o777;
    if !found.is_dir() {
        return Check::new(name, Health::Fail, format!("{shown} is not a directory"));
    }
    if found.uid() != getuid().as_raw() && found.uid() != 0 {
        return Check::new(name, Health::Fail, format!("{shown} belongs to user {}", found.uid()));
    }
    if mode & 0o022 != 0 {
        let hint = format!("chmod go-w {shown}");
        return Check::new(name, Health::Fail, format!("others may write in {shown} (mode {mode:o})"))
            .hint(hint);
    }
    let of_daemon = || {
        Settings::read(dirs)
            .1
            .map(|problem| (problem, "correct config.toml; docs/cli.md lists every setting"))
    };
    let of_deck =
        || super::config::tui_fault(dir).map(|problem| (problem, "qd config check lists every fault"));
    match of_daemon().or_else(of_deck) {
        Some((problem, hint)) => {
            Check::new(name, Health::Warn, format!("{problem}; the defaults are used")).hint(hint)
        }
        None => Check::new(name, Health::Ok, shown.to_string()),
    }
}

/// Checks how large the files of a daemon started from here may become.
fn file_size() -> Check {
    let name = "file sizes";
    match getrlimit(Resource::Fsize).maximum {
        Some(most) if most < FEW_BYTES => {
            let detail = format!("at most {} KiB (ulimit -f); a daemon needs 64 MiB", most / 1024);
            Check::new(name, Health::Fail, detail).hint("ulimit -f unlimited")
        }
        Some(most) => Check::new(name, Health::Ok, format!("at most {} KiB", most / 1024)),
        None => Check::new(name, Health::Ok, "no limit"),
    }
}

/// Checks that files can be written where the daemon must write.
fn room(dirs: &[&Path]) -> Check {
    let name = "room";
    let problem = dirs.iter().find_map(|dir| {
        // A missing directory will be created, so the nearest existing one counts.
        let near = dir.ancestors().find(|near| near.is_dir()).unwrap_or(Path::new("/"));
        cannot_grow(near).map(|why| Check::new(name, Health::Fail, format!("{}: {why}", near.display())))
    });
    problem
        .unwrap_or_else(|| Check::new(name, Health::Ok, "the runtime and the data directory can be written"))
}

/// Returns why no file can be created in a directory.
fn cannot_grow(dir: &Path) -> Option<String> {
    if let Err(error) = access(dir, Access::WRITE_OK | Access::EXEC_OK) {
        return Some(format!("it cannot be written: {}", std::io::Error::from(error)));
    }
    let system = statvfs(dir).ok()?;
    if system.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Some("its file system is read-only".to_owned());
    }
    // Kernel views such as /proc have no blocks at all.
    if system.f_blocks == 0 {
        return Some(
            "it is on a file system of the kernel, such as /proc, which cannot store files".to_owned(),
        );
    }
    let is_full = system.f_bavail == 0 || (system.f_files > 0 && system.f_favail == 0);
    is_full.then(|| "no space is left".to_owned())
}

/// Checks that the database is in a file.
fn database(file: &Path, is_daemon_running: bool) -> Check {
    let name = "database";
    let shown = file.display();
    match fs::symlink_metadata(file) {
        Ok(found) if found.is_file() => Check::new(name, Health::Ok, shown.to_string()),
        Ok(_) => Check::new(name, Health::Fail, format!("{shown} is not a regular file"))
            .hint(format!("move {shown} away")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && is_daemon_running => Check::new(
            name,
            Health::Fail,
            format!("{shown} was removed, and the daemon cannot write it again; nothing is saved"),
        )
        .hint("`qd status` says why; free some space, or finish your work in the processes, then run `qd shutdown --kill`"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Check::new(name, Health::Ok, format!("{shown} is made when it is needed"))
        }
        Err(error) => Check::new(name, Health::Fail, format!("{shown}: {error}")),
    }
}

/// Checks that a daemon answers with our protocol.
fn reach(dirs: &Dirs) -> (Check, Option<Connection>) {
    let name = "daemon";
    let address = DaemonAddress::without_start(dirs.clone());
    let status = address.connect_if_running().and_then(|mut connection| {
        let status = connection.status()?;
        Ok((connection, status))
    });
    match status {
        Ok((mut connection, status)) if status.protocol == PROTOCOL => {
            let detail = format!("pid {}, version {}, protocol {PROTOCOL}", status.pid, status.version);
            let health = if status.warnings.is_empty() { Health::Ok } else { Health::Warn };
            let detail = [vec![detail], status.warnings].concat().join("; ");
            let is_welcome = connection.hello().is_ok();
            (Check::new(name, health, detail), is_welcome.then_some(connection))
        }
        Ok((_, status)) => {
            let detail = format!("it speaks protocol {}, this qd speaks {PROTOCOL}", status.protocol);
            let hint = "`qd shutdown`, then any command: processes stay";
            (Check::new(name, Health::Fail, detail).hint(hint), None)
        }
        Err(ClientError::Unreachable(why)) => (unanswered(dirs, &address, &why), None),
        Err(error @ ClientError::Silent(_)) => {
            let pid = fs::read_to_string(dirs.lock()).unwrap_or_default();
            let hint = format!(
                "if it was stopped, `kill -CONT {0}` wakes it; `kill -9 {0}` ends it, and the next command starts another: \
                 processes stay",
                Printable(pid.trim())
            );
            (Check::new(name, Health::Fail, error.to_string()).hint(hint), None)
        }
        Err(error) => {
            let check = Check::new(name, Health::Fail, error.to_string());
            let hint = error.is_forbidden().then(|| CliError::from(error).hint()).flatten();
            (if let Some(hint) = hint { check.hint(hint) } else { check }, None)
        }
    }
}

/// Returns the check for a daemon that does not listen: none runs, or another process keeps it away.
fn unanswered(dirs: &Dirs, address: &DaemonAddress, why: &str) -> Check {
    let name = "daemon";
    if let Some((pid, program)) = address.directory_holder() {
        let (data, program) = (dirs.data.display(), Printable(&program));
        let detail = format!("process {pid} ({program}) holds {data} and does not answer as a daemon");
        return Check::new(name, Health::Fail, detail)
            .hint(format!("`kill {pid}` ends it, and the next command starts a daemon: processes stay"));
    }
    if !dirs.socket().exists() {
        return Check::new(name, Health::Ok, "not running; the next command starts it");
    }
    let detail = format!("not running, its socket is left over ({why}); the next command replaces it");
    Check::new(name, Health::Warn, detail)
}

/// Checks that every holder has an entry: a run without one would be invisible.
fn holders(dirs: &Dirs, connection: Option<Connection>) -> Check {
    let name = "holders";
    let listed = fs::read_dir(dirs.holders()).map(|dir| dir.filter_map(Result::ok).collect::<Vec<_>>());
    let names: Vec<String> = listed
        .unwrap_or_default()
        .iter()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let Some(Ok(processes)) = connection.map(|mut connection| connection.list()) else {
        return Check::new(name, Health::Ok, format!("{} holder sockets wait for a daemon", names.len()));
    };
    let has_entry =
        |file: &&String| processes.iter().any(|process| file.starts_with(&process.id.to_string()));
    let strays: Vec<&str> = names.iter().filter(|file| !has_entry(file)).map(String::as_str).collect();
    if strays.is_empty() {
        return Check::new(name, Health::Ok, format!("{} holder sockets, each with its entry", names.len()));
    }
    Check::new(name, Health::Warn, format!("without an entry: {}", strays.join(", ")))
}

/// Checks how many more terminals the system has.
fn terminals() -> Check {
    let number = |file: &str| {
        fs::read_to_string(format!("/proc/sys/kernel/pty/{file}")).ok()?.trim().parse::<u64>().ok()
    };
    let name = "terminals";
    let (Some(max), Some(used)) = (number("max"), number("nr")) else {
        return Check::new(name, Health::Warn, "the system does not report how many it has");
    };
    let free = max.saturating_sub(used).saturating_sub(number("reserve").unwrap_or(0));
    let health = if free == 0 {
        Health::Fail
    } else if free < FEW_TERMINALS {
        Health::Warn
    } else {
        Health::Ok
    };
    let check = Check::new(name, health, format!("{used} of {max} in use"));
    if health == Health::Ok { check } else { check.hint("raise kernel.pty.max with sysctl") }
}

/// Checks how many descriptors a daemon started from here may have.
fn descriptors() -> Check {
    let limit = getrlimit(Resource::Nofile);
    let print_report =
        |limit: Option<u64>| limit.map_or_else(|| "no limit".to_owned(), |limit| limit.to_string());
    let detail = format!("{} of at most {}", print_report(limit.current), print_report(limit.maximum));
    let is_few = limit.maximum.is_some_and(|maximum| maximum < FEW_DESCRIPTORS);
    let check = Check::new("descriptors", if is_few { Health::Warn } else { Health::Ok }, detail);
    if is_few { check.hint("raise the limit with ulimit -Hn") } else { check }
}

/// Checks the limit of file locks, which marks the processes of a run: that of this shell, with which a daemon
/// would start, and that of the daemon, which any process of this user may lower.
fn marks(own: Option<u64>, daemon: Option<u64>) -> Check {
    let name = "run marks";
    let is_low = |limit: Option<u64>| limit.filter(|limit| !run_mark::leaves_room(*limit));
    match (is_low(daemon), is_low(own)) {
        (Some(limit), _) => Check::new(
            name,
            Health::Warn,
            format!("a process has lowered the daemon's limit of file locks to {limit}; the daemon goes on with the limit that it started with"),
        )
        .hint("find out who did (`qd audit`), then `qd shutdown`: processes stay, and the next daemon has its own limit"),
        (None, Some(limit)) => Check::new(
            name,
            Health::Fail,
            format!("the limit of file locks is {limit} here: processes could not be marked, and no daemon starts"),
        )
        .hint("log in again, or as root: `prlimit --locks=unlimited --pid` of your shell"),
        (None, None) => Check::new(name, Health::Ok, "the limit of file locks is high enough to mark processes"),
    }
}

/// Checks that other users' processes are visible. Our own runs need only our own; a process that changes its
/// user is otherwise neither found nor named when its run is ended.
fn visibility() -> Check {
    let name = "processes";
    match fs::read("/proc/1/stat") {
        Ok(_) => Check::new(name, Health::Ok, "/proc shows those of every user"),
        Err(_) => {
            let detail = "/proc hides those of other users (hidepid): what runs as another user is not seen by qd close";
            Check::new(name, Health::Warn, detail).hint(
                "processes work all the same; to see those of other users, mount /proc with gid=GROUP of a group you are in",
            )
        }
    }
}

/// Checks that the kernel has what holders need.
fn kernel() -> Check {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut missing = Vec::new();
    if pidfd_open(getpid(), PidfdFlags::empty()).is_err() {
        missing.push("pidfd_open (5.3)");
    }
    if rustix::fs::memfd_create("qd-doctor", rustix::fs::MemfdFlags::CLOEXEC).is_err() {
        missing.push("memfd_create (3.17)");
    }
    if !holder::can_close_at_exec() {
        missing.push("close_range with CLOSE_RANGE_CLOEXEC (5.11)");
    }
    if missing.is_empty() {
        return Check::new("kernel", Health::Ok, format!("{release}: pidfd, memfd, close_range"));
    }
    Check::new("kernel", Health::Fail, format!("{release} lacks {}", missing.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn b1_a_directory_that_is_not_private_is_told_and_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let dir = |name: &str, mode: u32| {
            let dir = root.path().join(name);
            fs::create_dir(&dir).unwrap();
            fs::set_permissions(&dir, fs::Permissions::from_mode(mode)).unwrap();
            dir
        };
        let good = dir("good", 0o700);
        let open = dir("open", 0o777);
        let link = root.path().join("link");
        symlink(&good, &link).unwrap();
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(private("x", &good).status, Health::Ok);
        assert_eq!(private("x", &root.path().join("none")).status, Health::Ok);
        let locked = dir("locked", 0o700);
        fs::create_dir(locked.join("qd.lock")).unwrap();
        for bad in [&open, &link, &file, &locked] {
            assert_eq!(private("x", bad).status, Health::Fail, "{}", bad.display());
        }
        assert_eq!(fs::metadata(&open).unwrap().permissions().mode() & 0o777, 0o777);
    }

    #[test]
    fn m8_a_lowered_limit_of_file_locks_is_told_here_and_in_the_daemon() {
        let (free, low) = (Some(u64::MAX), Some(1_000));
        for (own, daemon, health, words) in [
            (free, free, Health::Ok, "high enough"),
            (free, None, Health::Ok, "high enough"),
            (low, None, Health::Fail, "no daemon starts"),
            (free, low, Health::Warn, "lowered the daemon's limit of file locks to 1000"),
        ] {
            let check = marks(own, daemon);
            assert!(check.status == health && check.detail.contains(words), "{check:?}");
        }
    }

    #[test]
    fn what_keeps_a_daemon_from_starting_is_told() {
        let root = tempfile::tempdir().unwrap();
        let (good, missing) = (root.path(), root.path().join("none/below"));
        assert_eq!(room(&[good, &missing]).status, Health::Ok);
        for (bad, words) in [("/proc/qd", "cannot store files"), ("/sys/qd", "/sys")] {
            let check = room(&[good, Path::new(bad)]);
            assert_eq!(check.status, Health::Fail, "{bad}");
            assert!(check.detail.contains(words), "{}", check.detail);
        }
        let file = root.path().join("state.db");
        assert_eq!(database(&file, false).status, Health::Ok);
        assert_eq!(database(&file, true).status, Health::Fail, "it was removed under a daemon");
        fs::create_dir(&file).unwrap();
        assert_eq!(database(&file, true).status, Health::Fail);
    }
}
