//! The goals, one line each: `goal=<n> value=<x> limit=<y> pass|fail`. A goal whose family was run and whose
//! figure is missing has failed; one whose family was not run is left out.

use serde_json::{Value, json};

use super::report::{Report, Unit, show};

/// What is compared with the limit.
#[derive(Clone, Copy)]
enum Figure {
    /// The value itself, in this unit.
    Plain(Unit),
    /// The value over the same row of another contender; left out when that one was not in the run.
    Over(&'static str),
    /// How many times smaller than the same row of another contender; left out when that one was not in the run.
    TimesBelow(&'static str),
    /// The value over another row of qd.
    OverRow(&'static str),
}

#[derive(Clone, Copy)]
enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

/// Its name (a number of the list of figures, or `h` and a number of the list of hazards), its row, what is judged.
type Line = (&'static str, &'static str, Figure, Limit);

use Figure::{Over, OverRow, Plain, TimesBelow};
use Limit::{AtLeast, AtMost};
use Unit::{Bytes, Count, Ratio, Share, Time};

/// Goals by the family that measures their rows.
const GOALS: &[(&str, &[Line])] = &[
    (
        "bulk",
        &[
            ("1", "plain detached", Over("bare"), AtLeast(0.90)),
            ("2", "plain attached", Over("bare"), AtLeast(0.70)),
            ("2", "plain lost from the log", Plain(Bytes), AtMost(0.0)),
            ("3", "colour detached", Over("bare"), AtLeast(0.90)),
            ("3", "colour attached", Over("bare"), AtLeast(0.70)),
            ("3", "repaint detached", Over("bare"), AtLeast(0.80)),
            ("3", "repaint attached", Over("bare"), AtLeast(0.70)),
        ],
    ),
    ("four", &[("4", "four at once", Over("bare"), AtLeast(0.75))]),
    (
        "echo",
        &[
            ("5", "key echo median", Over("tmux"), AtMost(0.95)),
            ("5", "key echo median", TimesBelow("zellij"), AtLeast(20.0)),
            ("5", "key echo p99", OverRow("key echo median"), AtMost(2.5)),
            ("6", "key echo, flood p99", Plain(Time), AtMost(0.030)),
            ("u1", "key echo, deck beyond attach, median", Plain(Time), AtMost(0.000_25)),
            ("u1", "key echo, deck beyond attach, p99", Plain(Time), AtMost(0.001)),
            ("h31", "key echo, four at 10 MB/s p99", Plain(Time), AtMost(0.030)),
        ],
    ),
    (
        "deck",
        &[
            ("u1", "deck, start to picture, 50 processes", Plain(Time), AtMost(0.060)),
            ("u2", "key echo, deck, shown 10 MB/s p99", Plain(Time), AtMost(0.030)),
            ("u2", "key echo, deck, hidden 10 MB/s beyond attach, p99", Plain(Time), AtMost(0.001)),
            ("u17", "deck, seen until another face says so, worst", Plain(Time), AtMost(1.0)),
            ("d7", "deck, hang-up until gone, worst", Plain(Time), AtMost(1.0)),
            ("d7", "deck, hang-up until gone, processor, worst", Plain(Time), AtMost(0.050)),
            ("u4", "deck, key held at 50 KB/s: last change", Plain(Time), AtMost(0.200)),
            ("u5", "deck, 100 idle: processor", Plain(Share), AtMost(0.003)),
            ("u5", "deck, 100 idle: bytes drawn", Plain(Bytes), AtMost(0.0)),
            ("u5", "deck, 100 idle: wake-ups per second", Plain(Count), AtMost(0.0)),
            ("u5", "deck with two panes, 100 idle: processor", Plain(Share), AtMost(0.003)),
            ("u5", "deck with two panes, 100 idle: bytes drawn", Plain(Bytes), AtMost(0.0)),
            ("u5", "deck with two panes, 100 idle: wake-ups per second", Plain(Count), AtMost(0.0)),
            ("u6", "deck, whole picture composed, 200x50", Plain(Time), AtMost(0.002)),
            ("u6", "deck, one row composed, 200x50", Plain(Time), AtMost(0.000_05)),
        ],
    ),
    ("paint", &[("7", "attach to full paint", Plain(Time), AtMost(0.010))]),
    (
        "create",
        &[
            ("8", "create 100, one connection", Plain(Time), AtMost(0.5)),
            ("8", "create 100", Plain(Time), AtMost(1.0)),
            ("8", "create 100", Over("tmux"), AtMost(1.0)),
            ("8", "create 100, p95 of one", Plain(Time), AtMost(0.050)),
        ],
    ),
    (
        "bombs",
        &[
            ("a5", "key beside bombs 200x60, worst", Plain(Time), AtMost(0.050)),
            ("a5", "key beside bombs 1000x1000, worst", Plain(Time), AtMost(0.250)),
            ("a5", "close of a bomb 200x60, worst", Plain(Time), AtMost(6.0)),
            ("a5", "close of a bomb 1000x1000, worst", Plain(Time), AtMost(6.0)),
        ],
    ),
    (
        "idle",
        &[
            ("9", "memory, 1 idle", Plain(Bytes), AtMost(8.25e6)),
            ("9", "memory, 100 idle", Plain(Bytes), AtMost(20e6)),
            ("9", "memory, 200 idle", Plain(Bytes), AtMost(58e6)),
            ("10", "processor, 200 idle", Plain(Share), AtMost(0.002)),
            ("10", "wake-ups per second, 200 idle", Plain(Count), AtMost(1.0)),
        ],
    ),
    ("busy", &[("15", "memory, one busy 200x50", Plain(Bytes), AtMost(25_165_824.0))]),
    (
        "stalled",
        &[
            ("11", "20 stalled viewers, speed kept", Plain(Ratio), AtLeast(0.9)),
            ("11", "20 stalled viewers, growth", Plain(Bytes), AtMost(33_554_432.0)),
        ],
    ),
    (
        "verbs",
        &[
            ("12", "list, round trip", Plain(Time), AtMost(0.006)),
            ("12", "read, round trip", Plain(Time), AtMost(0.006)),
        ],
    ),
    ("cold", &[("13", "cold start", Plain(Time), AtMost(0.060))]),
    ("adopt", &[("14", "adopt 100 after kill -9", Plain(Time), AtMost(1.0))]),
    (
        "many",
        &[
            ("h1", "200 live, 20 busy: spawn p95", Plain(Time), AtMost(0.050)),
            ("h1", "200 live, 20 busy: daemon resident", Plain(Bytes), AtMost(250e6)),
            ("h1", "200 live, 20 busy: holder, mean", Plain(Bytes), AtMost(0.5e6)),
            ("h1", "200 live, 20 busy: descriptors each", Plain(Count), AtMost(4.0)),
        ],
    ),
    (
        "worktree",
        &[
            ("w1", "status, 50,000 files, unchanged", Over("bare"), AtMost(1.2)),
            ("w1", "status, 50,000 files, one edit", Over("bare"), AtMost(1.2)),
            ("w1", "status, 50,000 files, one edit by rename", Over("bare"), AtMost(1.2)),
            ("w2", "new worktree", Over("bare"), AtMost(1.15)),
            ("w3", "50 tasks, nothing changed", Plain(Time), AtMost(0.060)),
            ("w3", "50 tasks, git processes", Plain(Count), AtMost(0.0)),
        ],
    ),
    (
        "web",
        &[
            ("w17", "web: 20 stalled viewers, speed kept", Plain(Ratio), AtLeast(0.9)),
            ("w17", "web: 20 stalled viewers, growth", Plain(Bytes), AtMost(33_554_432.0)),
            ("w19", "web: key echo median", Over("wetty"), AtMost(1.0)),
            ("w19", "web: key echo median", Over("ttyd"), AtMost(1.0)),
            ("w19", "web: key echo median", TimesBelow("zellij"), AtLeast(5.0)),
            ("a9", "web: key echo, one stalled and two more viewers p99", Plain(Time), AtMost(0.050)),
            ("w19", "web: key echo, four at 10 MB/s p99", Plain(Time), AtMost(0.060)),
            ("w8", "web: revocation to close p99", Plain(Time), AtMost(1.0)),
            ("w21", "web: lease to old size, given back p99", Plain(Time), AtMost(1.0)),
            ("w21", "web: lease to old size, connection lost p99", Plain(Time), AtMost(1.0)),
            ("w21", "web: lease to old size, typed at the desk p99", Plain(Time), AtMost(1.0)),
            ("w24", "web: deck drawn median", Plain(Time), AtMost(0.300)),
            ("w24", "web: screen drawn median", Plain(Time), AtMost(0.500)),
            ("w24", "web: deck drawn on a slow device median", Plain(Time), AtMost(1.5)),
        ],
    ),
    (
        "tasks",
        &[
            ("w3", "50 tasks, listed", Plain(Time), AtMost(0.060)),
            ("w3", "50 tasks, listed, git processes", Plain(Count), AtMost(0.0)),
            ("w3", "100 tasks, listed", OverRow("50 tasks, listed"), AtMost(2.2)),
            ("w2", "new task with a worktree", Over("bare"), AtMost(1.15)),
        ],
    ),
    ("crowd", &[("h2", "200 viewers, 50 on one: first frame p95", Plain(Time), AtMost(0.100))]),
];

/// One goal's outcome.
pub(crate) struct Verdict {
    pub(crate) name: &'static str,
    pub(crate) row: String,
    pub(crate) value: String,
    pub(crate) limit: String,
    pub(crate) is_met: bool,
}

impl Verdict {
    /// Returns the one line for people and scripts.
    pub(crate) fn line(&self) -> String {
        let outcome = if self.is_met { "pass" } else { "fail" };
        format!("goal={} value={} limit={} {outcome}  {}", self.name, self.value, self.limit, self.row)
    }

    pub(crate) fn json(&self) -> Value {
        json!({"goal": self.name, "row": self.row, "value": self.value, "limit": self.limit, "pass": self.is_met})
    }
}

/// Returns all goals of these families.
pub(crate) fn judge(report: &Report, families: &[&str]) -> Vec<Verdict> {
    let asked = GOALS.iter().filter(|(family, _)| families.contains(family));
    asked.flat_map(|(_, lines)| lines.iter()).filter_map(|line| verdict(report, *line)).collect()
}

fn verdict(report: &Report, (name, row, figure, limit): Line) -> Option<Verdict> {
    let own = report.value(row, "qd");
    let (value, told) = match figure {
        Plain(_) => (own, row.to_owned()),
        Over(peer) | TimesBelow(peer) if !report.has(peer) => return None,
        Over(peer) => (report.ratio(row, "qd", peer), format!("{row} / {peer}")),
        TimesBelow(peer) => (divide(report.value(row, peer), own), format!("{peer} / qd, {row}")),
        OverRow(other) => (divide(own, report.value(other, "qd")), format!("{row} / {other}")),
    };
    let shown = |value: f64| match figure {
        Plain(unit) => show(value, unit).replace(' ', ""),
        Over(_) | TimesBelow(_) | OverRow(_) => format!("{value:.2}"),
    };
    let (limit, is_met) = match limit {
        AtLeast(limit) => (format!(">={}", shown(limit)), value.is_some_and(|value| value >= limit)),
        AtMost(limit) => (format!("<={}", shown(limit)), value.is_some_and(|value| value <= limit)),
    };
    let value = value.map_or_else(|| "none".to_owned(), shown);
    Some(Verdict { name, row: told, value, limit, is_met })
}

fn divide(above: Option<f64>, below: Option<f64>) -> Option<f64> {
    Some(above? / below.filter(|below| *below > 0.0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(family: &str, samples: &[(&str, &'static str, Unit, f64)]) -> Vec<String> {
        let mut report = Report::new(vec!["qd", "tmux"]);
        for (row, who, unit, value) in samples {
            report.record(row, who, *unit, Ok(*value));
        }
        judge(&report, &[family]).iter().map(Verdict::line).collect()
    }

    #[test]
    fn a_speed_is_judged_as_a_fraction_of_bare() {
        let four = |qd| {
            let row = "four at once";
            judged("four", &[(row, "bare", Unit::Rate, 100.0), (row, "qd", Unit::Rate, qd)])
        };
        assert_eq!(four(75.0), ["goal=4 value=0.75 limit=>=0.75 pass  four at once / bare"]);
        assert_eq!(four(74.0), ["goal=4 value=0.74 limit=>=0.75 fail  four at once / bare"]);
    }

    #[test]
    fn a_family_that_was_run_and_has_no_figure_of_ours_fails() {
        let line = judged("cold", &[("cold start", "tmux", Unit::Time, 0.01)]);
        assert_eq!(line, ["goal=13 value=none limit=<=60.0ms fail  cold start"]);
        assert_eq!(judged("cold", &[]), line, "not even a peer's");
    }

    #[test]
    fn a_family_that_was_not_run_is_left_out() {
        assert!(
            judged("adopt", &[("cold start", "qd", Unit::Time, 1.0)])
                .iter()
                .all(|line| !line.contains("cold"))
        );
        assert!(judge(&Report::new(vec!["qd"]), &[]).is_empty());
    }

    #[test]
    fn a_peer_that_is_not_there_is_not_compared_with() {
        let echo =
            [("key echo median", "qd", Unit::Time, 1e-4), ("key echo median", "tmux", Unit::Time, 2e-4)];
        let lines = judged("echo", &echo);
        assert!(lines.contains(&"goal=5 value=0.50 limit=<=0.95 pass  key echo median / tmux".to_owned()));
        assert!(!lines.iter().any(|line| line.contains("zellij")), "{lines:?}");
        let mut report = Report::new(vec!["qd", "zellij"]);
        report.record("key echo median", "qd", Unit::Time, Ok(1e-4));
        report.record("key echo median", "zellij", Unit::Time, Ok(1e-2));
        let lines: Vec<String> = judge(&report, &["echo"]).iter().map(Verdict::line).collect();
        assert!(!lines.iter().any(|line| line.contains("tmux")), "{lines:?}");
        assert!(
            lines
                .contains(&"goal=5 value=100.00 limit=>=20.00 pass  zellij / qd, key echo median".to_owned()),
            "{lines:?}"
        );
    }

    #[test]
    fn every_family_of_the_list_exists() {
        for (family, lines) in GOALS {
            assert!(super::super::FAMILIES.iter().any(|(name, _)| name == family), "{family}");
            assert!(!lines.is_empty());
        }
    }
}
