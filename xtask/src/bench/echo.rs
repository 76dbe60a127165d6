//! Key echo: how long a key takes from the viewer's terminal to the child and back, with no other load,
//! beside a flood, and beside four children that print ten megabytes a second each. None of the keys ends an
//! escape sequence.

use std::time::{Duration, Instant};

use super::bulk::bare_command;
use super::busy::{Busy, Load};
use super::contender::Contender;
use super::pty::{Client, Size, pass};
use super::report::{Report, Unit, percentile};
use super::subprocess::Subprocess;
use super::{Lab, stream};

const KEYS: &[u8] = b"#@%&=+";
const PATIENCE: Duration = Duration::from_secs(5);
const READY: Duration = Duration::from_secs(20);
const WINDOW: Duration = Duration::from_secs(6);

/// The load beside the measured process.
const LOAD: Load = Load { number: 4, rate: 10_000_000, patience: READY };

/// Measures idle echo of the bare terminal and of each contender, then echo during a flood and beside four
/// that are busy.
pub(crate) fn run(lab: &Lab, report: &mut Report) -> Result<(), String> {
    lab.renew(report);
    let (rounds, keys) = lab.sized((5, 100), (3, 50));
    idle(lab, report, rounds, keys);
    on_the_deck(lab, report, rounds * keys);
    let file = stream::write(&lab.directory, stream::Kind::Plain, 20_000_000)?;
    for contender in &lab.contenders {
        let flooded = beside_a_flood(lab, contender, &file, rounds * keys / 2);
        let times = noted(report, contender.name(), "key echo, flood", flooded);
        tell(report, "key echo, flood", contender.name(), &times);
    }
    for contender in &lab.contenders {
        let row = "key echo, four at 10 MB/s";
        let (times, rate) = match beside_busy(lab, contender, &file, rounds * keys / 2) {
            Ok((times, rate)) => (times, Ok(rate)),
            Err(error) => (Vec::new(), Err(error)),
        };
        tell(report, row, contender.name(), &times);
        report.record(&format!("{row}: reached by each"), contender.name(), Unit::Rate, rate);
    }
    Ok(())
}

fn idle(lab: &Lab, report: &mut Report, rounds: usize, keys: usize) {
    let mut bare_times = Vec::new();
    let mut times: Vec<Vec<f64>> = lab.contenders.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        bare_times.extend(noted(report, "bare", "key echo", bare(lab, keys)));
        for (index, contender) in lab.contenders.iter().enumerate() {
            times[index].extend(noted(report, contender.name(), "key echo", through(lab, contender, keys)));
        }
    }
    tell(report, "key echo", "bare", &bare_times);
    for (index, contender) in lab.contenders.iter().enumerate() {
        tell(report, "key echo", contender.name(), &times[index]);
    }
}

/// Echo through the deck at 200x50, and how much longer that takes than plain attaching in the same run.
fn on_the_deck(lab: &Lab, report: &mut Report, keys: usize) {
    for contender in &lab.contenders {
        let Some(client) = contender.deck(Size::LARGE) else { continue };
        let row = "key echo, deck";
        let times = client.and_then(|client| in_the_deck(lab, contender, &client, keys));
        let times = noted(report, contender.name(), row, times);
        tell(report, row, contender.name(), &times);
        for figure in ["median", "p99"] {
            let deck = report.value(&format!("{row} {figure}"), contender.name());
            let plain = report.value(&format!("key echo {figure}"), contender.name());
            if let (Some(deck), Some(plain)) = (deck, plain) {
                let beyond = format!("{row} beyond attach, {figure}");
                report.record(&beyond, contender.name(), Unit::Time, Ok((deck - plain).max(0.0)));
            }
        }
    }
}

fn in_the_deck(lab: &Lab, contender: &Contender, client: &Client, keys: usize) -> Result<Vec<f64>, String> {
    let name = lab.fresh_name();
    let subprocess = Subprocess::echo(&lab.directory, &name)?;
    contender.create(&name, Size::NORMAL, &subprocess.argv())?;
    subprocess.done.wait(READY)?;
    client.until_raw(READY)?;
    client.settle(Duration::from_millis(500))?;
    client.write(b"4")?;
    client.settle(Duration::from_millis(500))?;
    client.write(format!("{name}\r").as_bytes())?;
    let times = type_keys(client, keys);
    drop(subprocess);
    contender.forget(&name);
    times
}

fn tell(report: &mut Report, row: &str, who: &'static str, times: &[f64]) {
    if !times.is_empty() {
        report.record(&format!("{row} median"), who, Unit::Time, Ok(percentile(times, 0.50)));
        report.record(&format!("{row} p99"), who, Unit::Time, Ok(percentile(times, 0.99)));
    }
}

fn noted(report: &mut Report, who: &'static str, row: &str, times: Result<Vec<f64>, String>) -> Vec<f64> {
    times.unwrap_or_else(|error| {
        report.note(who, row, &error);
        Vec::new()
    })
}

fn bare(lab: &Lab, keys: usize) -> Result<Vec<f64>, String> {
    let subprocess = Subprocess::echo(&lab.directory, &lab.fresh_name())?;
    let client = Client::start(&bare_command(lab, &subprocess), Size::NORMAL)?;
    subprocess.done.wait(READY)?;
    type_keys(&client, keys)
}

pub(super) fn through(lab: &Lab, contender: &Contender, keys: usize) -> Result<Vec<f64>, String> {
    let name = lab.fresh_name();
    let subprocess = Subprocess::echo(&lab.directory, &name)?;
    contender.create(&name, Size::NORMAL, &subprocess.argv())?;
    subprocess.done.wait(READY)?;
    let client = contender.attach(&name, Size::NORMAL)?;
    let times = type_keys(&client, keys);
    drop(client);
    drop(subprocess);
    contender.forget(&name);
    times
}

fn beside_a_flood(
    lab: &Lab,
    contender: &Contender,
    file: &std::path::Path,
    keys: usize,
) -> Result<Vec<f64>, String> {
    let name = lab.fresh_name();
    let flood = Subprocess::flood(&lab.directory, &name, file, &lab.directory.join(format!("{name}.count")))?;
    contender.create(&name, Size::NORMAL, &flood.argv())?;
    flood.start.open();
    let times = through(lab, contender, keys);
    drop(flood);
    contender.forget(&name);
    times
}

/// Returns the times, and how many bytes a second each busy child printed: a contender that slows them down
/// has an easier task.
fn beside_busy(
    lab: &Lab,
    contender: &Contender,
    file: &std::path::Path,
    keys: usize,
) -> Result<(Vec<f64>, f64), String> {
    let busy = Busy::start(lab, contender, file, &LOAD)?;
    let seconds = || busy.iter().map(Busy::seconds).sum::<f64>();
    let (before, start) = (seconds(), Instant::now());
    let times = through(lab, contender, keys);
    // Counts are of tenths of seconds, so the window is some seconds long even where keys come back at once.
    pass(WINDOW.saturating_sub(start.elapsed()));
    let rate = (seconds() - before) * LOAD.rate as f64 / LOAD.number as f64 / start.elapsed().as_secs_f64();
    for one in busy {
        let name = one.name.clone();
        drop(one);
        contender.forget(&name);
    }
    Ok((times?, rate))
}

fn type_keys(client: &Client, count: usize) -> Result<Vec<f64>, String> {
    client.until_raw(READY)?;
    client.settle(Duration::from_millis(300))?;
    // The first keys pay for pages and caches that a person's second key finds warm.
    for key in KEYS {
        client.echo(*key, PATIENCE)?;
    }
    KEYS.iter().cycle().take(count).map(|key| Ok(client.echo(*key, PATIENCE)?.as_secs_f64())).collect()
}
