//! `qd events`: follows events, one line for each. Events are hints and `qd ps` is the truth: a client that
//! was too slow gets `resync`.

use std::collections::HashMap;
use std::process::ExitCode;

use clap::Args;
use client::{Next, ReconnectingEvents, Stops};
use proto::agent::Receipt;
use proto::event::Announcement;
use proto::reply::Subscribed;
use proto::timers::{TimerStatus, TimerView};
use proto::{Event, Name, ProcessId, ProcessView};
use serde::Serialize;

use crate::context::Context;
use crate::errors::CliError;
use crate::output::now_ms;

/// Follow what happens to processes, messages, timers and scratchpads
#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// End after this many events
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
}

impl EventsArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let stops = Stops::default().unread(rustix::stdio::stdout());
        let mut events = ReconnectingEvents::begin(context.connect()?, stops)?;
        let mut names = Names::default();
        names.learn_all(events.began());
        if context.json {
            context.out.json(events.began())?;
        }
        let mut left = self.limit.unwrap_or(u64::MAX);
        while left > 0 {
            let event = match events.next(context.address()?)? {
                Next::Came(event) => event,
                Next::Over => break,
                Next::Stopped(stop) => return super::logs::stopped(stop),
            };
            if matches!(event.what, Event::Resync {}) {
                names.learn_all(events.began());
            }
            let time = crate::time_arg::format_utc(now_ms());
            context.print(&Timed { at: &time, event: &event }, |timed, out| {
                out.line(&format!("{} {}", timed.at, names.words(&timed.event.what)))
            })?;
            left -= 1;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// An event and its time.
#[derive(Serialize)]
struct Timed<'a> {
    at: &'a str,
    #[serde(flatten)]
    event: &'a Announcement,
}

/// The names of processes: most events have only the id.
#[derive(Default)]
struct Names(HashMap<ProcessId, Name>);

impl Names {
    fn learn_all(&mut self, began: &Subscribed) {
        began.processes.iter().for_each(|process| self.learn(process));
    }

    fn learn(&mut self, process: &ProcessView) {
        self.0.insert(process.id, process.name.clone());
    }

    fn of(&self, id: ProcessId) -> String {
        self.0.get(&id).map_or_else(|| id.to_string(), Name::to_string)
    }

    /// Returns one event in one line.
    fn words(&mut self, event: &Event) -> String {
        match event {
            Event::Changed(process) => {
                self.learn(process);
                changed(process)
            }
            Event::Exited { id, exit, .. } => format!("{}: {}", self.of(*id), super::wait::exit_words(exit)),
            Event::Removed { id } => format!("{} is removed", self.of(*id)),
            Event::Done { id } => {
                let words = format!("{}: nothing of it is left", self.of(*id));
                self.0.remove(id);
                words
            }
            Event::Mail(receipt) => self.mail(receipt),
            Event::TurnEnded { id, turn } => format!("{}: turn {turn} is over", self.of(*id)),
            Event::ItemOpened(item) => format!("item {}: {}: {}", item.item, item.name, item.title),
            Event::ItemClosed { item } => format!("item {item} is closed"),
            Event::Timer(timer) => timer_words(timer),
            Event::PadChanged { name, revision: 0, author, .. } => format!("pad {name} is gone, by {author}"),
            Event::PadChanged { name, revision, author, .. } => {
                format!("pad {name} has revision {revision}, by {author}")
            }
            Event::TaskChanged { name, dropped: true, .. } => format!("task {name} is dropped"),
            Event::TaskChanged { name, .. } => format!("task {name} has changed"),
            Event::Selected { id, by: None } => format!("{} is selected", self.of(*id)),
            Event::Selected { id, by: Some(by) } => {
                format!("{} asks to look at {}", self.of(*by), self.of(*id))
            }
            Event::Resync {} => "events were missed; `qd ps` shows the present state".to_owned(),
        }
    }

    fn mail(&self, receipt: &Receipt) -> String {
        format!("message {} to {}: {}", receipt.mail, self.of(receipt.to), receipt.delivery)
    }
}

fn changed(process: &ProcessView) -> String {
    match process.state {
        Some(state) => format!("{} is {}, {state}", process.name, process.status),
        None => format!("{} is {}", process.name, process.status),
    }
}

fn timer_words(timer: &TimerView) -> String {
    let what = match timer.status {
        TimerStatus::Armed => "is armed",
        TimerStatus::Paused => "is paused",
        TimerStatus::Fired => "has fired",
        TimerStatus::Cancelled => "is cancelled",
    };
    format!("timer {} of {} {what}", timer.timer, timer.owner_name)
}
