//! `explain`: every opinion about an agent, who won over whom, and by which rule.

use proto::agent::{Composer, Explanation, Source};
use proto::request::Explain;
use proto::verb;
use proto::{Reply, Role};

use super::{Asker, CommandResult, Decide, Needs};
use crate::Engine;
use crate::agent::Agent;
use crate::agent::sources::EvidenceSlot;
use crate::agent::state_from_evidence::Reason;
use crate::effect::CommandAnswer;
use crate::rights::Verb;
use crate::rights::registry::wrong_kind;
use crate::timers::exit_words;

impl Decide for verb::Explain {
    type Order = Explain;
    const ROLE: Role = Role::View;
    const NEEDS: Needs = Needs::OverAgent(Verb::Read);

    fn decide(engine: &mut Engine, asker: Asker, _: Explain) -> CommandResult {
        let now = engine.ctx.out.now.uptime_ms;
        let process = engine.ctx.processes.find_known(asker.target()?)?;
        let Some(agent) = process.agent.as_deref() else { return Err(wrong_kind(process)) };
        let explanation = Explanation {
            id: process.id,
            name: process.name.clone(),
            agent: agent.view(process.manifest()),
            opinions: agent.live.evidence.table.slots().map(|slot| Agent::opinion(slot, now)).collect(),
            why: match process.run.exit.filter(|_| !process.is_live()) {
                Some(exit) => format!("{}: its program {}", agent.state(), exit_words(&exit)),
                None => why(agent),
            },
            version: agent.live.launched.as_ref().and_then(|launched| launched.version.clone()),
            drifts: agent.live.evidence.drift.count,
            // The last screen of a program that is over may look like anything.
            composer: if process.is_live() { agent.live.screen.composer } else { Composer::default() },
            unread_answers: None,
        };
        Ok(Some(CommandAnswer::Reply(Reply::Explanation(Box::new(explanation)))))
    }
}

/// The winner, the runner-up and the rule, in one sentence.
fn why(agent: &Agent) -> String {
    let state = agent.state();
    let Some(judgement) = &agent.live.evidence.judgement else {
        return format!("{state}: no source has reported anything about this run yet");
    };
    let slot = |source: Option<Source>| source.and_then(|source| agent.live.evidence.table.get(source));
    let says = |slot: &EvidenceSlot| {
        let word = slot.state().map_or("that it cannot be judged", |state| state.word());
        format!("{} ({}) says {word}", name(slot.evidence.source), slot.evidence.rule)
    };
    let winner = slot(judgement.winner).map_or_else(|| "no source has an opinion".to_owned(), says);
    let over = slot(judgement.runner_up).map(|slot| format!("; {}", says(slot))).unwrap_or_default();
    let rule = match judgement.reason {
        Reason::Nothing => "the state before it stays",
        Reason::Strongest => "the strongest source that counts wins",
        Reason::PermissionWaits => "a request for permission waits in the inbox, which blocks it",
        Reason::DialogStands => "a dialog on the screen beats a report that does not know of it",
        Reason::TurnFailed => "a report says that it is idle, but the last hook says that its turn failed",
        Reason::HookWorn => "newer evidence beats a hook that is not fresh",
        Reason::SameInstant => {
            "of reports at the same instant, blocked wins over working and working over idle"
        }
        Reason::Held => "the strongest source cannot judge, so the state before it is held",
        Reason::NotYet => "a turn is over only when weak sources agree for 300 ms",
        Reason::ErrorStays => "a failed turn stays failed until the next prompt",
    };
    format!("{state}: {winner}{over}; {rule}")
}

fn name(source: Source) -> &'static str {
    match source {
        Source::Process => "the system",
        Source::ProgramStatus => "the program's status report",
        Source::Server => "the vendor's server",
        Source::StateFile => "the vendor's state file",
        Source::Dialog => "a dialog on the screen",
        Source::Hook => "a hook",
        Source::Title => "the title",
        Source::Progress => "a progress report",
        Source::Screen => "the screen",
        Source::Silence => "silence",
    }
}
