//! Bulk speed: one child that prints as fast as it is read, watched and unwatched, then four at once. The end
//! is, unwatched, the child's report that its last write returned; watched, the end marker on the viewer's
//! terminal.

use std::path::Path;
use std::time::{Duration, Instant};

use super::contender::Contender;
use super::pty::{Client, Size};
use super::report::{Report, Unit};
use super::stream::{self, Kind};
use super::subprocess::{END, Subprocess};
use super::{Lab, kept};

/// No contender that works needs longer for one stream.
const TIMEOUT: Duration = Duration::from_secs(120);
/// An attached client counts as finished when nothing came for this long.
const QUIET: Duration = Duration::from_millis(250);

/// Long enough that no round is decided by where the kernel happens to run the terminal's own thread: that
/// changes several times a second and halves the speed of a bare reader too. A third of a second of output
/// would measure nothing else.
const BYTES: usize = 100_000_000;
const QUICK_BYTES: usize = 20_000_000;

/// Measures plain, colour and repaint streams, attached and detached.
pub(crate) fn run(lab: &Lab, report: &mut Report) -> Result<(), String> {
    lab.renew(report);
    for kind in Kind::ALL {
        let file = stream::write(&lab.directory, kind, lab.sized(BYTES, QUICK_BYTES))?;
        let lost: Vec<_> = (0..lab.sized(7, 3)).filter_map(|_| round(lab, report, kind, &file)).collect();
        if !lost.is_empty() {
            // The sum of all rounds: a median would hide what only one of them lost.
            report.record("plain lost from the log", "qd", Unit::Bytes, lost.into_iter().sum());
        }
        // Streams are large, so each is removed before the next.
        let _gone = std::fs::remove_file(&file);
    }
    Ok(())
}

/// Measures one round over all contenders, so that a noisy minute affects all of them; returns what the log
/// lost, where that is measured.
fn round(lab: &Lab, report: &mut Report, kind: Kind, file: &Path) -> Option<Result<f64, String>> {
    let mut lost = None;
    let attached = format!("{} attached", kind.name());
    let detached = format!("{} detached", kind.name());
    let bare = bare(lab, file);
    report.record(&attached, "bare", Unit::Rate, bare.clone());
    report.record(&detached, "bare", Unit::Rate, bare);
    for contender in &lab.contenders {
        let watched = Watched::run(lab, contender, file);
        let rate = watched.as_ref().map(|watched| watched.rate).map_err(Clone::clone);
        report.record(&attached, contender.name(), Unit::Rate, rate);
        if let (Ok(watched), "qd", Kind::Plain) = (&watched, contender.name(), kind) {
            lost = Some(kept::lost(contender, &watched.name, file));
        }
        if let Ok(watched) = watched {
            watched.forget(contender);
        }
        report.record(&detached, contender.name(), Unit::Rate, unwatched(lab, contender, file));
    }
    lost
}

fn bare(lab: &Lab, file: &Path) -> Result<f64, String> {
    let subprocess = Subprocess::print(&lab.directory, &lab.fresh_name(), file)?;
    let client = Client::start(&bare_command(lab, &subprocess), Size::NORMAL)?;
    client.settle(QUIET)?;
    time_until_marker(&subprocess, &client, file)
}

/// Returns the child itself on a bare terminal.
pub(crate) fn bare_command(lab: &Lab, subprocess: &Subprocess) -> std::process::Command {
    let mut command = lab.bare.command();
    command.args(&subprocess.argv()[1..]);
    command
}

/// A child that has printed everything to a viewer, and is still there.
struct Watched {
    name: String,
    subprocess: Subprocess,
    /// Bytes per second.
    rate: f64,
}

impl Watched {
    fn run(lab: &Lab, contender: &Contender, file: &Path) -> Result<Self, String> {
        let name = lab.fresh_name();
        let subprocess = Subprocess::print(&lab.directory, &name, file)?;
        contender.create(&name, Size::NORMAL, &subprocess.argv())?;
        let client = contender.attach(&name, Size::NORMAL)?;
        client.until_raw(TIMEOUT)?;
        client.settle(QUIET)?;
        let rate = time_until_marker(&subprocess, &client, file)?;
        Ok(Self { name, subprocess, rate })
    }

    fn forget(self, contender: &Contender) {
        drop(self.subprocess);
        contender.forget(&self.name);
    }
}

fn time_until_marker(subprocess: &Subprocess, client: &Client, file: &Path) -> Result<f64, String> {
    let start = Instant::now();
    subprocess.start.open();
    client.read_until(END, TIMEOUT)?;
    rate(file, start.elapsed())
}

fn unwatched(lab: &Lab, contender: &Contender, file: &Path) -> Result<f64, String> {
    let name = lab.fresh_name();
    let subprocess = Subprocess::print(&lab.directory, &name, file)?;
    contender.create(&name, Size::NORMAL, &subprocess.argv())?;
    let start = Instant::now();
    subprocess.start.open();
    subprocess.done.wait(TIMEOUT)?;
    let rate = rate(file, start.elapsed());
    drop(subprocess);
    contender.forget(&name);
    rate
}

fn rate(file: &Path, took: Duration) -> Result<f64, String> {
    let bytes = std::fs::metadata(file).map_err(|error| format!("{}: {error}", file.display()))?.len();
    Ok(bytes as f64 / took.as_secs_f64())
}

/// How many children are busy at once.
const BUSY: usize = 4;

/// Measures four children at once, unwatched, against four bare readers.
pub(crate) fn run_four(lab: &Lab, report: &mut Report) -> Result<(), String> {
    lab.renew(report);
    let file = stream::write(&lab.directory, Kind::Plain, lab.sized(40_000_000, 10_000_000))?;
    for _ in 0..lab.sized(5, 3) {
        report.record("four at once", "bare", Unit::Rate, four_bare(lab, &file));
        for contender in &lab.contenders {
            report.record("four at once", contender.name(), Unit::Rate, four(lab, contender, &file));
        }
    }
    // The directory is removed at the end in any case.
    let _gone = std::fs::remove_file(&file);
    Ok(())
}

fn four_bare(lab: &Lab, file: &Path) -> Result<f64, String> {
    let mut readers = Vec::new();
    let errands = errands(lab, file)?;
    for subprocess in &errands {
        let client = Client::start(&bare_command(lab, subprocess), Size::NORMAL)?;
        client.settle(QUIET)?;
        readers.push(client);
    }
    let start = Instant::now();
    let ended = std::thread::scope(|scope| {
        let threads: Vec<_> =
            readers.iter().map(|client| scope.spawn(|| client.read_until(END, TIMEOUT))).collect();
        errands.iter().for_each(|subprocess| subprocess.start.open());
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a reader died".to_owned())))
    });
    ended?;
    Ok(rate(file, start.elapsed())? * BUSY as f64)
}

fn four(lab: &Lab, contender: &Contender, file: &Path) -> Result<f64, String> {
    let errands = errands(lab, file)?;
    let mut names = Vec::new();
    for subprocess in &errands {
        let name = lab.fresh_name();
        contender.create(&name, Size::NORMAL, &subprocess.argv())?;
        names.push(name);
    }
    let start = Instant::now();
    errands.iter().for_each(|subprocess| subprocess.start.open());
    errands.iter().try_for_each(|subprocess| subprocess.done.wait(TIMEOUT))?;
    let rate = rate(file, start.elapsed())? * BUSY as f64;
    drop(errands);
    names.iter().for_each(|name| contender.forget(name));
    Ok(rate)
}

fn errands(lab: &Lab, file: &Path) -> Result<Vec<Subprocess>, String> {
    (0..BUSY).map(|_| Subprocess::print(&lab.directory, &lab.fresh_name(), file)).collect()
}
