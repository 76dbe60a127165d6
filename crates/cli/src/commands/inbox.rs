//! `qd inbox`: lists what needs a person, over all agents. `qd answer` answers.

use std::process::ExitCode;

use clap::Args;
use proto::Printable;
use proto::agent::{InboxItem, ItemKind};

use crate::commands::trust::command_lines;
use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Output, Style, Table, now_ms, span};

/// The longest title in the list; the whole text is shown below it.
const MAX_TITLE: usize = 50;

/// List what waits for your answer, from all agents
#[derive(Debug, Args)]
pub(crate) struct InboxArgs {}

impl InboxArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let items = context.connect()?.inbox()?;
        let now = now_ms();
        context.print(&items, |items, out| match items.is_empty() {
            true => out.line("nothing needs you"),
            false => print_items(items, now, out),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints the list, and below it everything that must be read whole before it is answered.
fn print_items(items: &[InboxItem], now: u64, out: &mut Output) -> Result<(), CliError> {
    out.clipped_table(&table(items, now))?;
    for item in items.iter().filter(|item| is_shown_whole(item)) {
        out.line("")?;
        out.line(&format!("item {}: {}", item.item, heading(item)))?;
        for line in command_lines(item.body.trim_end_matches('\n')) {
            out.line(&format!("  {line}"))?;
        }
    }
    Ok(())
}

/// Returns true if an item is shown whole: a command that a person is about to approve is never cut, nor is a
/// question of several lines.
fn is_shown_whole(item: &InboxItem) -> bool {
    let has_lines = item.body.trim().contains('\n');
    let is_cut = || shortened(&full(item)) != full(item);
    match item.kind {
        ItemKind::Trust => !item.body.is_empty(),
        ItemKind::Question | ItemKind::Attention | ItemKind::Failure => has_lines || is_cut(),
        ItemKind::Dialog | ItemKind::Permission => has_lines || is_cut(),
    }
}

fn heading(item: &InboxItem) -> String {
    match item.kind {
        ItemKind::Trust => format!("{} wants to start", item.name),
        _ => format!("{}: {}", item.name, Printable(&item.title)),
    }
}

fn table(items: &[InboxItem], now: u64) -> Table {
    let mut table = Table::new(&["ITEM", "NAME", "KIND", "AGE", "WHAT", "ANSWERS"]);
    for item in items {
        let plain = |text: String| (text, Style::Plain);
        table.row(vec![
            (item.item.to_string(), Style::Bold),
            plain(item.name.to_string()),
            (item.kind.word().to_owned(), kind_style(item.kind)),
            plain(span(now.saturating_sub(item.at) / 1000)),
            plain(what(item)),
            plain(answers(item, now)),
        ]);
    }
    table
}

fn kind_style(kind: ItemKind) -> Style {
    if kind == ItemKind::Failure { Style::Red } else { Style::Yellow }
}

/// Returns the title and the first line of the details, as far as there is room.
fn what(item: &InboxItem) -> String {
    match item.kind {
        ItemKind::Trust => shortened(&item.title),
        ItemKind::Dialog | ItemKind::Permission if item.body.trim().contains('\n') => {
            let line = full(item);
            shortened(&format!("{line}…"))
        }
        _ => shortened(&full(item)),
    }
}

fn full(item: &InboxItem) -> String {
    match command(&item.body) {
        Some(line) if !item.title.contains(line.trim()) => format!("{}: {}", item.title, line.trim()),
        _ => item.title.clone(),
    }
}

/// Returns the most relevant line: a command after its prompt, else the first.
fn command(body: &str) -> Option<&str> {
    let mut lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().next();
    lines.find_map(|line| line.strip_prefix("$ ")).or(first)
}

/// Cuts a title so that the answers have room; the whole of it is shown below the list.
fn shortened(title: &str) -> String {
    if title.chars().count() <= MAX_TITLE {
        return title.to_owned();
    }
    title.chars().take(MAX_TITLE - 1).chain(['…']).collect()
}

/// Returns the words that `qd answer` accepts: the best name of each option.
fn answers(item: &InboxItem, now: u64) -> String {
    let named = item.options.iter().map(|option| {
        let number = option.names.first().map(String::as_str).unwrap_or_default();
        match option.names.get(1) {
            _ if option.keys.iter().any(|key| key == "{text}") => option.label.clone(),
            Some(name) => format!("{number} {name}"),
            None => format!("{number} {}", option.label),
        }
    });
    let mut text = named.collect::<Vec<_>>().join(" · ");
    if item.options.is_empty() && item.kind == ItemKind::Question {
        text.push_str("any text");
    }
    if item.options.is_empty() && matches!(item.kind, ItemKind::Dialog | ItemKind::Permission) {
        text.push_str(&format!("qd attach {}", item.name));
    }
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
    #[test]
    fn b7_a_trust_item_shows_its_whole_command_and_a_question_takes_any_text() {
        let items: Vec<InboxItem> = serde_json::from_value(serde_json::json!([
            {"item": 4, "id": "p_00000000", "name": "lead", "kind": "trust", "title": "start dev",
             "body": "/bin/sh -c 'npm run dev'\u{1b}[2J\nin /p\nwith A=b", "at": 0,
             "options": [{"names": ["1", "allow_once"], "label": "allow once", "keys": []},
                         {"names": ["2", "always"], "label": "always", "keys": []},
                         {"names": ["3", "deny"], "label": "deny", "keys": []}]},
            {"item": 5, "id": "p_00000000", "name": "lead", "kind": "question", "title": "which port?", "at": 0,
             "options": []}
        ]))
        .unwrap();
        let memory = Memory::default();
        print_items(&items, 1000, &mut memory.output()).unwrap();
        let expected = "\
ITEM  NAME  KIND      AGE  WHAT         ANSWERS
4     lead  trust     1s   start dev    1 allow_once · 2 always · 3 deny
5     lead  question  1s   which port?  any text

item 4: lead wants to start
  /bin/sh -c 'npm run dev'\\u{1b}[2J
  in /p
  with A=b
";
        assert_eq!(memory.text(), expected);
    }

    #[test]
    fn m20j_the_list_shows_the_command_itself() {
        for (body, shown) in [
            ("rm -rf build", "rm -rf build"),
            ("Reason: it must\n$ rm -rf build", "rm -rf build"),
            ("\n  notes.txt\n1 a line", "notes.txt"),
        ] {
            assert_eq!(command(body), Some(shown));
        }
    }

    #[test]
    fn a_long_title_leaves_room_for_the_answers() {
        assert_eq!(shortened("start dev"), "start dev");
        let long = shortened(&"ü".repeat(90));
        assert!(long.chars().count() == MAX_TITLE && long.ends_with('…'), "{long}");
    }
}
