//! Rows of worktrees: `qd`'s own reading and making of them beside plain git. An example of the `worktree` crate measures;
//! this file builds it, runs it and records what it prints. Plain git stands in the column of the bare terminal.

use super::Lab;
use super::report::{Report, Unit};
use crate::step;

const EXAMPLE: &str = "worktree_figures";

/// Builds the example, runs it in the laboratory, records its figures.
pub(crate) fn run(lab: &Lab, report: &mut Report) -> Result<(), String> {
    step::run(&mut step::cargo(&[
        "build",
        "--release",
        "--quiet",
        "--package",
        "worktree",
        "--example",
        EXAMPLE,
    ]))?;
    let mut command = step::command(step::target_dir().join("release/examples").join(EXAMPLE));
    command.arg(lab.directory.join("worktrees")).args(lab.sized(None, Some("quick")));
    let printed = step::output(&mut command)?;
    for (row, who, value) in printed.lines().filter_map(figure) {
        let unit = if row.ends_with("processes") { Unit::Count } else { Unit::Time };
        report.record(row, who, unit, Ok(value));
    }
    Ok(())
}

/// Parses one line of the example: row, who, value.
fn figure(line: &str) -> Option<(&str, &'static str, f64)> {
    let mut parts = line.split('\t');
    let (row, who) = (parts.next()?, parts.next()?);
    let who = ["bare", "qd"].into_iter().find(|known| *known == who)?;
    Some((row, who, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_a_row_a_contender_and_a_number() {
        assert_eq!(figure("new worktree\tbare\t0.5"), Some(("new worktree", "bare", 0.5)));
        assert_eq!(figure("new worktree\tsomebody\t0.5"), None);
        assert_eq!(figure("noise"), None);
    }
}
