//! Many viewers: two hundred clients, fifty of them on one process, each timed from its start to the first
//! frame. All stay until the last has come.

use std::time::{Duration, Instant};

use super::contender::Contender;
use super::pty::Size;
use super::report::{Report, Unit, percentile};
use super::subprocess::{END, Subprocess};
use super::{Lab, stream};

const VIEWERS: usize = 200;
/// So many look at the first process.
const ON_ONE: usize = 50;
/// The others look at these many.
const BESIDES: usize = 30;
const TIMEOUT: Duration = Duration::from_secs(20);

/// Those that let several clients watch one process and keep a screen.
const CAPABLE: [&str; 2] = ["qd", "tmux"];

pub(crate) fn run(lab: &Lab, report: &mut Report) -> Result<(), String> {
    let file = stream::write_history(&lab.directory, 30)?;
    for contender in lab.contenders.iter().filter(|contender| CAPABLE.contains(&contender.name())) {
        let times = gather(lab, contender, &file);
        let row = |part: &str| format!("200 viewers, 50 on one: first frame {part}");
        let of = |part: f64| times.as_ref().map(|times| percentile(times, part)).map_err(Clone::clone);
        report.record(&row("median"), contender.name(), Unit::Time, of(0.5));
        report.record(&row("p95"), contender.name(), Unit::Time, of(0.95));
        contender.stop();
    }
    Ok(())
}

fn gather(lab: &Lab, contender: &Contender, file: &std::path::Path) -> Result<Vec<f64>, String> {
    contender.renew()?;
    let mut watched = Vec::new();
    for _ in 0..=BESIDES {
        let name = lab.fresh_name();
        let subprocess = Subprocess::print(&lab.directory, &name, file)?;
        contender.create(&name, Size::NORMAL, &subprocess.argv())?;
        subprocess.start.open();
        subprocess.done.wait(TIMEOUT)?;
        watched.push((name, subprocess));
    }
    let mut clients = Vec::new();
    let mut times = Vec::new();
    for viewer in 0..VIEWERS {
        let (name, _) = &watched[target(viewer)];
        let start = Instant::now();
        let client = contender.attach(name, Size::NORMAL)?;
        client.read_all_of(&[END], TIMEOUT)?;
        times.push(start.elapsed().as_secs_f64());
        clients.push(client);
    }
    Ok(times)
}

/// Every fourth viewer looks at the first process, so that early and late ones are among its fifty.
fn target(viewer: usize) -> usize {
    if viewer.is_multiple_of(VIEWERS / ON_ONE) { 0 } else { 1 + viewer % BESIDES }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_look_at_one_and_the_rest_at_all_the_others() {
        let targets: Vec<usize> = (0..VIEWERS).map(target).collect();
        assert_eq!(targets.iter().filter(|target| **target == 0).count(), ON_ONE);
        assert!((1..=BESIDES).all(|other| targets.contains(&other)), "{targets:?}");
    }
}
