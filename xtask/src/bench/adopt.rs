//! Adoption: kills the daemon with a hundred processes whose rings are full, then runs `qd ps` until all of
//! them are back with the same pids.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::contender::Contender;
use super::pty::Size;
use super::quarterdeck::{daemon_pid, ps};
use super::report::{Report, Unit};
use super::subprocess::Subprocess;
use super::{Lab, stream};

const COUNT: usize = 100;
/// More than a ring of four mebibytes.
const FILL: usize = 4_300_000;
const TIMEOUT: Duration = Duration::from_secs(120);

/// For `qd` alone: the peers' children die with their server.
pub(crate) fn run(lab: &Lab, report: &mut Report) -> Result<(), String> {
    let file = stream::write(&lab.directory, stream::Kind::Plain, FILL)?;
    for contender in lab.contenders.iter().filter(|contender| contender.name() == "qd") {
        for _ in 0..lab.sized(3, 1) {
            report.record("adopt 100 after kill -9", "qd", Unit::Time, adopt(lab, contender, &file));
            contender.stop();
        }
    }
    Ok(())
}

fn adopt(lab: &Lab, contender: &Contender, file: &std::path::Path) -> Result<f64, String> {
    contender.renew()?;
    let mut errands = Vec::new();
    for _ in 0..COUNT {
        let name = lab.fresh_name();
        let subprocess = Subprocess::print(&lab.directory, &name, file)?;
        contender.create(&name, Size::NORMAL, &subprocess.argv())?;
        subprocess.start.open();
        subprocess.done.wait(TIMEOUT)?;
        errands.push(subprocess);
    }
    let before = running(contender)?;
    let daemon = Pid::from_raw(daemon_pid(&contender.place)? as i32).ok_or("the daemon has no pid")?;
    kill_process(daemon, Signal::KILL).map_err(|error| format!("kill -9: {error}"))?;
    let start = Instant::now();
    while start.elapsed() < TIMEOUT {
        // The first call may meet the dying socket; a person would repeat it as well.
        let after = running(contender).unwrap_or_default();
        if after.len() == COUNT {
            let took = start.elapsed().as_secs_f64();
            return if after == before { Ok(took) } else { Err("some pids changed".to_owned()) };
        }
    }
    Err(format!("not all {COUNT} processes came back"))
}

fn running(contender: &Contender) -> Result<BTreeMap<String, u64>, String> {
    let rows = ps(&contender.place)?;
    Ok(rows.into_iter().filter(|row| row.status == "running").map(|row| (row.name, row.pid)).collect())
}
