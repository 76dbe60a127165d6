//! The figures to reach, one line each: `goal=<n> value=<x> limit=<y> pass|fail`. Owns the list; a goal whose row was
//! not measured is told as failed when its row was asked for, and left out when it was not.

use serde_json::{Value, json};

use super::report::{Report, show};

/// What is compared with the limit.
#[derive(Clone, Copy)]
enum Figure {
    /// The value itself.
    Plain,
    /// The value over the same row of another contender.
    Over(&'static str),
    /// How many times smaller than the same row of another contender; only judged when that one was measured.
    TimesBelow(&'static str),
    /// The value over another row of qd.
    OverRow(&'static str),
}

#[derive(Clone, Copy)]
enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

struct Goal {
    number: u8,
    row: &'static str,
    figure: Figure,
    limit: Limit,
}

const fn goal(number: u8, row: &'static str, figure: Figure, limit: Limit) -> Goal {
    Goal { number, row, figure, limit }
}

use Figure::{Over, OverRow, Plain, TimesBelow};
use Limit::{AtLeast, AtMost};

const GOALS: &[Goal] = &[
    goal(1, "plain detached", Over("bare"), AtLeast(0.80)),
    goal(2, "plain attached", Over("bare"), AtLeast(0.70)),
    goal(2, "plain lost from the log", Plain, AtMost(0.0)),
    goal(3, "colour detached", Over("bare"), AtLeast(0.80)),
    goal(3, "colour attached", Over("bare"), AtLeast(0.70)),
    goal(3, "repaint detached", Over("bare"), AtLeast(0.80)),
    goal(3, "repaint attached", Over("bare"), AtLeast(0.70)),
    goal(4, "four at once", Over("bare"), AtLeast(0.75)),
    goal(5, "key echo median", Over("tmux"), AtMost(0.95)),
    goal(5, "key echo median", TimesBelow("zellij"), AtLeast(20.0)),
    goal(5, "key echo p99", OverRow("key echo median"), AtMost(2.5)),
    goal(6, "key echo, flood p99", Plain, AtMost(0.030)),
    goal(7, "attach to full paint", Plain, AtMost(0.010)),
    goal(8, "create 100, one connection", Plain, AtMost(0.5)),
    goal(8, "create 100", Plain, AtMost(1.0)),
    goal(8, "create 100, p95 of one", Plain, AtMost(0.050)),
    goal(9, "memory, 1 idle", Plain, AtMost(8.25e6)),
    goal(9, "memory, 100 idle", Plain, AtMost(33e6)),
    goal(9, "memory, 200 idle", Plain, AtMost(58e6)),
    goal(10, "processor, 200 idle", Plain, AtMost(0.002)),
    goal(10, "wake-ups per second, 200 idle", Plain, AtMost(1.0)),
    goal(11, "20 stalled viewers, speed kept", Plain, AtLeast(0.9)),
    goal(11, "20 stalled viewers, growth", Plain, AtMost(33_554_432.0)),
    goal(12, "list, round trip", Plain, AtMost(0.006)),
    goal(12, "read, round trip", Plain, AtMost(0.006)),
    goal(13, "cold start", Plain, AtMost(0.060)),
    goal(14, "adopt 100 after kill -9", Plain, AtMost(1.0)),
    goal(15, "memory, one busy 200x50", Plain, AtMost(25_165_824.0)),
];

/// One goal's outcome.
pub(crate) struct Verdict {
    number: u8,
    row: String,
    value: String,
    limit: String,
    is_met: bool,
}

impl Verdict {
    /// The one line for people and scripts.
    pub(crate) fn tell(&self) -> String {
        let outcome = if self.is_met { "pass" } else { "fail" };
        format!("goal={} value={} limit={} {outcome}  {}", self.number, self.value, self.limit, self.row)
    }

    pub(crate) fn json(&self) -> Value {
        json!({"goal": self.number, "row": self.row, "value": self.value, "limit": self.limit, "pass": self.is_met})
    }
}

/// All goals whose row is in the report.
pub(crate) fn judge(report: &Report) -> Vec<Verdict> {
    GOALS.iter().filter_map(|goal| verdict(report, goal)).collect()
}

fn verdict(report: &Report, goal: &Goal) -> Option<Verdict> {
    let unit = report.unit(goal.row)?;
    let own = report.value(goal.row, "qd");
    let (value, row) = match goal.figure {
        Plain => (own, goal.row.to_owned()),
        Over(peer) => (report.ratio(goal.row, "qd", peer), format!("{} / {peer}", goal.row)),
        TimesBelow(peer) => {
            let peer_value = report.value(goal.row, peer)?;
            (divide(Some(peer_value), own), format!("{peer} / qd, {}", goal.row))
        }
        OverRow(other) => (divide(own, report.value(other, "qd")), format!("{} / {other}", goal.row)),
    };
    let shown = |figure: f64| match goal.figure {
        Plain => show(figure, unit).replace(' ', ""),
        Over(_) | TimesBelow(_) | OverRow(_) => format!("{figure:.2}"),
    };
    let (limit, is_met) = match goal.limit {
        AtLeast(limit) => (format!(">={}", shown(limit)), value.is_some_and(|value| value >= limit)),
        AtMost(limit) => (format!("<={}", shown(limit)), value.is_some_and(|value| value <= limit)),
    };
    Some(Verdict {
        number: goal.number,
        row,
        value: value.map_or_else(|| "none".to_owned(), shown),
        limit,
        is_met,
    })
}

fn divide(above: Option<f64>, below: Option<f64>) -> Option<f64> {
    Some(above? / below.filter(|below| *below > 0.0)?)
}

#[cfg(test)]
mod tests {
    use super::super::report::Unit;
    use super::*;

    fn told(samples: &[(&str, &'static str, Unit, f64)]) -> Vec<String> {
        let mut report = Report::new(vec!["qd", "tmux"]);
        for (row, who, unit, value) in samples {
            report.record(row, who, *unit, Ok(*value));
        }
        judge(&report).iter().map(Verdict::tell).collect()
    }

    #[test]
    fn a_speed_is_judged_as_a_fraction_of_bare() {
        let plain = |qd| {
            told(&[("plain detached", "bare", Unit::Rate, 100.0), ("plain detached", "qd", Unit::Rate, qd)])
        };
        assert_eq!(plain(80.0), ["goal=1 value=0.80 limit=>=0.80 pass  plain detached / bare"]);
        assert_eq!(plain(79.0), ["goal=1 value=0.79 limit=>=0.80 fail  plain detached / bare"]);
    }

    #[test]
    fn a_row_where_only_peers_have_figures_fails() {
        let line = told(&[("cold start", "tmux", Unit::Time, 0.01)]);
        assert_eq!(line, ["goal=13 value=none limit=<=60.0ms fail  cold start"]);
    }

    #[test]
    fn a_peer_that_is_not_there_is_not_compared_with() {
        let line = told(&[
            ("key echo median", "qd", Unit::Time, 1e-4),
            ("key echo median", "tmux", Unit::Time, 2e-4),
        ]);
        assert_eq!(line, ["goal=5 value=0.50 limit=<=0.95 pass  key echo median / tmux"]);
    }
}
