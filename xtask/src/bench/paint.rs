//! Attaching: from the start of the client to the first full screen of a process with a long history. A
//! screen is full when a line near the top and the end marker below it are drawn.

use std::time::{Duration, Instant};

use super::contender::Contender;
use super::pty::Size;
use super::report::{Report, Unit, percentile};
use super::subprocess::{END, Subprocess};
use super::{Lab, stream};

const HISTORY: usize = 10_000;
const TIMEOUT: Duration = Duration::from_secs(20);
/// Of the last lines on a screen of 24 rows this one is near the top, even under a status line.
const NEAR_TOP: &[u8] = b"line 09982";

/// Attaches several times in turn to one process per contender.
pub(crate) fn run(lab: &Lab, report: &mut Report) -> Result<(), String> {
    lab.renew(report);
    let file = stream::write_history(&lab.directory, HISTORY)?;
    let painters = lab.contenders.iter().filter(|contender| contender.dialect.paints());
    for contender in painters {
        let median = paint(lab, contender, &file);
        report.record("attach to full paint", contender.name(), Unit::Time, median);
    }
    Ok(())
}

fn paint(lab: &Lab, contender: &Contender, file: &std::path::Path) -> Result<f64, String> {
    let name = lab.fresh_name();
    let subprocess = Subprocess::print(&lab.directory, &name, file)?;
    contender.create(&name, Size::NORMAL, &subprocess.argv())?;
    subprocess.start.open();
    subprocess.done.wait(TIMEOUT)?;
    let mut times = Vec::new();
    for round in 0..lab.sized(15, 7) {
        let start = Instant::now();
        let client = contender.attach(&name, Size::NORMAL)?;
        client.read_all_of(&[NEAR_TOP, END], TIMEOUT)?;
        // The first attach may find the emulator still busy with the history.
        if round > 0 {
            times.push(start.elapsed().as_secs_f64());
        }
    }
    drop(subprocess);
    contender.forget(&name);
    Ok(percentile(&times, 0.5))
}
