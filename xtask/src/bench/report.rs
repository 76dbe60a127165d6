//! Collects samples by row and contender and shows them: medians, one table, JSON. `goals` judges them.

use serde_json::{Value, json};

use super::goals::Verdict;

/// What a figure is, and with it how it is shown and compared.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Unit {
    /// Bytes per second; compared with the bare terminal.
    Rate,
    /// Seconds.
    Time,
    Bytes,
    /// Of one core.
    Share,
    Ratio,
    Count,
}

struct Cell {
    row: String,
    who: &'static str,
    unit: Unit,
    samples: Vec<f64>,
}

/// All samples of one run, and what went wrong.
pub(crate) struct Report {
    columns: Vec<&'static str>,
    cells: Vec<Cell>,
    notes: Vec<String>,
}

/// Returns the value below which `part` of the samples lie.
pub(crate) fn percentile(samples: &[f64], part: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * part).round() as usize).copied().unwrap_or(f64::NAN)
}

impl Report {
    pub(crate) fn new(contenders: Vec<&'static str>) -> Self {
        let columns = std::iter::once("bare").chain(contenders).collect();
        Self { columns, cells: Vec::new(), notes: Vec::new() }
    }

    /// Adds one sample, or notes why there is none.
    pub(crate) fn record(&mut self, row: &str, who: &'static str, unit: Unit, sample: Result<f64, String>) {
        let sample = match sample {
            Ok(sample) => sample,
            Err(error) => return self.note(who, row, &error),
        };
        match self.cells.iter_mut().find(|cell| cell.row == row && cell.who == who) {
            Some(cell) => cell.samples.push(sample),
            None => self.cells.push(Cell { row: row.to_owned(), who, unit, samples: vec![sample] }),
        }
    }

    /// Remembers what went wrong, once for each row.
    pub(crate) fn note(&mut self, who: &str, row: &str, text: &str) {
        let place = format!("{who}: {row}: ");
        if !self.notes.iter().any(|note| note.starts_with(&place)) {
            self.notes.push(format!("{place}{}", text.trim()));
        }
    }

    /// Returns the median of a cell.
    pub(crate) fn value(&self, row: &str, who: &str) -> Option<f64> {
        self.cell(row, who).map(|cell| percentile(&cell.samples, 0.5))
    }

    /// Returns a cell over another one of the same row. Rounds are interleaved, so ratios are taken round by
    /// round where both have all rounds: what slows one minute slows both sides of it.
    pub(crate) fn ratio(&self, row: &str, who: &str, base: &str) -> Option<f64> {
        let (above, below) = (self.cell(row, who)?, self.cell(row, base)?);
        if above.samples.len() == below.samples.len() {
            let ratios: Vec<f64> = above.samples.iter().zip(&below.samples).map(|(a, b)| a / b).collect();
            return Some(percentile(&ratios, 0.5)).filter(|ratio| ratio.is_finite());
        }
        Some(percentile(&above.samples, 0.5) / percentile(&below.samples, 0.5))
            .filter(|ratio| ratio.is_finite())
    }

    /// Returns true if this contender was in the run.
    pub(crate) fn has(&self, who: &str) -> bool {
        self.columns.contains(&who)
    }

    fn unit(&self, row: &str) -> Option<Unit> {
        self.cells.iter().find(|cell| cell.row == row).map(|cell| cell.unit)
    }

    fn cell(&self, row: &str, who: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.row == row && cell.who == who)
    }

    fn rows(&self) -> Vec<&str> {
        let mut rows: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !rows.contains(&cell.row.as_str()) {
                rows.push(&cell.row);
            }
        }
        rows
    }

    /// Returns the table, then the notes.
    pub(crate) fn table(&self) -> String {
        let mut lines =
            vec![std::iter::once("row").chain(self.columns.iter().copied()).map(str::to_owned).collect()];
        lines.extend(self.rows().into_iter().map(|row| self.table_line(row)));
        let widths: Vec<usize> = (0..=self.columns.len())
            .map(|column| {
                lines.iter().map(|line: &Vec<String>| line[column].chars().count()).max().unwrap_or(0)
            })
            .collect();
        let mut text =
            String::from("\nmedians; in brackets the fraction of bare for speeds, of tmux for the rest\n\n");
        for line in &lines {
            let padded = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            text.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        for note in &self.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        text.push('\n');
        text
    }

    fn table_line(&self, row: &str) -> Vec<String> {
        let base = if self.unit(row) == Some(Unit::Rate) { "bare" } else { "tmux" };
        let mut line = vec![row.to_owned()];
        for who in &self.columns {
            line.push(match self.cell(row, who) {
                None => "-".to_owned(),
                Some(cell) => {
                    let value = percentile(&cell.samples, 0.5);
                    let ratio = self.ratio(row, who, base);
                    let ratio = ratio.map_or_else(String::new, |ratio| format!(" ({ratio:.2})"));
                    format!("{}{ratio}", show(value, cell.unit))
                }
            });
        }
        line
    }

    /// Returns everything for machines: medians with the number of samples, notes and verdicts.
    pub(crate) fn json(&self, verdicts: &[Verdict]) -> String {
        let cell = |cell: &Cell| -> Value {
            json!({"row": cell.row, "contender": cell.who, "unit": format!("{:?}", cell.unit).to_lowercase(),
                "median": percentile(&cell.samples, 0.5), "samples": cell.samples.len()})
        };
        let cells: Vec<Value> = self.cells.iter().map(cell).collect();
        let goals: Vec<Value> = verdicts.iter().map(Verdict::json).collect();
        json!({"cells": cells, "notes": self.notes, "goals": goals}).to_string()
    }
}

/// Returns a figure in the unit that a person would choose.
pub(crate) fn show(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Rate => format!("{:.1} MB/s", value / 1e6),
        Unit::Time if value < 1e-3 => format!("{:.0} µs", value * 1e6),
        Unit::Time if value < 1.0 => format!("{:.1} ms", value * 1e3),
        Unit::Time => format!("{value:.2} s"),
        Unit::Bytes if value < 1e5 => format!("{value:.0} B"),
        Unit::Bytes => format!("{:.1} MB", value / 1e6),
        Unit::Share => format!("{:.2} %", value * 100.0),
        Unit::Ratio => format!("{value:.2}"),
        Unit::Count => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_odd_number_is_the_middle_one_and_p99_the_last() {
        let samples: Vec<f64> = (1..=101).rev().map(f64::from).collect();
        assert_eq!(percentile(&samples, 0.5), 51.0);
        assert_eq!(percentile(&samples, 0.99), 100.0);
        assert!(percentile(&[], 0.5).is_nan());
    }

    #[test]
    fn ratios_are_taken_round_by_round_so_that_a_slow_minute_cancels_out() {
        let mut report = Report::new(vec!["qd"]);
        for (bare, qd) in [(100.0, 80.0), (10.0, 8.0), (60.0, 48.0)] {
            report.record("plain", "bare", Unit::Rate, Ok(bare));
            report.record("plain", "qd", Unit::Rate, Ok(qd));
        }
        assert_eq!(report.ratio("plain", "qd", "bare"), Some(0.8));
        report.record("plain", "bare", Unit::Rate, Ok(60.0));
        assert_eq!(report.ratio("plain", "qd", "bare"), Some(0.8), "medians when a round is missing");
        assert_eq!(report.ratio("plain", "qd", "tmux"), None);
    }

    #[test]
    fn speeds_are_shown_beside_the_bare_terminal_and_the_rest_beside_tmux() {
        let mut report = Report::new(vec!["qd", "tmux"]);
        report.record("plain", "bare", Unit::Rate, Ok(80e6));
        report.record("plain", "qd", Unit::Rate, Ok(64e6));
        report.record("key", "tmux", Unit::Time, Ok(400e-6));
        report.record("key", "qd", Unit::Time, Ok(200e-6));
        report.record("key", "qd", Unit::Time, Err("lost".to_owned()));
        let table = report.table();
        assert!(table.contains("64.0 MB/s (0.80)"), "{table}");
        assert!(table.contains("200 µs (0.50)"), "{table}");
        assert!(table.contains("note: qd: key: lost"), "{table}");
    }
}
