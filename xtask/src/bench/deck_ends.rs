//! How soon a deck is gone when its terminal is, with what effort, and how soon other faces hear of what was looked at in it.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::contender::Contender;
use super::pty::{Client, HungUp, Size, pass};
use super::report::{Report, Unit, percentile};
use super::{Lab, web};

const READY: Duration = Duration::from_secs(20);
/// A deck has drawn what has just happened.
const DRAWN: Duration = Duration::from_millis(500);
/// How long something is looked at until it counts as seen.
const SEEN: Duration = Duration::from_secs(1);
/// How often the other face is asked.
const LOOK: Duration = Duration::from_millis(10);

/// Measures both.
pub(crate) fn run(lab: &Lab, contender: &Contender, report: &mut Report) {
    match hang_ups(lab, contender) {
        Ok(ends) => {
            let gone: Vec<f64> = ends.iter().map(|end| end.gone.as_secs_f64()).collect();
            let effort: Vec<f64> = ends.iter().map(|end| end.effort.as_secs_f64()).collect();
            let mut worst = |row: &str, times: &[f64]| {
                report.record(row, contender.name(), Unit::Time, Ok(percentile(times, 1.0)));
            };
            worst("deck, hang-up until gone, worst", &gone);
            worst("deck, hang-up until gone, processor, worst", &effort);
        }
        Err(error) => report.note(contender.name(), "deck, hang-up", &error),
    }
    let times = seen(lab, contender);
    let worst = times.map(|times| percentile(&times, 1.0));
    report.record("deck, seen until another face says so, worst", contender.name(), Unit::Time, worst);
}

fn deck(contender: &Contender) -> Result<Client, String> {
    let client = contender.deck(Size::LARGE).unwrap_or_else(|| Err("it has no deck".to_owned()))?;
    client.read_all_of(&[b"COMMANDS"], READY)?;
    client.drawn_within(DRAWN)?;
    Ok(client)
}

/// The terminal of a deck that shows a process goes away.
fn hang_ups(lab: &Lab, contender: &Contender) -> Result<Vec<HungUp>, String> {
    let name = lab.fresh_name();
    contender.create(&name, Size::NORMAL, &["cat".to_owned()])?;
    let rounds = lab.sized(20, 5);
    (0..rounds).map(|_| deck(contender)?.hang_up(READY)).collect()
}

/// A process fails out of sight and is looked at; returns how long after the second that this takes `qd ps` has it as seen.
fn seen(lab: &Lab, contender: &Contender) -> Result<Vec<f64>, String> {
    let client = deck(contender)?;
    let mut times = Vec::new();
    for _ in 0..lab.sized(20, 5) {
        let name = lab.fresh_name();
        contender.create(&name, Size::NORMAL, &["/bin/sh", "-c", "exit 3"].map(str::to_owned))?;
        until(contender, &name, true)?;
        client.drawn_within(DRAWN)?;
        let start = Instant::now();
        client.write(b"\x1cn")?;
        until(contender, &name, false)?;
        times.push(start.elapsed().saturating_sub(SEEN).as_secs_f64());
        contender.forget(&name);
        client.drawn_within(DRAWN)?;
    }
    Ok(times)
}

/// Asks until `qd ps` has this process as unseen, or not any more.
fn until(contender: &Contender, name: &str, is_unseen: bool) -> Result<(), String> {
    let end = Instant::now() + READY;
    loop {
        let listed = web::ask(&contender.place, &["ps", "--json"])?;
        let all = listed.as_array().or_else(|| listed["processes"].as_array());
        let found = all.into_iter().flatten().find(|process| process["name"] == name);
        if found.is_some_and(|process| process.get("unseen").is_some_and(Value::is_object) == is_unseen) {
            return Ok(());
        }
        if Instant::now() > end {
            return Err(format!("`qd ps` never had {name} as it must be: {listed}"));
        }
        pass(LOOK);
    }
}
