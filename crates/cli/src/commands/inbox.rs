//! `qd inbox`: what needs a person, over all agents. Owns drawing it; refuses answering, which `qd answer` does.

use std::process::ExitCode;

use clap::Args;
use proto::agent::{InboxItem, ItemKind};

use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Style, Table, now_ms, span};

/// List what needs an answer, over all agents
#[derive(Debug, Args)]
pub(crate) struct InboxArgs {}

impl InboxArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let items = context.connect()?.inbox()?;
        let now = now_ms();
        context.print(&items, |items, out| match items.is_empty() {
            true => out.line("nothing needs you"),
            false => out.table(&table(items, now)),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

fn table(items: &[InboxItem], now: u64) -> Table {
    let mut table = Table::new(&["ITEM", "NAME", "KIND", "AGE", "WHAT", "ANSWERS"]);
    for item in items {
        let plain = |text: String| (text, Style::Plain);
        table.row(vec![
            (item.item.to_string(), Style::Bold),
            plain(item.name.to_string()),
            (kind_word(item.kind).to_owned(), kind_style(item.kind)),
            plain(span(now.saturating_sub(item.at) / 1000)),
            plain(what(item)),
            plain(answers(item, now)),
        ]);
    }
    table
}

fn kind_word(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Dialog => "dialog",
        ItemKind::Permission => "permission",
        ItemKind::Question => "question",
        ItemKind::Failure => "failure",
        ItemKind::Trust => "trust",
        ItemKind::Attention => "attention",
    }
}

fn kind_style(kind: ItemKind) -> Style {
    if kind == ItemKind::Failure { Style::Red } else { Style::Yellow }
}

/// The title and the first line of what it is about.
fn what(item: &InboxItem) -> String {
    match item.body.lines().find(|line| !line.trim().is_empty()) {
        Some(line) if !item.title.contains(line.trim()) => format!("{}: {}", item.title, line.trim()),
        _ => item.title.clone(),
    }
}

/// The words `qd answer` takes, the most telling name of each option.
fn answers(item: &InboxItem, now: u64) -> String {
    let named = item.options.iter().map(|option| {
        let number = option.names.first().map(String::as_str).unwrap_or_default();
        match option.names.get(1) {
            Some(name) => format!("{number} {name}"),
            None => format!("{number} {}", option.label),
        }
    });
    let mut text = named.collect::<Vec<_>>().join(" · ");
    if let Some(expires) = &item.expires {
        text.push_str(&format!(" ({} in {})", expires.answer, span(expires.at.saturating_sub(now) / 1000)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::memory::Memory;

    #[test]
    fn an_item_shows_what_is_asked_and_what_may_be_answered() {
        let item: InboxItem = serde_json::from_value(serde_json::json!({
            "item": 3, "id": "p_00000000", "name": "fix", "kind": "permission", "title": "approve Bash",
            "body": "\n  rm -rf build\n", "at": 1000, "expires": {"at": 63_000, "answer": "deny"},
            "options": [{"names": ["1", "allow"], "label": "Yes", "keys": ["1"]},
                        {"names": ["2"], "label": "No\u{1b}[2J", "keys": ["2"]}]
        }))
        .unwrap();
        let memory = Memory::default();
        memory.output().table(&table(&[item], 3000)).unwrap();
        assert_eq!(
            memory.text(),
            "ITEM  NAME  KIND        AGE  WHAT                        ANSWERS\n\
             3     fix   permission  2s   approve Bash: rm -rf build  1 allow · 2 No\\u{1b}[2J (deny in 1m00s)\n"
        );
    }
}
