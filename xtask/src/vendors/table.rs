//! The table of versions: one row per program and version, one column per scenario, between two marks of a document.

use serde_json::Value;

const BEGIN: &str = "<!-- versions: written by `cargo xtask vendors --bless` -->\n";
const END: &str = "<!-- end of versions -->";

/// What was seen of one version: each scenario and whether it was met.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    name: String,
    version: String,
    scenarios: Vec<(String, bool)>,
}

impl Row {
    /// Reads the lines that the tests wrote.
    pub(super) fn from_report(name: &str, version: &str, report: &str) -> Result<Self, String> {
        let mut scenarios = Vec::new();
        for line in report.lines() {
            let line: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
            let scenario = line["scenario"].as_str().ok_or("a line names no scenario")?;
            scenarios.push((scenario.to_owned(), line["met"] == Value::Bool(true)));
        }
        if scenarios.is_empty() {
            return Err("the tests have written nothing".to_owned());
        }
        Ok(Self { name: name.to_owned(), version: version.to_owned(), scenarios })
    }

    fn order(&self) -> (&str, Vec<u64>) {
        (&self.name, self.version.split('.').map(|part| part.parse().unwrap_or(0)).collect())
    }
}

/// All rows, by program and version.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table(Vec<Row>);

impl Table {
    /// Returns the table that a document has.
    pub(super) fn in_text(text: &str) -> Result<Self, String> {
        let (_, table, _) = parts(text)?;
        let mut lines = table.lines().filter(|line| line.starts_with('|'));
        let heads = cells(lines.next().unwrap_or_default());
        let rows = lines.skip(1).map(|line| {
            let cells = cells(line);
            let scenarios =
                heads.iter().zip(&cells).skip(2).map(|(head, cell)| (head.clone(), cell == "yes"));
            let word = |at: usize| cells.get(at).cloned().unwrap_or_default();
            Row { name: word(0), version: word(1), scenarios: scenarios.collect() }
        });
        Ok(Self(rows.collect()))
    }

    /// Returns the same with these rows in place of those of the same versions.
    pub(super) fn with(mut self, rows: Vec<Row>) -> Self {
        for row in rows {
            self.0.retain(|known| (&known.name, &known.version) != (&row.name, &row.version));
            self.0.push(row);
        }
        self.0.sort_by(|one, other| one.order().cmp(&other.order()));
        self
    }

    /// Returns the table in Markdown.
    pub(super) fn text(&self) -> String {
        let mut heads: Vec<&str> = Vec::new();
        for (scenario, _) in self.0.iter().flat_map(|row| &row.scenarios) {
            if !heads.contains(&scenario.as_str()) {
                heads.push(scenario);
            }
        }
        let mut text = format!("| program | version | {} |\n", heads.join(" | "));
        text.push_str(&format!("|{}\n", "---|".repeat(heads.len() + 2)));
        for row in &self.0 {
            let word = |head: &&str| match row.scenarios.iter().find(|(scenario, _)| scenario == head) {
                Some((_, true)) => "yes",
                Some((_, false)) => "no",
                None => "-",
            };
            let words: Vec<&str> = heads.iter().map(word).collect();
            text.push_str(&format!("| {} | {} | {} |\n", row.name, row.version, words.join(" | ")));
        }
        text
    }

    /// Returns the document with this table.
    pub(super) fn put_into(&self, text: &str) -> Result<String, String> {
        let (before, _, after) = parts(text)?;
        Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", self.text()))
    }
}

/// Returns what stands before the table, the table, and what stands behind it.
fn parts(text: &str) -> Result<(&str, &str, &str), String> {
    let (before, rest) = text.split_once(BEGIN).ok_or("the mark at the table's begin is missing")?;
    let (table, after) = rest.split_once(END).ok_or("the mark at the table's end is missing")?;
    Ok((before, table, after))
}

fn cells(line: &str) -> Vec<String> {
    line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, version: &str, met: bool) -> Row {
        let report = format!("{{\"scenario\": \"starts\", \"met\": {met}}}\n");
        Row::from_report(name, version, &report).unwrap()
    }

    #[test]
    fn c22_a_table_is_read_as_it_was_written() {
        let table = Table::default().with(vec![
            row("b", "0.9.1", true),
            row("a", "1.0.0", false),
            row("b", "0.10.0", true),
        ]);
        let document = table.put_into(&format!("before\n{BEGIN}old\n{END}\nbehind\n")).unwrap();
        assert!(
            document.starts_with("before\n") && document.ends_with("\nbehind\n") && !document.contains("old")
        );
        assert_eq!(Table::in_text(&document).unwrap(), table);
        let versions: Vec<&str> = table.0.iter().map(|row| row.version.as_str()).collect();
        assert_eq!(versions, ["1.0.0", "0.9.1", "0.10.0"], "by program, then by number");
    }

    #[test]
    fn c22_a_new_row_takes_the_place_of_the_old_one_of_its_version() {
        let table = Table::default().with(vec![row("a", "1.0.0", false)]).with(vec![row("a", "1.0.0", true)]);
        assert_eq!(table.0, [row("a", "1.0.0", true)]);
        assert!(table.text().contains("| a | 1.0.0 | yes |"));
    }

    #[test]
    fn c22_a_report_without_a_line_and_a_document_without_marks_are_refused() {
        assert!(Row::from_report("a", "1", "").is_err());
        assert!(Table::in_text("no marks").is_err());
    }
}
