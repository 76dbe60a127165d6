//! What a message leaves to be drawn around the panes: nothing, or something, and whether the person waits for it. Pure.
//!
//! Drawing the chrome costs a whole picture. Typing into a program changes none of it, and neither does an agent that draws a
//! new title every moment on a screen that is not shown.

use proto::agent::AgentView;
use proto::event::Event;
use proto::process::{LiveNumbers, TerminalView, TimesView};
use proto::{ProcessId, ProcessView};

use crate::message::{Command, Message};
use crate::model::{Model, Prefix, Toast};

/// Chrome that is not drawn as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stale {
    /// The person did something to the deck itself, and waits for it.
    pub(super) by_person: bool,
    /// Something else happened.
    pub(super) by_event: bool,
}

impl Stale {
    pub(super) fn is_any(self) -> bool {
        self.by_person || self.by_event
    }

    pub(super) fn add(&mut self, other: Self) {
        self.by_person |= other.by_person;
        self.by_event |= other.by_event;
    }
}

/// Where a message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The person's keys and mouse.
    Input,
    /// Something that the person began in the deck.
    Person,
    /// The daemon about one process.
    Process(ProcessId),
    /// A program, which may say it as often as it likes.
    Program,
    /// Anything else.
    Event,
}

impl Source {
    fn of(message: &Message) -> Self {
        match message {
            Message::Input(_) => Self::Input,
            Message::Resized(_)
            | Message::UnwantedMouse { .. }
            | Message::Lines { .. }
            | Message::Copied(_)
            | Message::Link(_)
            | Message::Edited(..)
            | Message::Prepares(_) => Self::Person,
            Message::Happened(Event::Changed(view)) => Self::Process(view.id),
            Message::ChildCopies(..) => Self::Program,
            _ => Self::Event,
        }
    }
}

/// What the chrome depended on before a message.
#[derive(Debug)]
pub(super) struct Before {
    source: Source,
    keys: KeyTarget,
    process: Option<ProcessView>,
    toasts: Vec<Toast>,
}

impl Before {
    pub(super) fn of(model: &Model, message: &Message) -> Self {
        let source = Source::of(message);
        let (process, toasts) = match source {
            Source::Process(id) => (model.crew.get(id).cloned(), model.toasts.clone()),
            Source::Program => (None, model.toasts.clone()),
            _ => (None, Vec::new()),
        };
        Self { source, keys: KeyTarget::of(model), process, toasts }
    }

    /// Returns what the message, which made the model what it is now and wants this done, leaves to be drawn.
    pub(super) fn stale_after(&self, model: &Model, commands: &[Command]) -> Stale {
        let (by_person, by_event) = match self.source {
            // A key that only went to a program changes nothing around it.
            Source::Input => {
                (!(matches!(commands, [Command::Type(..)]) && self.keys == KeyTarget::of(model)), false)
            }
            Source::Person => (true, false),
            Source::Program => (false, self.toasts != model.toasts),
            Source::Process(id) => (false, !self.is_drawn_alike(model, id, commands)),
            Source::Event => (false, true),
        };
        Stale { by_person, by_event }
    }

    /// Returns true if the process looks in the deck as it did, and nothing else came of its change.
    fn is_drawn_alike(&self, model: &Model, id: ProcessId, commands: &[Command]) -> bool {
        let (Some(before), Some(now)) = (&self.process, model.crew.get(id)) else { return false };
        let has_title = model.looks.has_titles && model.is_on_screen(id);
        commands.is_empty()
            && self.toasts == model.toasts
            && model.crew.need(before) == model.crew.need(now)
            && drawn_part(before, has_title) == drawn_part(now, has_title)
    }
}

/// What decides where keys go, and is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KeyTarget {
    prefix: Prefix,
    overlays: usize,
    is_rail: bool,
}

impl KeyTarget {
    fn of(model: &Model) -> Self {
        Self { prefix: model.prefix, overlays: model.overlays.len(), is_rail: model.rail.has_keys }
    }
}

/// A process without what no part of the deck draws while it changes: how much it has printed and when, who looks at it, its
/// evidence, and its title where none is shown. Whatever is not named here counts as drawn.
fn drawn_part(process: &ProcessView, has_title: bool) -> (ProcessView, Option<u8>) {
    let agent = process.agent.as_deref();
    let percent = agent.and_then(|agent| agent.context).and_then(|context| context.percent());
    let drawn_agent = |agent: &AgentView| AgentView {
        evidence: None,
        runner_up: None,
        context: None,
        turn: 0,
        session: None,
        ..agent.clone()
    };
    let title = if has_title { process.title.clone() } else { String::new() };
    let drawn = ProcessView {
        live: LiveNumbers::default(),
        terminal: TerminalView { viewers: 0, ..process.terminal },
        times: TimesView { active_at: 0, ..process.times },
        agent: agent.map(drawn_agent).map(Box::new),
        title,
        ..process.clone()
    };
    (drawn, percent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::model::Place;
    use crate::update::update;

    fn process(number: u64) -> ProcessView {
        let id = ProcessId::from_entropy(number).to_string();
        serde_json::from_value(serde_json::json!({"id": id, "name": format!("p{number}"), "kind": "agent",
            "status": "running", "pid": 7, "run": 1, "state": "working", "parent": null, "task": null,
            "workspace": "local", "owner": "user", "size": {"cols": 80, "rows": 24}, "viewers": 0,
            "log": {"start": 0, "end": 0}, "argv": ["agent"], "cwd": "/p", "started_at": number, "active_at": 0,
            "agent": {"manifest": "test", "state": "working", "since": 5, "turn": 1, "mail": 0,
                "context": {"used": 400, "window": 1000}}}))
        .unwrap()
    }

    /// A deck that shows the first of two agents.
    fn model() -> Model {
        let size = proto::Size { cols: 100, rows: 30 };
        let mut model = Model::new(size, Config::default().looks, Place::default());
        update(&mut model, Message::Connected(vec![process(1), process(2)]));
        model.deck.open(ProcessId::from_entropy(1));
        model
    }

    fn told(model: &mut Model, message: Message) -> Stale {
        let before = Before::of(model, &message);
        let commands = update(model, message);
        before.stale_after(model, &commands)
    }

    fn changed(model: &mut Model, view: ProcessView) -> bool {
        told(model, Message::Happened(Event::Changed(Box::new(view)))).is_any()
    }

    #[test]
    fn u6_a_hidden_agent_that_animates_its_title_has_nothing_drawn() {
        let mut model = model();
        for round in 0..60 {
            let title = format!("working {round}");
            let drawn_now = |number: u64| {
                let times = TimesView { active_at: round, ..process(number).times };
                ProcessView { title: title.clone(), times, ..process(number) }
            };
            assert!(!changed(&mut model, drawn_now(2)), "{title}");
            assert!(changed(&mut model, drawn_now(1)), "its title is on the screen");
        }
    }

    #[test]
    fn u6_every_change_that_is_drawn_is_drawn() {
        let agent = |change: fn(&mut AgentView)| {
            let mut view = process(2);
            change(view.agent.as_mut().unwrap());
            view
        };
        let changes = [
            ProcessView { name: "other".parse().unwrap(), ..process(2) },
            ProcessView { status: proto::Status::Exited, ..process(2) },
            ProcessView { pid: None, ..process(2) },
            ProcessView {
                terminal: TerminalView { size: proto::Size { cols: 9, rows: 9 }, ..process(2).terminal },
                ..process(2)
            },
            ProcessView { state: Some(proto::AgentState::Idle), ..process(2) },
            agent(|agent| agent.state = proto::AgentState::Blocked),
            agent(|agent| agent.background = 3),
            agent(|agent| agent.held = true),
            agent(|agent| agent.context = None),
        ];
        for change in changes {
            let mut model = model();
            assert!(changed(&mut model, change.clone()), "{change:?}");
        }
        let mut model = model();
        assert!(changed(&mut model, process(3)), "a new process");
    }

    #[test]
    fn u6_a_context_that_fills_without_another_percent_is_not_drawn() {
        let mut model = model();
        let with_used = |used: u64| {
            let mut view = process(2);
            let context = serde_json::json!({"used": used, "window": 1000});
            view.agent.as_mut().unwrap().context = Some(serde_json::from_value(context).unwrap());
            view
        };
        assert!(!changed(&mut model, with_used(401)));
        assert!(changed(&mut model, with_used(420)));
    }

    #[test]
    fn u1_only_the_persons_own_doings_are_waited_for() {
        let mut model = model();
        let by_event = Stale { by_person: false, by_event: true };
        let by_person = Stale { by_person: true, by_event: false };
        assert_eq!(told(&mut model, Message::Tick), by_event);
        assert_eq!(told(&mut model, Message::Copied("3 bytes".to_owned())), by_person);
        let refused = Message::ChildCopies(crate::model::splits::PaneId(1), b"x".to_vec());
        assert_eq!(told(&mut model, refused), Stale::default(), "a program that may not copy");
        let mut typed = |bytes: &[u8]| {
            let mut events = Vec::new();
            crate::host::InputParser::default().feed(bytes, &mut events);
            told(&mut model, Message::Input(events.remove(0)))
        };
        assert_eq!(typed(b"x"), Stale::default(), "a key for the program");
        assert_eq!(typed(b"\x1c"), by_person, "the prefix");
    }
}
