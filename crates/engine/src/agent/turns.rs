//! Turns: from a prompt to the moment the agent rests, and the text it ended with. The daemon finds that text in
//! transcripts, servers and screens.

use proto::agent::{MailId, Turn, TurnEnd};
use proto::event::Event;
use proto::{AgentState, ErrorCode, Failure, Reply};

use crate::agent::Agent;
use crate::effect::{CommandAnswer, Effect};
use crate::outbox::{Outbox, Signal};
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
/// The same for a prompt that the vendor's own channel took: the channel reports the beginning of the work, however long that takes.
const UNSEEN_BY_CHANNEL_MS: u64 = 60_000;
/// A hook takes this much longer than a report to say how a turn ended.
const CORRECTED_LATE_MS: u64 = 1_000;

impl Agent {
    /// Begins a turn and returns its number. It ends one that still ran: the vendor began another.
    pub(crate) fn begin_turn(&mut self, mail: Option<MailId>, out: &mut Outbox) -> u64 {
        self.end_turn(TurnEnd::Done, out);
        let now = out.now;
        self.record.turn += 1;
        let number = self.record.turn;
        let (end, began_at) = (TurnEnd::Running, now.wall_ms);
        let turn = Turn {
            id: self.run.process,
            turn: number,
            end,
            text: String::new(),
            from: String::new(),
            mail,
            began_at,
            ended_at: None,
        };
        self.turns.insert(number, turn.clone());
        let is_seen = self.state().is_busy();
        self.live.newest_turn.began = now.uptime_ms;
        self.live.newest_turn.unseen_until = (!is_seen).then_some(now.uptime_ms + UNSEEN_MS);
        out.push(Effect::Record(Record::PutTurn(Box::new(turn))));
        self.prune_turns(out);
        out.mark_durable(self.run.process);
        number
    }

    /// Returns the turn that a message began: the one that was seen to begin after this moment, or a new one.
    pub(crate) fn claim_turn(&mut self, mail: MailId, since: u64, out: &mut Outbox) -> u64 {
        let is_its = self.live.newest_turn.began >= since;
        let running = self.running_turn().and_then(|number| self.turns.get_mut(&number));
        let Some(turn) = running.filter(|turn| is_its && turn.mail.is_none()) else {
            return self.begin_turn(Some(mail), out);
        };
        turn.mail = Some(mail);
        let record = turn.clone();
        out.push(Effect::Record(Record::PutTurn(Box::new(record.clone()))));
        record.turn
    }

    /// Waits longer for the first sign of a turn that was begun through the vendor's own channel.
    pub(crate) fn await_turn_from_channel(&mut self, out: &Outbox) {
        let now = out.now.uptime_ms;
        self.live.newest_turn.unseen_until =
            self.live.newest_turn.unseen_until.map(|_| now.saturating_add(UNSEEN_BY_CHANNEL_MS));
    }

    /// Begins a turn for a submitted prompt that is none of Quarterdeck's, unless one runs.
    pub(crate) fn prompt_seen(&mut self, out: &mut Outbox) {
        if self.running_turn().is_none() {
            self.begin_turn(None, out);
        }
    }

    /// Ends the turn that runs and orders its text to be found.
    pub(crate) fn end_turn(&mut self, end: TurnEnd, out: &mut Outbox) {
        let now = out.now;
        let run = self.run;
        self.live.newest_turn.unseen_until = None;
        let Some(number) = self.running_turn() else { return };
        let Some(turn) = self.turns.get_mut(&number) else { return };
        turn.end = end;
        turn.ended_at = Some(now.wall_ms);
        let record = turn.clone();
        let former = self.turns.range(..number).next_back().and_then(|(_, former)| former.ended_at);
        let (since, until) = (former.unwrap_or_default(), now.wall_ms);
        self.collecting.insert(number, now.uptime_ms + COLLECT_MS);
        out.push(Effect::Record(Record::PutTurn(Box::new(record))));
        let is_interrupted = end == TurnEnd::Interrupted;
        out.push(Effect::CollectResult { run, turn: number, since, until, is_interrupted });
        out.mark_visible(self.run.process);
    }

    /// Corrects how the newest turn ended: a report said a moment before that the agent rests.
    pub(crate) fn correct_rested_turn(&mut self, end: TurnEnd, out: &mut Outbox) {
        let now = out.now.wall_ms;
        let is_fresh = |at: u64| now.saturating_sub(at) <= CORRECTED_LATE_MS;
        let newest = self.record.turn;
        let turn = self.turns.get_mut(&newest).filter(|turn| turn.end == TurnEnd::Done);
        let Some(turn) = turn.filter(|turn| turn.ended_at.is_some_and(is_fresh)) else { return };
        turn.end = end;
        let record = turn.clone();
        out.push(Effect::Record(Record::PutTurn(Box::new(record))));
        out.mark_visible(self.run.process);
    }

    /// Ends a turn that no source showed at work, if the agent rests.
    pub(crate) fn give_up_unseen_turn(&mut self, out: &mut Outbox) {
        self.live.newest_turn.unseen_until = None;
        if !self.state().is_busy() {
            self.end_turn(TurnEnd::Done, out);
        }
    }

    /// Takes the text of a turn that is over.
    pub(crate) fn result_found(
        &mut self,
        number: u64,
        end: Option<TurnEnd>,
        text: &str,
        from: &str,
        out: &mut Outbox,
    ) {
        self.collecting.remove(&number);
        let Some(turn) = self.turns.get_mut(&number).filter(|turn| turn.end != TurnEnd::Running) else {
            return;
        };
        // The state shows only that the agent rests; its transcript or server knows that it was interrupted.
        if end == Some(TurnEnd::Interrupted) && turn.end == TurnEnd::Done {
            turn.end = TurnEnd::Interrupted;
        }
        turn.text = cut(text, MAX_TEXT).to_owned();
        from.clone_into(&mut turn.from);
        let record = turn.clone();
        out.push(Effect::Record(Record::PutTurn(Box::new(record))));
        self.prune_turns(out);
        self.close_turn(number, out);
    }

    /// Closes the turns whose text was not found in time.
    pub(crate) fn give_up_collecting(&mut self, now: u64, out: &mut Outbox) {
        let due: Vec<u64> =
            self.collecting.iter().filter(|(_, until)| **until <= now).map(|(turn, _)| *turn).collect();
        for number in due {
            self.collecting.remove(&number);
            self.close_turn(number, out);
        }
    }

    /// Announces a turn as over and answers the callers that wait for its text.
    pub(crate) fn close_turn(&mut self, number: u64, out: &mut Outbox) {
        out.announce(Event::TurnEnded { id: self.run.process, turn: number });
        out.signal(Signal::TurnOver(self.run.process));
        let turn = self.turns.get(&number).cloned();
        let (asked, rest) =
            std::mem::take(&mut self.result_tickets).into_iter().partition(|(_, turn)| *turn == number);
        self.result_tickets = rest;
        let asked: Vec<_> = asked;
        for (ticket, _) in asked {
            let result = turn.clone().map(|turn| CommandAnswer::Reply(Reply::Turn(turn)));
            out.reply(ticket, result.ok_or_else(|| no_turn(number)));
        }
    }

    /// Forgets the oldest turns beyond what is kept.
    pub(crate) fn prune_turns(&mut self, out: &mut Outbox) {
        let process = self.run.process;
        let mut gone = Vec::new();
        let weight = |agent: &Agent| agent.turns.values().map(|turn| turn.text.len()).sum::<usize>();
        while self.turns.len() > 1 && (self.turns.len() > KEPT || weight(self) > KEPT_TEXT) {
            let Some((number, _)) = self.turns.pop_first() else { break };
            self.collecting.remove(&number);
            gone.push(number);
        }
        let records = gone.into_iter().map(|turn| Effect::Record(Record::RemoveTurn { process, turn }));
        out.effects.extend(records);
    }

    /// Takes work that is seen: in the turn that runs, or in one that a person began. Some programs show work while
    /// they start: the first turn of an agent for which a message waits begins with that message.
    pub(crate) fn work_seen(&mut self, has_message: bool, out: &mut Outbox) {
        self.live.newest_turn.unseen_until = None;
        // Once Enter was pressed, work may be the message's effect or the agent's own: then it counts.
        let is_early = has_message && self.record.turn == 0 && self.live.progress.confirmed_since().is_none();
        if self.running_turn().is_none() && !is_early {
            self.begin_turn(None, out);
        }
    }

    /// Takes a turn that an earlier daemon recorded.
    pub(crate) fn restore_turn(&mut self, turn: Turn) {
        self.record.turn = self.record.turn.max(turn.turn);
        self.turns.insert(turn.turn, turn);
    }

    /// Returns true if a turn is over and its text is known or given up.
    pub(crate) fn is_turn_closed(&self, number: u64) -> bool {
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
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}
