//! Creation: a hundred processes by a hundred command lines, and for `qd` over one connection. The server
//! runs already; cold starts have their own row.

use std::time::Instant;

use super::contender::Contender;
use super::pty::Size;
use super::report::{Report, Unit, percentile};
use super::wire::Connection;
use super::{Lab, report};

const COUNT: usize = 100;

/// Each contender creates, then `qd` again over one connection.
pub(crate) fn run(lab: &Lab, report: &mut Report) -> Result<(), String> {
    for _ in 0..lab.sized(3, 1) {
        for contender in &lab.contenders {
            let times = by_command_line(lab, contender);
            record(report, contender.name(), "create 100", times);
            if contender.name() == "qd" {
                record(report, "qd", "create 100, one connection", by_connection(lab, contender));
            }
            contender.stop();
        }
    }
    Ok(())
}

fn record(report: &mut Report, who: &'static str, row: &str, times: Result<Vec<f64>, String>) {
    let total = times.as_ref().map(|times| times.iter().sum()).map_err(Clone::clone);
    report.record(row, who, report::Unit::Time, total);
    if let Ok(times) = times {
        report.record(&format!("{row}, p95 of one"), who, Unit::Time, Ok(percentile(&times, 0.95)));
    }
}

fn idle_child() -> Vec<String> {
    vec!["sleep".to_owned(), "100000".to_owned()]
}

fn by_command_line(lab: &Lab, contender: &Contender) -> Result<Vec<f64>, String> {
    warm(lab, contender)?;
    let one = |_| {
        let start = Instant::now();
        contender.create(&lab.fresh_name(), Size::NORMAL, &idle_child())?;
        Ok(start.elapsed().as_secs_f64())
    };
    (0..COUNT).map(one).collect()
}

fn by_connection(lab: &Lab, contender: &Contender) -> Result<Vec<f64>, String> {
    warm(lab, contender)?;
    let root = &contender.place.root;
    let mut connection = Connection::open(&root.join("run"))?;
    let mut one = |_| {
        let start = Instant::now();
        connection.spawn(&lab.fresh_name(), &root.join("home"), &idle_child())?;
        Ok(start.elapsed().as_secs_f64())
    };
    (0..COUNT).map(&mut one).collect()
}

fn warm(lab: &Lab, contender: &Contender) -> Result<(), String> {
    contender.renew()?;
    contender.create(&lab.fresh_name(), Size::NORMAL, &idle_child())
}
