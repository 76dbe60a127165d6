//! Rows of single commands: how long a listing and a reading take with the process start included, and how long it
//! takes from nothing at all to a first running child.

use std::time::{Duration, Instant};

use super::contender::{Contender, Place};
use super::pty::Size;
use super::report::{Report, Unit, percentile};
use super::subprocess::Subprocess;
use super::{Lab, process_scan};

const BESIDES: usize = 10;

/// Measures listing and reading with ten processes there.
pub(crate) fn run(lab: &Lab, report: &mut Report) -> Result<(), String> {
    for contender in lab.contenders.iter().filter(|one| one.dialect.list(&one.place).is_some()) {
        if let Err(error) = list_and_read(lab, report, contender) {
            report.note(contender.name(), "verbs", &error);
        }
        contender.stop();
    }
    Ok(())
}

fn list_and_read(lab: &Lab, report: &mut Report, contender: &Contender) -> Result<(), String> {
    contender.renew()?;
    let mut newest = String::new();
    for _ in 0..BESIDES {
        newest = lab.fresh_name();
        contender.create(&newest, Size::NORMAL, &["sh".to_owned()])?;
    }
    let place = &contender.place;
    let median = |make: &dyn Fn() -> Option<std::process::Command>| -> Result<Option<f64>, String> {
        let mut times = Vec::new();
        for _ in 0..lab.sized(100, 30) {
            let Some(command) = make() else { return Ok(None) };
            let start = Instant::now();
            place.run(command)?;
            times.push(start.elapsed().as_secs_f64());
        }
        Ok(Some(percentile(&times, 0.5)))
    };
    if let Some(time) = median(&|| contender.dialect.list(place))? {
        report.record("list, round trip", contender.name(), Unit::Time, Ok(time));
    }
    if let Some(time) = median(&|| contender.dialect.read(place, &newest))? {
        report.record("read, round trip", contender.name(), Unit::Time, Ok(time));
    }
    Ok(())
}

/// Measures the time from no server and empty directories to the child's first word. The program file is
/// warm.
pub(crate) fn run_cold(lab: &Lab, report: &mut Report) -> Result<(), String> {
    for _ in 0..lab.sized(9, 5) {
        for contender in &lab.contenders {
            report.record("cold start", contender.name(), Unit::Time, cold(lab, contender));
        }
    }
    Ok(())
}

fn cold(lab: &Lab, contender: &Contender) -> Result<f64, String> {
    let name = lab.fresh_name();
    let root = contender.place.root.with_file_name(&name);
    let program = contender.place.root.join("bin").join(contender.name());
    let place = Place::new(root, &program)?;
    let subprocess = Subprocess::report(&lab.directory, &name)?;
    let start = Instant::now();
    contender.dialect.prepare(&place)?;
    contender.dialect.create(&place, &name, Size::NORMAL, &subprocess.argv())?;
    subprocess.done.wait(Duration::from_secs(20))?;
    let took = start.elapsed().as_secs_f64();
    drop(subprocess);
    contender.dialect.stop(&place);
    process_scan::sweep(&place.root);
    // The rest goes with the laboratory.
    let _gone = std::fs::remove_dir_all(&place.root);
    Ok(took)
}
