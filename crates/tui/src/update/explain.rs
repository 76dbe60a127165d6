//! Pages that explain: why an agent is in its state, what a process is, what a timer does.

use proto::agent::{Composer, Explanation};
use proto::timers::{TimerStatus, TimerView};
use proto::{Printable, ProcessId};

use super::actions::push;
use crate::message::Command;
use crate::model::overlay::{Overlay, Page};
use crate::model::{Model, age, time_left};

/// What an agent is, and for how long.
fn state_sentence(explanation: &Explanation, now: u64) -> String {
    let (name, state) = (&explanation.name, explanation.agent.state);
    match age(now.saturating_sub(explanation.agent.since)).as_str() {
        "now" => format!("{name} is {state}, since a moment ago."),
        age => format!("{name} has been {state} for {age}."),
    }
}

/// Why an agent counts as what it is: every source with its rule and age.
pub(super) fn agent_page(model: &Model, explanation: &Explanation) -> Page {
    let now = model.now.epoch_ms;
    let mut lines = vec![
        state_sentence(explanation, now),
        Printable(&explanation.why).to_string(),
        String::new(),
        "# Source       says       since rule".to_owned(),
    ];
    for opinion in &explanation.opinions {
        let state = opinion.evidence.state.map_or("unknown", proto::AgentState::word);
        let counts = if opinion.counts { "" } else { "  (no longer counts)" };
        lines.push(format!(
            "{:<12} {state:<10} {:<5} {}{counts}",
            opinion.evidence.source.to_string(),
            age(now.saturating_sub(opinion.at)),
            Printable(&opinion.evidence.rule),
        ));
        if !opinion.evidence.message.is_empty() {
            lines.push(format!("             {}", Printable(&opinion.evidence.message)));
        }
    }
    lines.push(String::new());
    let waiting = match explanation.agent.mail {
        0 => "No message waits for it.".to_owned(),
        1 => "One message waits for it.".to_owned(),
        count => format!("{count} messages wait for it."),
    };
    let composer = match explanation.composer {
        Composer::Unknown => "It is not known whether its composer holds a draft.",
        Composer::Empty => "Its composer is empty.",
        Composer::Draft => "Its composer holds a draft.",
        Composer::Shell => "Its composer takes a shell command.",
    };
    lines.push(format!("{composer} {waiting}"));
    Page {
        title: format!("Why {} is {}", explanation.name, explanation.agent.state),
        lines,
        ..Page::default()
    }
}

/// What is known of a process whose state nobody judges.
pub(super) fn process_page(model: &Model, process: ProcessId) -> Page {
    let Some(view) = model.crew.get(process) else { return Page::default() };
    let exit = view.exit.map(|exit| format!("exit    {} ({})", exit.shell_code(), exit.reason));
    let mut lines = vec![
        format!("runs    {}", Printable(&view.program.argv.join(" "))),
        format!("in      {}", Printable(&model.place.short(&view.program.cwd))),
        format!("status  {}, run {}", view.status, view.run),
        format!("size    {}, viewers {}", view.terminal.size, view.terminal.viewers),
        format!("started {}", ago(model.now.epoch_ms, view.times.started_at)),
    ];
    lines.extend(exit);
    lines.extend(view.failure.as_ref().map(|failure| format!("failure {}", Printable(failure))));
    Page { title: view.name.to_string(), lines, ..Page::default() }
}

/// Shows whom a timer wakes, and with what.
pub(super) fn show_timer(model: &mut Model, timer: &TimerView) -> Vec<Command> {
    let paused = if timer.status == TimerStatus::Paused { " once it goes on; it is paused" } else { "" };
    let lines = vec![
        format!("wakes   {}", timer.owner_name),
        format!("in      {}{paused}", time_left(model.crew.timer_left(timer, model.now.ms))),
        String::new(),
        Printable(&timer.body).to_string(),
    ];
    push(model, Overlay::Page(Page { title: format!("Timer {}", timer.timer), lines, ..Page::default() }))
}

fn ago(now: u64, then: u64) -> String {
    match age(now.saturating_sub(then)).as_str() {
        "now" => "just now".to_owned(),
        age => format!("{age} ago"),
    }
}
