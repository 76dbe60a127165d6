//! `qd messages`: lists the messages to agents, each with the state of its delivery.

use std::process::ExitCode;

use clap::Args;
use proto::ProcessId;
use proto::agent::{Delivery, Receipt};

use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Style, Table, now_ms, span};

/// List the messages to agents, each with the state of its delivery
#[derive(Debug, Args)]
pub(crate) struct MessagesArgs {
    /// Only messages to or from this process: a name or an id
    #[arg(value_name = "NAME", conflicts_with_all = ["to", "from"])]
    process: Option<String>,

    /// Only messages to this process
    #[arg(long, value_name = "NAME")]
    to: Option<String>,

    /// Only messages from this process; `human` and `system` work too
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
}

impl MessagesArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let mut connection = context.connect()?;
        let names: Vec<(ProcessId, String)> =
            connection.list()?.into_iter().map(|view| (view.id, view.name.to_string())).collect();
        let mut messages = connection.messages()?;
        messages.retain(|message| self.is_listed(message, &names));
        let now = now_ms();
        context.print(&messages, |messages, out| match messages.is_empty() {
            true => out.line("there is no such message"),
            false => out.table(&table(messages, &names, now)),
        })?;
        Ok(ExitCode::SUCCESS)
    }

    fn is_listed(&self, message: &Receipt, names: &[(ProcessId, String)]) -> bool {
        let is_to = |wanted: &String| is_named(message.to, wanted, names);
        let is_from = |wanted: &String| {
            message.sender == *wanted || message.from.is_some_and(|from| is_named(from, wanted, names))
        };
        self.process.as_ref().is_none_or(|wanted| is_to(wanted) || is_from(wanted))
            && self.to.as_ref().is_none_or(is_to)
            && self.from.as_ref().is_none_or(is_from)
    }
}

fn is_named(id: ProcessId, wanted: &str, names: &[(ProcessId, String)]) -> bool {
    id.to_string() == wanted || names.iter().any(|(known, name)| *known == id && name == wanted)
}

fn table(messages: &[Receipt], names: &[(ProcessId, String)], now: u64) -> Table {
    let mut table = Table::new(&["MESSAGE", "FROM", "TO", "AGE", "STATE", "WHY"]);
    for message in messages {
        let to = names.iter().find(|(id, _)| *id == message.to);
        let (state, style, why) = delivery_words(&message.delivery);
        let plain = |text: String| (text, Style::Plain);
        table.row(vec![
            (message.mail.to_string(), Style::Bold),
            plain(message.sender.clone()),
            plain(to.map_or_else(|| message.to.to_string(), |(_, name)| name.clone())),
            plain(span(now.saturating_sub(message.at) / 1000)),
            (state.to_owned(), style),
            plain(why),
        ]);
    }
    table
}

/// Returns the state in one word, how it is shown, and the reason or the turn.
fn delivery_words(delivery: &Delivery) -> (&'static str, Style, String) {
    match delivery {
        Delivery::Queued { reason } => ("queued", Style::Yellow, reason.clone()),
        Delivery::Delivering => ("delivering", Style::Yellow, String::new()),
        Delivery::Submitted { turn } => ("submitted", Style::Green, format!("turn {turn}")),
        Delivery::Delivered { turn } => ("delivered", Style::Green, format!("turn {turn}")),
        Delivery::Refused { reason } => ("refused", Style::Red, reason.clone()),
        Delivery::Unknown { reason } => ("unknown", Style::Red, reason.clone()),
        Delivery::Expired => ("expired", Style::Dim, String::new()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::output::memory::Memory;

    const LEAD: &str = "p_00000000";
    const FIX: &str = "p_11111111";

    fn messages() -> Vec<Receipt> {
        serde_json::from_value(json!([
            {"mail": 1, "to": FIX, "sender": "human", "at": 0, "status": "submitted", "turn": 7},
            {"mail": 2, "to": FIX, "from": LEAD, "sender": "lead", "at": 4000, "status": "queued", "reason": "it works"},
            {"mail": 3, "to": LEAD, "from": FIX, "sender": "old", "at": 4000, "status": "unknown", "reason": "no sign"},
        ]))
        .unwrap()
    }

    fn names() -> Vec<(ProcessId, String)> {
        [(LEAD, "lead"), (FIX, "fix")].map(|(id, name)| (id.parse().unwrap(), name.to_owned())).into()
    }

    /// Returns the numbers of the messages that are listed for NAME, --to and --from.
    fn listed(process: Option<&str>, to: Option<&str>, from: Option<&str>) -> Vec<u64> {
        let args = MessagesArgs {
            process: process.map(str::to_owned),
            to: to.map(str::to_owned),
            from: from.map(str::to_owned),
        };
        let all = messages().into_iter().filter(|message| args.is_listed(message, &names()));
        all.map(|message| message.mail.0).collect()
    }

    #[test]
    fn messages_are_chosen_by_name_id_and_sender() {
        assert_eq!(listed(None, None, None), [1, 2, 3]);
        assert_eq!(listed(Some("lead"), None, None), [2, 3]);
        assert_eq!(listed(None, Some("fix"), None), [1, 2]);
        assert_eq!(listed(None, Some(FIX), Some("human")), [1]);
        assert_eq!(listed(None, None, Some("fix")), [3], "by its present name");
        assert_eq!(listed(None, None, Some("old")), [3], "by the name that it had");
        assert_eq!(listed(None, Some("nobody"), None), [0; 0]);
    }

    #[test]
    fn a_row_says_from_whom_to_whom_and_what_became_of_it() {
        let memory = Memory::default();
        memory.output().table(&table(&messages(), &names(), 5000)).unwrap();
        assert_eq!(
            memory.text(),
            "MESSAGE  FROM   TO    AGE  STATE      WHY\n\
             1        human  fix   5s   submitted  turn 7\n\
             2        lead   fix   1s   queued     it works\n\
             3        old    lead  1s   unknown    no sign\n"
        );
    }
}
