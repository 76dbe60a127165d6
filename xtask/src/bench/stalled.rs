//! Stalled viewers: twenty clients that never read while the child floods. Measures how much of its speed the
//! child keeps, and how much the contender's servers grow.

use std::path::Path;
use std::time::{Duration, Instant};

use super::contender::Contender;
use super::pty::{Size, pass};
use super::report::{Report, Unit};
use super::subprocess::Subprocess;
use super::{Lab, process_scan, stream};

const VIEWERS: usize = 20;
const PIECE: usize = 4_000_000;
/// Enough for a rate; the flood with viewers is as long as the goal says.
const ALONE: Duration = Duration::from_secs(8);

/// Those that let several clients watch one process and keep a screen.
const CAPABLE: [&str; 2] = ["qd", "tmux"];

/// Measures `qd` for the time the goal names, tmux for comparison.
pub(crate) fn run(lab: &Lab, report: &mut Report) -> Result<(), String> {
    let file = stream::write(&lab.directory, stream::Kind::Plain, PIECE)?;
    for contender in lab.contenders.iter().filter(|contender| CAPABLE.contains(&contender.name())) {
        let full = if contender.name() == "qd" { 60 } else { 15 };
        let window = Duration::from_secs(lab.sized(full, 6));
        match flood(lab, contender, &file, window) {
            Ok((kept, growth)) => {
                report.record("20 stalled viewers, speed kept", contender.name(), Unit::Ratio, Ok(kept));
                report.record("20 stalled viewers, growth", contender.name(), Unit::Bytes, Ok(growth));
            }
            Err(error) => report.note(contender.name(), "20 stalled viewers", &error),
        }
        contender.stop();
    }
    Ok(())
}

fn flood(lab: &Lab, contender: &Contender, file: &Path, window: Duration) -> Result<(f64, f64), String> {
    contender.renew()?;
    let name = lab.fresh_name();
    let count = lab.directory.join(format!("{name}.count"));
    let subprocess = Subprocess::flood(&lab.directory, &name, file, &count)?;
    contender.create(&name, Size::NORMAL, &subprocess.argv())?;
    subprocess.start.open();
    let alone = unwatched_speed(&count);
    let servers = contender.place.servers();
    let before = process_scan::pss(&servers);
    let mut viewers = Vec::new();
    for _ in 0..VIEWERS {
        viewers.push(contender.attach(&name, Size::NORMAL)?);
    }
    pass(Duration::from_secs(1));
    let start = Instant::now();
    let begin = rounds(&count);
    let mut peak = before;
    while start.elapsed() < window {
        pass(Duration::from_millis(500));
        peak = peak.max(process_scan::pss(&servers));
    }
    let watched = (rounds(&count) - begin) / start.elapsed().as_secs_f64();
    drop(viewers);
    drop(subprocess);
    if alone <= 0.0 {
        return Err("the child printed nothing".to_owned());
    }
    Ok((watched / alone, peak.saturating_sub(before) as f64))
}

/// Returns how many rounds a second a flooding child makes while nothing watches it.
pub(crate) fn unwatched_speed(count: &Path) -> f64 {
    pass(Duration::from_secs(1));
    let (begin, start) = (rounds(count), Instant::now());
    pass(ALONE);
    (rounds(count) - begin) / start.elapsed().as_secs_f64()
}

/// Waits until a child has counted to `least`.
pub(crate) fn until_counted(count: &Path, least: f64, timeout: Duration) -> Result<(), String> {
    let start = Instant::now();
    while rounds(count) < least {
        if start.elapsed() > timeout {
            return Err(format!("a child counted to {} in {timeout:?}", rounds(count)));
        }
        pass(Duration::from_millis(20));
    }
    Ok(())
}

/// Returns how far a child has counted.
pub(crate) fn rounds(count: &Path) -> f64 {
    let text = std::fs::read_to_string(count).unwrap_or_default();
    text.trim().parse().unwrap_or(0.0)
}
