//! `qd grants`: lists the rights that people granted beyond the tree.

use std::process::ExitCode;

use clap::Args;
use proto::rights::GrantView;

use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Style, Table, now_ms, span};

/// List the rights that people granted
#[derive(Debug, Args)]
pub(crate) struct GrantsArgs {}

impl GrantsArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let grants = context.connect()?.grants()?;
        let now = now_ms();
        context.print(&grants, |grants, out| match grants.is_empty() {
            true => out.line("no extra rights were given"),
            false => out.table(&table(grants, now)),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

fn table(grants: &[GrantView], now: u64) -> Table {
    let mut table = Table::new(&["GRANT", "WHO", "MAY", "WHOM", "AGE"]);
    for view in grants {
        let plain = |text: String| (text, Style::Plain);
        table.row(vec![
            (view.grant.grant.to_string(), Style::Bold),
            plain(view.to_name.to_string()),
            plain(view.grant.right.word().to_owned()),
            plain(view.over_name.to_string()),
            plain(span(now.saturating_sub(view.grant.at) / 1000)),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::memory::Memory;

    #[test]
    fn a_row_reads_as_a_sentence() {
        let view: GrantView = serde_json::from_value(serde_json::json!({"grant": 2, "to": "p_00000000",
            "to_name": "lead", "right": "drive", "over": "p_11111111", "over_name": "web", "at": 0}))
        .unwrap();
        assert_eq!(view.to_string(), "lead may drive web");
        let memory = Memory::default();
        memory.output().table(&table(&[view], 5000)).unwrap();
        assert_eq!(memory.text(), "GRANT  WHO   MAY    WHOM  AGE\n2      lead  drive  web   5s\n");
    }
}
