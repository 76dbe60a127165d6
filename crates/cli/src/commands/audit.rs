//! `qd audit`: prints who asked for what, and what was decided. The daemon checks the chain.

use std::process::ExitCode;

use clap::Args;
use proto::Printable;
use proto::audit::{AuditEntry, AuditPage, AuditVerdict};
use proto::request::Audit;

use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Output, Style, Table, now_ms};
use crate::time_arg;

/// Show who asked for what, and what was decided
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// From this moment on: an age such as 90s, 10m, 2h or 7d, or a time in UTC such as 2026-11-16T08:30
    #[arg(long, value_name = "TIME|AGE")]
    since: Option<String>,

    /// Print at most this many rows, the newest [default: 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: Option<u32>,

    /// Also check the whole chain of hashes; exit code 1 when a row was changed
    #[arg(long)]
    verify: bool,
}

impl AuditArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let request = self.request(now_ms())?;
        let page = context.connect()?.audit(request)?;
        context.print(&page, print_page)?;
        let is_broken = matches!(page.verified, Some(AuditVerdict::Broken { .. }));
        Ok(if is_broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn request(self, now: u64) -> Result<Audit, CliError> {
        let since = self.since.as_deref().map(|text| time_arg::parse(text, now)).transpose();
        let since = since.map_err(|why| CliError::usage(format!("--since: {why}")))?.unwrap_or(0);
        Ok(Audit { since, limit: self.limit, verify: self.verify })
    }
}

fn print_page(page: &AuditPage, out: &mut Output) -> Result<(), CliError> {
    match page.rows.is_empty() {
        true => out.line("the audit log has no rows for that time")?,
        false => out.table(&table(&page.rows))?,
    }
    match &page.verified {
        Some(AuditVerdict::Intact { first: 1, rows, head }) => {
            out.line(&format!("intact: {rows} rows, the newest is {}", Printable(head)))
        }
        Some(AuditVerdict::Intact { first, rows, head }) => {
            let older = first.saturating_sub(1);
            let newest = Printable(head);
            out.line(&format!(
                "intact: {rows} rows, the newest is {newest}; the {older} older ones were dropped"
            ))
        }
        Some(AuditVerdict::Broken { row, reason }) => {
            out.line(&format!("broken from row {row} on: {}", Printable(reason)))
        }
        None => Ok(()),
    }
}

fn table(rows: &[AuditEntry]) -> Table {
    let mut table = Table::new(&["TIME", "CALLER", "VERB", "TARGET", "DECISION", "DETAIL"]);
    for row in rows {
        let plain = |text: String| (text, Style::Plain);
        let style = if row.decision == "allowed" { Style::Plain } else { Style::Red };
        table.row(vec![
            (time_arg::format_utc(row.at), Style::Dim),
            plain(row.caller.clone()),
            (row.verb.clone(), Style::Bold),
            plain(row.target.clone().unwrap_or_else(|| "-".to_owned())),
            (row.decision.clone(), style),
            plain(row.detail.clone()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::memory::Memory;

    #[test]
    fn a_row_says_who_what_whom_and_the_decision() {
        let page: AuditPage = serde_json::from_value(serde_json::json!({
            "rows": [{"at": 1_794_802_422_000_u64, "caller": "human", "verb": "kill", "target": "p_00000000",
                "decision": "allowed", "hash": "aa"},
               {"at": 1_794_802_423_000_u64, "caller": "p_11111111.1", "verb": "read", "decision": "not_related",
                "detail": "x\u{1b}", "hash": "bb"}],
            "verified": {"broken": {"row": 2, "reason": "its hash\u{7}"}}
        }))
        .unwrap();
        let memory = Memory::default();
        print_page(&page, &mut memory.output()).unwrap();
        let expected = "\
TIME                  CALLER        VERB  TARGET      DECISION     DETAIL
2026-11-16T04:13:42Z  human         kill  p_00000000  allowed
2026-11-16T04:13:43Z  p_11111111.1  read  -           not_related  x\\u{1b}
broken from row 2 on: its hash\\u{7}
";
        assert_eq!(memory.text(), expected);
    }

    #[test]
    fn a_log_whose_oldest_rows_went_says_from_where_on_it_is_kept() {
        let message = |first: u64| {
            let verified = Some(AuditVerdict::Intact { first, rows: 7, head: "aa".into() });
            let memory = Memory::default();
            print_page(&AuditPage { rows: Vec::new(), verified }, &mut memory.output()).unwrap();
            memory.text().lines().last().unwrap_or_default().to_owned()
        };
        assert_eq!(message(1), "intact: 7 rows, the newest is aa");
        assert_eq!(message(41), "intact: 7 rows, the newest is aa; the 40 older ones were dropped");
    }

    #[test]
    fn since_is_named_when_it_makes_no_sense() {
        let args = |since: &str| AuditArgs { since: Some(since.into()), limit: None, verify: true };
        assert_eq!(args("10s").request(60_000).unwrap(), Audit { since: 50_000, limit: None, verify: true });
        assert!(args("soon").request(0).unwrap_err().to_string().starts_with("--since: "));
    }
}
