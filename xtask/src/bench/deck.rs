//! The deck: from its start to the first picture with fifty processes, its effort beside a hundred idle ones, and key
//! echo in it while another pane, shown or hidden, prints ten megabytes a second, a key that is held over a slow link, and how
//! long a picture takes to compose. `deck_ends` measures how soon a deck is gone.

use std::path::Path;
use std::time::{Duration, Instant};

use super::busy::{Busy, Load};
use super::contender::Contender;
use super::pty::{Client, Size, pass};
use super::report::{Report, Unit, percentile};
use super::subprocess::Subprocess;
use super::{Lab, deck_ends, echo, instructions, process_scan, stream};
use crate::step;

const READY: Duration = Duration::from_secs(20);
/// Start-up work is over after this.
const SETTLED: Duration = Duration::from_millis(1500);
/// The heading of the rail's section that has the processes.
const HEADING: &[u8] = b"COMMANDS";

/// Bytes a second of a slow link.
const LINK: usize = 50_000;
/// The pause of a key that is held.
const HELD_PAUSE: Duration = Duration::from_millis(33);

/// What no terminal shows from outside, and the case of the example that measures it.
const COMPOSING: [(&str, &str); 2] =
    [("deck, whole picture composed, 200x50", "whole"), ("deck, one row composed, 200x50", "row")];

/// The load beside the measured process.
const LOAD: Load = Load { number: 1, rate: 10_000_000, timeout: READY };

/// Measures every contender that has a deck.
pub(crate) fn run(lab: &Lab, report: &mut Report) -> Result<(), String> {
    let file = stream::write(&lab.directory, stream::Kind::Plain, 20_000_000)?;
    for contender in
        lab.contenders.iter().filter(|contender| contender.dialect.deck(&contender.place).is_some())
    {
        contender.renew()?;
        create(lab, contender, 50)?;
        report.record(
            "deck, start to picture, 50 processes",
            contender.name(),
            Unit::Time,
            start(lab, contender),
        );
        create(lab, contender, 50)?;
        for rest in [Rest::Empty, Rest::TwoPanes] {
            if let Err(error) = idle(lab, report, contender, rest) {
                report.note(contender.name(), rest.row(), &error);
            }
        }
        contender.renew()?;
        if let Err(error) = floods(lab, report, contender, &file) {
            report.note(contender.name(), "deck, flood", &error);
        }
        contender.renew()?;
        deck_ends::run(lab, contender, report);
        contender.renew()?;
        let late = slow_link(lab, contender);
        report.record("deck, key held at 50 KB/s: last change", contender.name(), Unit::Time, late);
        for (row, case) in COMPOSING {
            report.record(row, contender.name(), Unit::Time, composing(case));
        }
        contender.stop();
    }
    Ok(())
}

fn create(lab: &Lab, contender: &Contender, count: usize) -> Result<(), String> {
    (0..count).try_for_each(|_| contender.create(&lab.fresh_name(), Size::NORMAL, &["cat".to_owned()]))
}

fn open(contender: &Contender) -> Result<Client, String> {
    contender.deck(Size::LARGE).unwrap_or_else(|| Err("it has no deck".to_owned()))
}

/// Median time from the start of the program to a picture that has the processes.
fn start(lab: &Lab, contender: &Contender) -> Result<f64, String> {
    let mut times = Vec::new();
    for round in 0..lab.sized(15, 7) {
        // The daemon is still looking up ports for the deck of the round before.
        pass(SETTLED);
        let start = Instant::now();
        let client = open(contender)?;
        client.read_all_of(&[HEADING], READY)?;
        // The first start reads the program from the disk.
        if round > 0 {
            times.push(start.elapsed().as_secs_f64());
        }
    }
    Ok(percentile(&times, 0.5))
}

/// What a deck that rests shows.
#[derive(Clone, Copy)]
enum Rest {
    /// The rail alone.
    Empty,
    /// Two of the processes, beside each other.
    TwoPanes,
}

impl Rest {
    fn row(self) -> &'static str {
        match self {
            Self::Empty => "deck, 100 idle",
            Self::TwoPanes => "deck with two panes, 100 idle",
        }
    }
}

/// Effort and output of a deck beside processes that do nothing.
fn idle(lab: &Lab, report: &mut Report, contender: &Contender, rest: Rest) -> Result<(), String> {
    let is_long = lab.is_long && matches!(rest, Rest::TwoPanes);
    let seconds = if is_long { 600 } else { lab.sized(60, 5) };
    let window = Duration::from_secs(seconds);
    let client = open(contender)?;
    client.read_all_of(&[HEADING], READY)?;
    match rest {
        Rest::Empty => pass(echo::ASKED),
        Rest::TwoPanes => {
            let (shown, beside) = (lab.fresh_name(), lab.fresh_name());
            for name in [&shown, &beside] {
                contender.create(name, Size::NORMAL, &["cat".to_owned()])?;
            }
            echo::show_beside(&client, &shown, &beside)?;
        }
    }
    client.settle(SETTLED)?;
    let before = process_scan::effort(&[client.pid()]);
    let drawn = client.drawn_within(window)?;
    let after = process_scan::effort(&[client.pid()]);
    let share = after.nanoseconds.saturating_sub(before.nanoseconds) as f64 / window.as_nanos() as f64;
    let wakeups = after.wakeups.saturating_sub(before.wakeups) as f64 / window.as_secs_f64();
    let mut record = |figure: &str, unit: Unit, value: f64| {
        report.record(&format!("{}: {figure}", rest.row()), contender.name(), unit, Ok(value));
    };
    record("processor", Unit::Share, share);
    record("bytes drawn", Unit::Bytes, drawn as f64);
    record("wake-ups per second", Unit::Count, wakeups);
    Ok(())
}

/// A key is held for five seconds in a terminal that takes 50 KB a second, and each makes the whole pane scroll; returns how
/// long after its release the last change is there.
fn slow_link(lab: &Lab, contender: &Contender) -> Result<f64, String> {
    let name = lab.fresh_name();
    let subprocess = Subprocess::scrolls(&lab.directory, &name)?;
    contender.create(&name, Size::LARGE, &subprocess.argv())?;
    subprocess.done.wait(READY)?;
    let client = open(contender)?.answering();
    client.read_all_of(&[HEADING], READY)?;
    for typed in ["4", &format!("{name}\r")] {
        client.settle(Duration::from_millis(500))?;
        client.write(typed.as_bytes())?;
    }
    client.drawn_within(echo::ASKED)?;
    let held = Instant::now();
    for number in 0..150u32 {
        client.write(b"j")?;
        client.read_slowly(held + HELD_PAUSE * number, LINK)?;
    }
    let released = Instant::now();
    client.write(b"z")?;
    client.read_slowly_until(b"ZZZZZZZZ", released + READY, LINK)?;
    Ok(released.elapsed().as_secs_f64())
}

/// Median time of composing and encoding, in the deck's own crate.
fn composing(case: &str) -> Result<f64, String> {
    let program = instructions::build("tui", "deck_times")?;
    let printed = step::output(step::command(program).arg(case))?;
    let nanoseconds: f64 =
        printed.trim().parse().map_err(|_| format!("`{case}` named no time: {printed}"))?;
    Ok(nanoseconds / 1e9)
}

/// Key echo beside a flood: in the deck with the flood hidden and by plain attaching, in turns at one size, and in the deck
/// with the flood in sight.
fn floods(lab: &Lab, report: &mut Report, contender: &Contender, file: &Path) -> Result<(), String> {
    let busy = Busy::start(lab, contender, file, &LOAD)?;
    let flood = busy.first().map(|busy| busy.name.clone()).unwrap_or_default();
    let client = open(contender)?;
    client.read_all_of(&[HEADING], READY)?;
    // A thousand keys, a tenth of them in a quick run.
    let turns = echo::in_the_deck(lab, contender, &client, lab.sized((5, 200), (2, 50)))?;
    let [hidden, plain] = turns.map(|times| percentile(&times, 0.99));
    drop(client);
    let name = lab.fresh_name();
    let subprocess = Subprocess::echo(&lab.directory, &name)?;
    contender.create(&name, Size::NORMAL, &subprocess.argv())?;
    subprocess.done.wait(READY)?;
    let quiet = lab.fresh_name();
    contender.create(&quiet, Size::NORMAL, &["cat".to_owned()])?;
    let client = open(contender)?;
    client.read_all_of(&[HEADING], READY)?;
    echo::show_beside(&client, &name, &quiet)?;
    // Below it; the keys go on to the first one.
    for typed in ["\u{1c}s", &format!("{flood}\r"), "\u{1c}k"] {
        client.write(typed.as_bytes())?;
        client.drawn_within(SETTLED)?;
    }
    let shown = percentile(&echo::keys(&client, lab.sized(500, 100))?, 0.99);
    let record = |report: &mut Report, row: &str, value: f64| {
        report.record(row, contender.name(), Unit::Time, Ok(value));
    };
    record(report, "key echo, attach beside 10 MB/s p99", plain);
    record(report, "key echo, deck, hidden 10 MB/s p99", hidden);
    record(report, "key echo, deck, hidden 10 MB/s beyond attach, p99", (hidden - plain).max(0.0));
    record(report, "key echo, deck, shown 10 MB/s p99", shown);
    Ok(())
}
