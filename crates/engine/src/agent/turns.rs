//! Turns: from a prompt to the moment the agent rests, and what it said then.
//!
//! Owns when a turn begins and ends, its number and its record. Refuses finding its text: the daemon reads transcripts,
//! servers and screens, and says what it found.

use proto::agent::{MailId, Turn, TurnEnd};
use proto::event::Event;
use proto::{AgentState, ErrorCode, Failure, ProcessId, Reply};

use crate::Engine;
use crate::agent::Agent;
use crate::context::Context;
use crate::effect::{CommandAnswer, Effect};
use crate::outbox::Signal;
use crate::record::Record;

/// Turns kept per process.
const KEPT: usize = 200;
/// Text kept over all turns of a process, in bytes.
const KEPT_TEXT: usize = 4 << 20;
/// Longest text of one turn, in bytes.
const MAX_TEXT: usize = 256 << 10;
/// How long the daemon may look for a turn's text.
const COLLECT_MS: u64 = 5_000;
/// A turn that nothing shows at work is taken for over after this long.
const UNSEEN_MS: u64 = 2_000;
/// The same for a prompt that the vendor's own channel took: it tells when the work begins, however long that takes.
const UNSEEN_BY_CHANNEL_MS: u64 = 60_000;
/// A hook takes this much longer than a report to say how a turn ended.
const CORRECTED_LATE_MS: u64 = 1_000;

impl Context {
    /// A turn begins; its number. One that still ran is over: the vendor began another.
    pub(crate) fn begin_turn(&mut self, id: ProcessId, mail: Option<MailId>) -> u64 {
        self.end_turn(id, TurnEnd::Done);
        let now = self.out.now;
        let Some(agent) = self.processes.agent_mut(id) else { return 0 };
        agent.record.turn += 1;
        let number = agent.record.turn;
        let (end, began_at) = (TurnEnd::Running, now.wall_ms);
        let turn = Turn {
            id,
            turn: number,
            end,
            text: String::new(),
            from: String::new(),
            mail,
            began_at,
            ended_at: None,
        };
        agent.turns.insert(number, turn.clone());
        let is_seen = agent.state().is_busy();
        agent.live.newest_turn.began = now.uptime_ms;
        agent.live.newest_turn.unseen_until = (!is_seen).then_some(now.uptime_ms + UNSEEN_MS);
        self.out.push(Effect::Record(Record::PutTurn(Box::new(turn))));
        self.prune_turns(id);
        self.out.mark_durable(id);
        number
    }

    /// The turn that a message began: the one that was seen to begin after this moment, or a new one.
    pub(crate) fn claim_turn(&mut self, id: ProcessId, mail: MailId, since: u64) -> u64 {
        let Some(agent) = self.processes.agent_mut(id) else { return 0 };
        let is_its = agent.live.newest_turn.began >= since;
        let running = agent.running_turn().and_then(|number| agent.turns.get_mut(&number));
        let Some(turn) = running.filter(|turn| is_its && turn.mail.is_none()) else {
            return self.begin_turn(id, Some(mail));
        };
        turn.mail = Some(mail);
        let record = turn.clone();
        self.out.push(Effect::Record(Record::PutTurn(Box::new(record.clone()))));
        record.turn
    }

    /// The turn was begun through the vendor's own channel, which tells of it: its beginning may take long.
    pub(crate) fn await_turn_from_channel(&mut self, id: ProcessId) {
        let now = self.out.now.uptime_ms;
        let Some(agent) = self.processes.agent_mut(id) else { return };
        agent.live.newest_turn.unseen_until =
            agent.live.newest_turn.unseen_until.map(|_| now.saturating_add(UNSEEN_BY_CHANNEL_MS));
    }

    /// A prompt was submitted that is none of ours, as far as anybody knows.
    pub(crate) fn prompt_seen(&mut self, id: ProcessId) {
        if self.processes.agent(id).is_some_and(|agent| agent.running_turn().is_none()) {
            self.begin_turn(id, None);
        }
    }

    /// The turn that runs is over; its text is looked for.
    pub(crate) fn end_turn(&mut self, id: ProcessId, end: TurnEnd) {
        let now = self.out.now;
        let Some(process) = self.processes.get_mut(&id) else { return };
        let run = process.key();
        let Some(agent) = process.agent.as_deref_mut() else { return };
        agent.live.newest_turn.unseen_until = None;
        let Some(number) = agent.running_turn() else { return };
        let Some(turn) = agent.turns.get_mut(&number) else { return };
        turn.end = end;
        turn.ended_at = Some(now.wall_ms);
        let record = turn.clone();
        let former = agent.turns.range(..number).next_back().and_then(|(_, former)| former.ended_at);
        let (since, until) = (former.unwrap_or_default(), now.wall_ms);
        agent.collecting.insert(number, now.uptime_ms + COLLECT_MS);
        self.out.push(Effect::Record(Record::PutTurn(Box::new(record))));
        self.out.push(Effect::CollectResult { run, turn: number, since, until });
        self.out.mark_visible(id);
    }

    /// The newest turn failed or was interrupted, although a report said a moment before that the agent rests.
    pub(crate) fn correct_rested_turn(&mut self, id: ProcessId, end: TurnEnd) {
        let now = self.out.now.wall_ms;
        let Some(agent) = self.processes.agent_mut(id) else { return };
        let is_fresh = |at: u64| now.saturating_sub(at) <= CORRECTED_LATE_MS;
        let newest = agent.record.turn;
        let turn = agent.turns.get_mut(&newest).filter(|turn| turn.end == TurnEnd::Done);
        let Some(turn) = turn.filter(|turn| turn.ended_at.is_some_and(is_fresh)) else { return };
        turn.end = end;
        let record = turn.clone();
        self.out.push(Effect::Record(Record::PutTurn(Box::new(record))));
        self.out.mark_visible(id);
    }

    /// Nothing showed the turn at work, and the agent rests.
    pub(crate) fn give_up_unseen_turn(&mut self, id: ProcessId) {
        let Some(agent) = self.processes.agent_mut(id) else { return };
        agent.live.newest_turn.unseen_until = None;
        if !agent.state().is_busy() {
            self.end_turn(id, TurnEnd::Done);
        }
    }

    /// What the agent said at the end of a turn.
    pub(crate) fn result_found(
        &mut self,
        id: ProcessId,
        number: u64,
        end: Option<TurnEnd>,
        text: &str,
        from: &str,
    ) {
        let Some(agent) = self.processes.agent_mut(id) else { return };
        agent.collecting.remove(&number);
        let Some(turn) = agent.turns.get_mut(&number).filter(|turn| turn.end != TurnEnd::Running) else {
            return;
        };
        // The state shows only that the agent rests; its transcript or server knows that somebody interrupted it.
        if end == Some(TurnEnd::Interrupted) && turn.end == TurnEnd::Done {
            turn.end = TurnEnd::Interrupted;
        }
        turn.text = cut(text, MAX_TEXT).to_owned();
        from.clone_into(&mut turn.from);
        let record = turn.clone();
        self.out.push(Effect::Record(Record::PutTurn(Box::new(record))));
        self.prune_turns(id);
        self.turn_is_told(id, number);
    }

    /// Turns whose text nobody found in time are told without one.
    pub(crate) fn give_up_collecting(&mut self, id: ProcessId, now: u64) {
        let Some(agent) = self.processes.agent_mut(id) else { return };
        let due: Vec<u64> =
            agent.collecting.iter().filter(|(_, until)| **until <= now).map(|(turn, _)| *turn).collect();
        for number in due {
            if let Some(agent) = self.processes.agent_mut(id) {
                agent.collecting.remove(&number);
            }
            self.turn_is_told(id, number);
        }
    }

    /// Everybody who waited for the turn hears of it.
    pub(crate) fn turn_is_told(&mut self, id: ProcessId, number: u64) {
        self.out.announce(Event::TurnEnded { id, turn: number });
        self.out.signal(Signal::TurnOver(id));
        let Some(agent) = self.processes.agent_mut(id) else { return };
        let turn = agent.turns.get(&number).cloned();
        let (asked, rest) =
            std::mem::take(&mut agent.result_tickets).into_iter().partition(|(_, turn)| *turn == number);
        agent.result_tickets = rest;
        let asked: Vec<_> = asked;
        for (ticket, _) in asked {
            let result = turn.clone().map(|turn| CommandAnswer::Reply(Reply::Turn(turn)));
            self.out.reply(ticket, result.ok_or_else(|| no_turn(number)));
        }
    }

    /// Forgets the oldest turns beyond what is kept.
    pub(crate) fn prune_turns(&mut self, id: ProcessId) {
        let Some(agent) = self.processes.agent_mut(id) else { return };
        let mut gone = Vec::new();
        let weight = |agent: &Agent| agent.turns.values().map(|turn| turn.text.len()).sum::<usize>();
        while agent.turns.len() > 1 && (agent.turns.len() > KEPT || weight(agent) > KEPT_TEXT) {
            let Some((number, _)) = agent.turns.pop_first() else { break };
            agent.collecting.remove(&number);
            gone.push(number);
        }
        let records = gone.into_iter().map(|turn| Effect::Record(Record::RemoveTurn { process: id, turn }));
        self.out.effects.extend(records);
    }
}

impl Engine {
    /// The agent is seen at work: in the turn that runs, or in one that somebody else began. Some programs show work
    /// while they start: what waits to be an agent's first turn is not preceded by one.
    pub(crate) fn turn_is_under_way(&mut self, id: ProcessId) {
        let has_first = self.mail.first_to(id).is_some();
        let Some(agent) = self.ctx.processes.agent_mut(id) else { return };
        agent.live.newest_turn.unseen_until = None;
        // Once Enter was pressed, work may be the message's doing or the agent's own: then it counts.
        let is_early = has_first && agent.record.turn == 0 && agent.live.progress.confirmed_since().is_none();
        if agent.running_turn().is_none() && !is_early {
            self.ctx.begin_turn(id, None);
        }
    }
}

impl Agent {
    /// Whether a turn is over and everything that can be known of it is.
    pub(crate) fn is_turn_told(&self, number: u64) -> bool {
        let is_over = self.turns.get(&number).map(|turn| turn.end != TurnEnd::Running);
        // A turn older than what is kept is over for certain.
        let is_forgotten = number >= 1 && number < self.record.turn;
        is_over.unwrap_or(is_forgotten) && !self.collecting.contains_key(&number)
    }

    /// The newest turn that is over.
    pub(crate) fn newest_ended(&self) -> Option<u64> {
        self.turns.values().rev().find(|turn| turn.end != TurnEnd::Running).map(|turn| turn.turn)
    }

    /// Why a turn cannot be asked for yet.
    pub(crate) fn not_over(&self, number: u64, name: &proto::Name) -> Failure {
        let doing = if self.state() == AgentState::Blocked { "it is blocked" } else { "it is under way" };
        Failure::new(ErrorCode::Conflict, format!("turn {number} of {name} is not over: {doing}"))
            .hint(format!("qd wait {name} --turn {number}"))
    }
}

/// There is no such turn, or none any more.
pub(crate) fn no_turn(number: u64) -> Failure {
    Failure::new(ErrorCode::NotFound, format!("no turn {number}"))
        .hint(format!("the last {KEPT} turns are kept; qd ps --json shows the newest"))
}

/// The longest start of a text that has at most this many bytes.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}
