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
const TIMEOUT: Duration = Duration::from_secs(5);
const READY: Duration = Duration::from_secs(20);
const WINDOW: Duration = Duration::from_secs(6);
/// A deck has asked everything that it asks at its start.
pub(super) const ASKED: Duration = Duration::from_secs(12);

/// The load beside the measured process.
const LOAD: Load = Load { number: 4, rate: 10_000_000, timeout: READY };

/// Measures idle echo of the bare terminal and of each contender, then echo during a flood and beside four
/// that are busy.
pub(crate) fn run(lab: &Lab, report: &mut Report) -> Result<(), String> {
    lab.renew(report);
    let (rounds, keys) = lab.sized((5, 100), (3, 50));
    idle(lab, report, rounds, keys);
    on_the_deck(lab, report, lab.sized((5, 200), (3, 50)));
    let file = stream::write(&lab.directory, stream::Kind::Plain, 20_000_000)?;
    for contender in &lab.contenders {
        let flooded = beside_a_flood(lab, contender, &file, rounds * keys / 2);
        let times = noted(report, contender.name(), "key echo, flood", flooded);
        record_times(report, "key echo, flood", contender.name(), &times);
    }
    for contender in &lab.contenders {
        let row = "key echo, four at 10 MB/s";
        let (times, rate) = match beside_busy(lab, contender, &file, rounds * keys / 2) {
            Ok((times, rate)) => (times, Ok(rate)),
            Err(error) => (Vec::new(), Err(error)),
        };
        record_times(report, row, contender.name(), &times);
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
    record_times(report, "key echo", "bare", &bare_times);
    for (index, contender) in lab.contenders.iter().enumerate() {
        record_times(report, "key echo", contender.name(), &times[index]);
    }
}

/// Echo in the left one of two panes of a deck at 200x50, and how much longer that takes than attaching in a terminal of
/// the same size. The two take turns, so that both have the same machine.
fn on_the_deck(lab: &Lab, report: &mut Report, (rounds, keys): (usize, usize)) {
    for contender in &lab.contenders {
        let Some(client) = contender.deck(Size::LARGE) else { continue };
        let row = "key echo, deck";
        let times = client.and_then(|client| in_the_deck(lab, contender, &client, (rounds, keys)));
        let [deck, plain] = times.unwrap_or_else(|error| {
            report.note(contender.name(), row, &error);
            Default::default()
        });
        record_times(report, row, contender.name(), &deck);
        record_times(report, "key echo, attach in turns with the deck", contender.name(), &plain);
        for (figure, part) in [("median", 0.50), ("p99", 0.99)] {
            if !deck.is_empty() && !plain.is_empty() {
                let beyond = (percentile(&deck, part) - percentile(&plain, part)).max(0.0);
                let name = format!("{row} beyond attach, {figure}");
                report.record(&name, contender.name(), Unit::Time, Ok(beyond));
            }
        }
    }
}

/// Returns how long keys took in the deck, and by attaching. The two take turns in terminals of the same size.
pub(super) fn in_the_deck(
    lab: &Lab,
    contender: &Contender,
    client: &Client,
    (rounds, keys): (usize, usize),
) -> Result<[Vec<f64>; 2], String> {
    let echo = || {
        let name = lab.fresh_name();
        let subprocess = Subprocess::echo(&lab.directory, &name)?;
        contender.create(&name, Size::LARGE, &subprocess.argv())?;
        subprocess.done.wait(READY)?;
        Ok::<_, String>((name, subprocess))
    };
    let (shown, beside, attached) = (echo()?, echo()?, echo()?);
    client.until_raw(READY)?;
    show_beside(client, &shown.0, &beside.0)?;
    let plain = contender.attach(&attached.0, Size::LARGE)?;
    plain.until_raw(READY)?;
    let mut times: [Vec<f64>; 2] = Default::default();
    for _ in 0..rounds {
        for (times, client) in times.iter_mut().zip([client, &plain]) {
            client.settle(Duration::from_millis(300))?;
            times.extend(self::keys(client, keys)?);
        }
    }
    for (name, subprocess) in [shown, beside, attached] {
        drop(subprocess);
        contender.forget(&name);
    }
    Ok(times)
}

/// Shows a process in a deck that is empty, and another at its right; the keys go to the first one. Returns when the deck has
/// asked what it asks at its start: which agents there are, and which ports are open. The daemon looks these up meanwhile,
/// on the same processors.
pub(super) fn show_beside(client: &Client, name: &str, other: &str) -> Result<(), String> {
    let pause = Duration::from_millis(500);
    client.settle(pause)?;
    for keys in ["4", &format!("{name}\r"), "\u{1c}v", &format!("{other}\r"), "\u{1c}h"] {
        client.write(keys.as_bytes())?;
        // The other one may draw without end.
        client.drawn_within(pause)?;
    }
    client.drawn_within(ASKED).map(drop)
}

fn record_times(report: &mut Report, row: &str, who: &'static str, times: &[f64]) {
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
    self::keys(client, count)
}

/// Types keys one by one; returns how long each took to come back.
pub(super) fn keys(client: &Client, count: usize) -> Result<Vec<f64>, String> {
    // The first keys pay for pages and caches that a person's second key finds warm.
    for key in KEYS {
        client.echo(*key, TIMEOUT)?;
    }
    KEYS.iter().cycle().take(count).map(|key| Ok(client.echo(*key, TIMEOUT)?.as_secs_f64())).collect()
}
