//! `qd explain`: shows the evidence for an agent's state.

use std::process::ExitCode;

use clap::Args;
use proto::AgentState;
use proto::agent::{Explanation, Opinion};
use proto::request::{self, Target};

use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Output, Style, Table, now_ms, span};

/// Show why an agent is in its state: what each source reports, and how old the report is
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Its name or id
    name: String,
}

impl ExplainArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let explanation = context.connect()?.explain(request::Explain { target: Target(self.name) })?;
        let now = now_ms();
        context.print(&explanation, |explanation, out| print_explanation(explanation, now, out))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn print_explanation(explanation: &Explanation, now: u64, out: &mut Output) -> Result<(), CliError> {
    let agent = &explanation.agent;
    let version = explanation.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let since = span(now.saturating_sub(agent.since) / 1000);
    out.text(&format!("{}: {} for {since} ({}{version})", explanation.name, agent.state, agent.manifest))?;
    out.text(&explanation.why)?;
    out.table(&table(&explanation.opinions, now))?;
    if agent.held {
        out.line("held: the screen shows something that cannot be judged")?;
    }
    if agent.state != AgentState::Exited {
        out.line(&format!("composer: {}", explanation.composer.word()))?;
    }
    if agent.background > 0 {
        out.line(&format!("background: {} still run", agent.background))?;
    }
    for shortfall in &agent.shortfalls {
        out.text(shortfall)?;
    }
    if let Some(unread) = explanation.unread_answers {
        out.line(&unread.to_string())?;
    }
    if explanation.drifts > 0 {
        out.line(&format!("sources disagreed {} times in this run", explanation.drifts))?;
    }
    Ok(())
}

fn table(opinions: &[Opinion], now: u64) -> Table {
    let mut table = Table::new(&["SOURCE", "SAYS", "RULE", "AGE", "COUNTS", "MESSAGE"]);
    for opinion in opinions {
        let plain = |text: String| (text, Style::Plain);
        let evidence = &opinion.evidence;
        table.row(vec![
            (evidence.source.to_string(), Style::Bold),
            plain(evidence.state.map_or_else(|| "unknown".to_owned(), |state| state.to_string())),
            plain(evidence.rule.clone()),
            plain(span(now.saturating_sub(opinion.at) / 1000)),
            (
                if opinion.counts { "yes" } else { "no" }.to_owned(),
                if opinion.counts { Style::Green } else { Style::Dim },
            ),
            plain(evidence.message.clone()),
        ]);
    }
    table
}
