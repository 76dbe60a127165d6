//! Idle cost: memory of the contender's own processes with 1 to 200 idle shells, processor time while nothing
//! happens, and the memory of one process that has printed a lot.

use std::time::{Duration, Instant};

use super::contender::Contender;
use super::pty::{Size, pass};
use super::report::{Report, Unit};
use super::subprocess::Subprocess;
use super::{Lab, process_scan, stream};

const COUNTS: [usize; 4] = [1, 20, 100, 200];
/// A contender that takes longer than this to reach the next count stops there.
const CREATION_LIMIT: Duration = Duration::from_secs(60);
/// Start-up work of shells and servers is over after this.
const SETTLED: Duration = Duration::from_millis(1500);

/// Measures memory at each count, effort at 100 and at 200 with one viewer.
pub(crate) fn run(lab: &Lab, report: &mut Report) -> Result<(), String> {
    for contender in &lab.contenders {
        if let Err(error) = rest(lab, report, contender) {
            report.note(contender.name(), "idle", &error);
        }
        contender.stop();
    }
    Ok(())
}

fn rest(lab: &Lab, report: &mut Report, contender: &Contender) -> Result<(), String> {
    contender.renew()?;
    let mut newest = String::new();
    let mut created = 0;
    for count in COUNTS {
        let start = Instant::now();
        while created < count && start.elapsed() < CREATION_LIMIT {
            newest = lab.fresh_name();
            contender.create(&newest, Size::NORMAL, &["sh".to_owned()])?;
            created += 1;
        }
        if created < count {
            return Err(format!("only {created} of {count} shells in {CREATION_LIMIT:?}"));
        }
        pass(SETTLED);
        let servers = contender.place.servers();
        let memory = process_scan::pss(&servers) as f64;
        report.record(&format!("memory, {count} idle"), contender.name(), Unit::Bytes, Ok(memory));
        if count >= 100 {
            effort(lab, report, contender, &newest, count)?;
        }
    }
    Ok(())
}

fn effort(
    lab: &Lab,
    report: &mut Report,
    contender: &Contender,
    newest: &str,
    count: usize,
) -> Result<(), String> {
    let window = lab.sized(Duration::from_secs(10), Duration::from_secs(3));
    let viewer = (count == 200).then(|| contender.attach(newest, Size::NORMAL)).transpose()?;
    if let Some(viewer) = &viewer {
        viewer.until_raw(CREATION_LIMIT)?;
        viewer.settle(SETTLED)?;
    }
    let servers = contender.place.servers();
    let before = process_scan::effort(&servers);
    pass(window);
    let after = process_scan::effort(&servers);
    let share = after.nanoseconds.saturating_sub(before.nanoseconds) as f64 / window.as_nanos() as f64;
    let wakeups = after.wakeups.saturating_sub(before.wakeups) as f64 / window.as_secs_f64();
    report.record(&format!("processor, {count} idle"), contender.name(), Unit::Share, Ok(share));
    report.record(&format!("wake-ups per second, {count} idle"), contender.name(), Unit::Count, Ok(wakeups));
    Ok(())
}

/// Measures memory of one process at 200×50 after more than 10,000 lines, above that of the same contender
/// with one process that printed nothing.
pub(crate) fn run_busy(lab: &Lab, report: &mut Report) -> Result<(), String> {
    // Six megabytes: more than the history keeps and more than the ring holds.
    let file = stream::write(&lab.directory, stream::Kind::Plain, 6_000_000)?;
    for contender in &lab.contenders {
        let memory = busy(lab, contender, &file);
        report.record("memory, one busy 200x50", contender.name(), Unit::Bytes, memory);
        contender.stop();
    }
    Ok(())
}

fn busy(lab: &Lab, contender: &Contender, file: &std::path::Path) -> Result<f64, String> {
    contender.renew()?;
    let name = lab.fresh_name();
    let subprocess = Subprocess::print(&lab.directory, &name, file)?;
    contender.create(&name, Size::LARGE, &subprocess.argv())?;
    pass(SETTLED);
    let before = process_scan::pss(&contender.place.servers());
    subprocess.start.open();
    subprocess.done.wait(Duration::from_secs(60))?;
    pass(SETTLED);
    let after = process_scan::pss(&contender.place.servers());
    Ok(after.saturating_sub(before) as f64)
}
