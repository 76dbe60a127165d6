//! Many processes: two hundred, of which twenty are busy. Measures how long a spawn takes among them and, for
//! `qd`, what the daemon and each holder cost.

use std::time::{Duration, Instant};

use super::busy::{Busy, Load};
use super::contender::Contender;
use super::pty::{Size, pass};
use super::quarterdeck::daemon_pid;
use super::report::{Report, Unit, percentile};
use super::{Lab, process_scan, stream};

const LIVE: usize = 200;
const BUSY: usize = 20;
/// Each busy one is a full-screen program that repaints twenty times a second and more.
const LOAD: Load = Load { number: BUSY, rate: 100_000, timeout: Duration::from_secs(30) };
/// The cost of starting is gone after this time.
const SETTLED: Duration = Duration::from_secs(2);

/// Those that keep a screen and have one server for all.
const CAPABLE: [&str; 2] = ["qd", "tmux"];

pub(crate) fn run(lab: &Lab, report: &mut Report) -> Result<(), String> {
    let file = stream::write(&lab.directory, stream::Kind::Repaint, 1_000_000)?;
    for contender in lab.contenders.iter().filter(|contender| CAPABLE.contains(&contender.name())) {
        if let Err(error) = crowd(lab, report, contender, &file) {
            report.note(contender.name(), "200 live, 20 busy", &error);
        }
        contender.stop();
    }
    Ok(())
}

fn crowd(
    lab: &Lab,
    report: &mut Report,
    contender: &Contender,
    file: &std::path::Path,
) -> Result<(), String> {
    contender.renew()?;
    contender.create(&lab.fresh_name(), Size::NORMAL, &["sh".to_owned()])?;
    // One process exists already, so that what the server opens once is not counted for each.
    let descriptors = daemon(contender)?.map(process_scan::descriptors);
    let _busy = Busy::start(lab, contender, file, &LOAD)?;
    let mut times = Vec::new();
    for _ in BUSY + 1..LIVE {
        let start = Instant::now();
        contender.create(&lab.fresh_name(), Size::NORMAL, &["sh".to_owned()])?;
        times.push(start.elapsed().as_secs_f64());
    }
    let who = contender.name();
    report.record("200 live, 20 busy: spawn p95", who, Unit::Time, Ok(percentile(&times, 0.95)));
    pass(SETTLED);
    if let (Some(daemon), Some(before)) = (daemon(contender)?, descriptors) {
        costs(report, contender, daemon, before);
    }
    Ok(())
}

fn daemon(contender: &Contender) -> Result<Option<u32>, String> {
    (contender.name() == "qd").then(|| daemon_pid(&contender.place)).transpose()
}

/// Of `qd` alone: the others have no holders.
fn costs(report: &mut Report, contender: &Contender, daemon: u32, descriptors_of_one: usize) {
    let mut row = |name: &str, unit, value: Result<f64, String>| {
        report.record(&format!("200 live, 20 busy: {name}"), "qd", unit, value);
    };
    row("daemon resident", Unit::Bytes, Ok(process_scan::resident(daemon) as f64));
    let servers = contender.place.servers();
    // The forkserver is the daemon's child, and the holders are the forkserver's.
    let is_holder = |pid: &u32| {
        process_scan::parent(*pid).is_some_and(|parent| parent != daemon && servers.contains(&parent))
    };
    // A holder that has printed much shares its full log with the daemon, so the mean is taken and not the
    // largest.
    let holders: Vec<f64> =
        servers.iter().filter(|pid| is_holder(pid)).map(|pid| process_scan::pss(&[*pid]) as f64).collect();
    let mean = if holders.len() == LIVE {
        Ok(holders.iter().sum::<f64>() / LIVE as f64)
    } else {
        Err(format!("{} holders for {LIVE} processes", holders.len()))
    };
    row("holder, mean", Unit::Bytes, mean);
    row("holder, largest", Unit::Bytes, Ok(percentile(&holders, 1.0)));
    let more = process_scan::descriptors(daemon).saturating_sub(descriptors_of_one);
    row("descriptors each", Unit::Count, Ok(more as f64 / (LIVE - 1) as f64));
}
