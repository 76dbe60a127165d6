//! Reads one agent's files: its state file, its transcript, and the text of its newest turn. `file_watcher`
//! calls it when a file has changed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agents::quota;
use agents::state_file::{self, PidIdentity};
use agents::transcript::location::AgentContext;
use agents::transcript::{EndedTurn, ReadFrom, TranscriptChange, TranscriptReader};
use engine::RunFact;
use proto::Evidence;
use proto::agent::{Source, TurnEnd};

use super::Agents;
use super::agent_run::AgentRun;
use super::file_watcher::{AgentNotice, SoughtMessage, WantedText};
use super::tail::{self, FileTail, From, Jump};
use super::vendor_server::VendorServer;
use crate::clock;

/// The most of a transcript that is read at once.
const SLICE: usize = 256 * 1024;
/// How much of an existing transcript is read to find out how full the context is.
const PAST: u64 = 4 << 20; // 4 MiB
/// Largest state file.
const MAX_STATE: u64 = 256 * 1024;
/// How much later than its end the text of a turn may come.
const TEXT: Duration = Duration::from_millis(3_000);
/// The same where the vendor's server can be asked instead.
const TEXT_BEFORE_ASKING: Duration = Duration::from_millis(500);
/// How much earlier than its span the prompt of a turn may have been written: a program may take its next prompt before
/// the end of the turn before is seen.
const EARLY_PROMPT_MS: u64 = 2_000;
/// Two texts belong to one turn if this many bytes at their ends are equal.
const SAME_END: usize = 64;
/// The longest text of a turn that is read from a screen.
const MAX_SCREEN_TEXT: usize = 64 * 1024;

/// What a watched file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    StateFile,
    Transcript,
    Manifest,
}

/// One agent's files.
pub(crate) struct AgentFiles {
    agent_run: Arc<AgentRun>,
    living: Option<PidIdentity>,
    /// Its session began with this run: everything in its transcript is new.
    is_fresh: bool,
    transcript: Option<Transcript>,
    said_state: Option<Evidence>,
    /// The agent's text in the newest turn, until it is collected.
    text: Option<TurnReport>,
    /// The text that a hook has reported. Hooks repeat streamed text or have only its last part: the
    /// transcript is preferred as soon as it has the same turn.
    hook_text: Option<String>,
    /// Turns whose text is wanted, oldest first.
    collects: Vec<Collect>,
    /// When the prompt of the turn that was reported last was written, if its source knew.
    reported: Option<u64>,
}

/// A turn whose text is wanted, and the time limit for it.
struct Collect {
    wanted: WantedText,
    due: Instant,
}

/// The agent's text in a turn, its source, and how the turn ended if the source knows.
struct TurnReport {
    text: String,
    from: &'static str,
    end: Option<TurnEnd>,
    /// When the prompt of the turn was written, if the source knows.
    prompted_at: Option<u64>,
}

impl TurnReport {
    /// Returns true if it is about another, earlier turn than the wanted one. A program that copies a conversation into
    /// another file writes all of its turns again.
    fn is_former(&self, wanted: &WantedText, reported: Option<u64>) -> bool {
        let is_early = |at: u64| at.saturating_add(EARLY_PROMPT_MS) < *wanted.span.start();
        self.prompted_at.is_some_and(|at| is_early(at) || reported.is_some_and(|reported| at <= reported))
    }
}

struct Transcript {
    tail: FileTail,
    reader: TranscriptReader,
    /// What is read first was written before this daemon watched.
    is_past: bool,
    /// Something was read from it. A file that is read from its beginning again contains old prompts.
    was_read: bool,
}

impl AgentFiles {
    pub(crate) fn new(agent_run: Arc<AgentRun>, pid: i32, is_fresh: bool) -> Self {
        let living = holder::proc_stat::start_time(pid).map(|started| PidIdentity { pid, started });
        Self {
            agent_run,
            living,
            is_fresh,
            transcript: None,
            said_state: None,
            text: None,
            hook_text: None,
            collects: Vec::new(),
            reported: None,
        }
    }

    /// Returns when the wait for a text ends.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.collects.iter().map(|collect| collect.due).min()
    }

    /// Returns the paths of its files, as far as they are known.
    pub(crate) fn files(&mut self, agents: &Agents) -> Vec<(Watched, PathBuf)> {
        let (manifest, note) = (self.agent_run.manifest(), self.agent_run.note());
        let env = |name: &str| self.agent_run.env.get(name).cloned();
        let around = AgentContext {
            env: &env,
            cwd: &self.agent_run.cwd,
            session: note.session.as_deref(),
            pid: self.living.map(|living| living.pid),
        };
        let state =
            manifest.state_file.as_ref().and_then(|spec| state_file::file_location(spec, &around)?.only());
        let guessed = || {
            let file_location = manifest.transcript.as_ref()?.file_location(&around)?;
            file_location.only().or_else(|| tail::find(&file_location))
        };
        let transcript = manifest.transcript.as_ref().and(note.transcript.clone().or_else(guessed));
        if let Some(path) = &transcript {
            self.follow(path);
        }
        let manifests = agents.manifest_files(&manifest.name, &self.agent_run.cwd);
        let own = [(Watched::StateFile, state), (Watched::Transcript, transcript)];
        let own = own.into_iter().filter_map(|(what, path)| path.map(|path| (what, path)));
        own.chain(manifests.into_iter().map(|path| (Watched::Manifest, path))).collect()
    }

    /// Reads this transcript from now on.
    fn follow(&mut self, path: &PathBuf) {
        if self.transcript.as_ref().is_some_and(|transcript| transcript.tail.path() == path) {
            return;
        }
        // When a program switches to another session, that session existed before.
        let is_past = !self.is_fresh || self.transcript.is_some();
        let from = if is_past { From::NearEnd(PAST) } else { From::Beginning };
        let reader = TranscriptReader::new(&self.agent_run.manifest(), ReadFrom::Beginning);
        self.transcript = reader.map(|reader| Transcript {
            tail: FileTail::new(path.clone(), from),
            reader,
            is_past,
            was_read: false,
        });
    }

    /// Processes a notice about it.
    pub(crate) fn take_notice(&mut self, notice: AgentNotice, agents: &Agents) {
        match notice {
            AgentNotice::Prompt => self.begin_turn(agents),
            // A server connection that began in the middle of a turn has its end but not its text: other
            // sources have it.
            AgentNotice::ServerText(text, end) if text.trim().is_empty() && end != TurnEnd::Interrupted => {}
            AgentNotice::ServerText(text, end) => {
                self.text = Some(TurnReport { text, from: "server", end: Some(end), prompted_at: None });
                self.answer(agents);
            }
            AgentNotice::HookText(text) if text.trim().is_empty() => {}
            AgentNotice::HookText(text) => {
                self.hook_text = Some(text);
                self.read_transcript(agents);
                self.compare_with_transcript(agents);
            }
            AgentNotice::Listed(wanted, found) => self.take_listed(&wanted, found, agents),
            AgentNotice::Moved => {}
            AgentNotice::Over => {
                self.read_transcript(agents);
                self.collects.iter_mut().for_each(|collect| collect.due = Instant::now());
            }
        }
    }

    /// Records a submitted prompt. Texts that are still wanted belong to turns before it.
    fn begin_turn(&mut self, agents: &Agents) {
        self.read_transcript(agents);
        for collect in std::mem::take(&mut self.collects) {
            self.resolve(collect.wanted, agents);
        }
        (self.text, self.hook_text) = (None, None);
    }

    /// Reports the text of a turn now, or as soon as a source has it.
    pub(crate) fn collect(&mut self, wanted: WantedText, agents: &Agents) {
        let manifest = self.agent_run.manifest();
        let hooks_tell = manifest.hooks.as_ref().is_some_and(|hooks| hooks.fields.text.is_some());
        let may_come = hooks_tell || self.transcript.is_some() || self.agent_run.note().port.is_some();
        let wait = match may_come {
            true if self.listing_line().is_some() => TEXT_BEFORE_ASKING,
            true => TEXT,
            false => Duration::ZERO,
        };
        self.collects.push(Collect { wanted, due: Instant::now() + wait });
        self.answer(agents);
    }

    fn answer(&mut self, agents: &Agents) {
        let Some(first) = self.collects.first() else { return };
        let reported = self.reported;
        self.text.take_if(|report| report.is_former(&first.wanted, reported));
        if let Some(TurnReport { text, from, end, prompted_at }) = self.text.take() {
            self.reported = prompted_at.or(self.reported);
            let turn = self.collects.remove(0).wanted.turn;
            agents.send_fact(self.agent_run.run, RunFact::Result { turn, text, from, end });
        }
    }

    /// Reports turns that another prompt has followed in the transcript.
    fn answer_former(&mut self, agents: &Agents) {
        let Some(reader) = self.transcript.as_ref().map(|transcript| &transcript.reader) else { return };
        let run = self.agent_run.run;
        self.collects.retain(|Collect { wanted, .. }| {
            let Some(text) = reader.whole_text_in(&wanted.span) else { return true };
            let result =
                RunFact::Result { turn: wanted.turn, text: text.to_owned(), from: "transcript", end: None };
            agents.send_fact(run, result);
            false
        });
    }

    /// Chooses a hook's text, or the transcript's where that has the same turn.
    fn compare_with_transcript(&mut self, agents: &Agents) {
        let Some(hook) = &self.hook_text else { return };
        let written = |transcript: &Transcript| {
            let turn = transcript.reader.newest_turn(|written| is_same_turn(written, hook));
            turn.map(|(text, prompted_at)| (text.to_owned(), prompted_at))
        };
        let report = match self.transcript.as_ref().map(written) {
            None => TurnReport { text: hook.clone(), from: "hook", end: None, prompted_at: None },
            Some(Some((text, prompted_at))) => {
                TurnReport { text, from: "transcript", end: None, prompted_at }
            }
            // The transcript does not have it yet.
            Some(None) => return,
        };
        (self.text, self.hook_text) = (Some(report), None);
        self.answer(agents);
    }

    /// Resolves texts whose time is over from other sources.
    pub(crate) fn give_up(&mut self, agents: &Agents, now: Instant) {
        let (late, open): (Vec<_>, Vec<_>) = self.collects.drain(..).partition(|collect| collect.due <= now);
        self.collects = open;
        for collect in late {
            self.resolve(collect.wanted, agents);
        }
    }

    /// Finds the text of a turn in the transcript, else in a hook's report, else on the vendor's server, else
    /// on the screen.
    fn resolve(&mut self, wanted: WantedText, agents: &Agents) {
        let hook = self.hook_text.take();
        let reader = self.transcript.as_ref().map(|transcript| &transcript.reader);
        let written = reader.and_then(|reader| reader.text_since_prompt_in(&wanted.span));
        let written = written.filter(|text| hook.as_ref().is_none_or(|hook| is_same_turn(text, hook)));
        let report = written.map(|text| (text.to_owned(), "transcript")).or(hook.map(|hook| (hook, "hook")));
        match (report, self.listing_line()) {
            (Some((text, from)), _) => {
                agents.send_fact(
                    self.agent_run.run,
                    RunFact::Result { turn: wanted.turn, text, from, end: None },
                );
            }
            (None, Some(line)) => agents.list_turn(Arc::clone(&self.agent_run), line, wanted),
            // The transcript would have what was said before the interruption: nothing was.
            (None, None) if wanted.is_interrupted && self.transcript.is_some() => {
                let (text, from) = (String::new(), "transcript");
                let result = RunFact::Result { turn: wanted.turn, text, from, end: None };
                agents.send_fact(self.agent_run.run, result);
            }
            (None, None) => self.report_screen_text(wanted.turn, agents),
        }
    }

    fn take_listed(&self, wanted: &WantedText, found: Option<EndedTurn>, agents: &Agents) {
        let turn = found.filter(|turn| !turn.text.trim().is_empty() || turn.end != TurnEnd::Done);
        let Some(EndedTurn { end, text, .. }) = turn else {
            return self.report_screen_text(wanted.turn, agents);
        };
        let result = RunFact::Result { turn: wanted.turn, text, from: "server", end: Some(end) };
        agents.send_fact(self.agent_run.run, result);
    }

    fn report_screen_text(&self, turn: u64, agents: &Agents) {
        let text = self.screen_text(agents).unwrap_or_default();
        agents.send_fact(self.agent_run.run, RunFact::Result { turn, text, from: "screen", end: None });
    }

    /// Returns the server connection, if the server lists the messages of a session.
    fn listing_line(&self) -> Option<Arc<VendorServer>> {
        self.agent_run.line().filter(|line| line.lists_messages())
    }

    fn screen_text(&self, agents: &Agents) -> Option<String> {
        let text = agents.screen_text(self.agent_run.run)?;
        let mut text = agents::trim(&self.agent_run.manifest(), &text);
        let excess = text.len().saturating_sub(MAX_SCREEN_TEXT);
        let cut = text.ceil_char_boundary(excess);
        Some(text.split_off(cut))
    }

    /// Reads the state file; returns true if the paths of files may have become known.
    pub(crate) fn read_state(&mut self, agents: &Agents) -> bool {
        let manifest = self.agent_run.manifest();
        let (Some(spec), Some(living)) = (&manifest.state_file, self.living) else { return false };
        let env = |name: &str| self.agent_run.env.get(name).cloned();
        let around =
            AgentContext { env: &env, cwd: &self.agent_run.cwd, session: None, pid: Some(living.pid) };
        let path = state_file::file_location(spec, &around).and_then(|file_location| file_location.only());
        let text = path.filter(is_small_file).and_then(|path| std::fs::read_to_string(path).ok());
        let reading = text.as_deref().map(|text| state_file::read(spec, text, living));
        let (evidence, session) = match reading {
            Some(Some(reading)) => (reading.evidence, reading.session),
            // Half written, or another process's: the previous evidence stays until the rest comes.
            Some(None) => return false,
            None => (None, None),
        };
        if evidence != self.said_state {
            let run = self.agent_run.run;
            match &evidence {
                Some(evidence) => agents.send_fact(run, RunFact::Evidence(Box::new(evidence.clone()))),
                None => agents.send_fact(run, RunFact::Withdrawn(Source::StateFile)),
            }
            self.said_state = evidence;
        }
        session.is_some_and(|session| self.learn_session(&session, agents))
    }

    /// Reads what is new in the transcript; returns true if the paths of files may have become known.
    pub(crate) fn read_transcript(&mut self, agents: &Agents) -> bool {
        let mut has_moved = false;
        let mut is_again = false;
        loop {
            let Some(transcript) = &mut self.transcript else { return has_moved };
            let grown = match transcript.tail.read(SLICE) {
                Ok(grown) => grown,
                Err(error) => {
                    tracing::debug!(%error, run = ?self.agent_run.run, "a transcript cannot be read");
                    return has_moved;
                }
            };
            if let Some(jump) = grown.jumped {
                is_again |= transcript.was_read;
                let start = if jump == Jump::ToBeginning { ReadFrom::Beginning } else { ReadFrom::Middle };
                if let Some(reader) = TranscriptReader::new(&self.agent_run.manifest(), start) {
                    transcript.reader = reader;
                }
            }
            let news = transcript.reader.feed(&grown.bytes);
            let news = if transcript.is_past { news.past() } else { news };
            transcript.is_past &= grown.has_more;
            transcript.was_read |= !grown.bytes.is_empty();
            if news.prompts > 0 && !is_again {
                agents.send_fact(self.agent_run.run, RunFact::PromptWritten);
            }
            has_moved |= self.take_news(news, agents);
            self.answer_former(agents);
            if !grown.has_more {
                return has_moved;
            }
        }
    }

    fn take_news(&mut self, news: TranscriptChange, agents: &Agents) -> bool {
        let run = self.agent_run.run;
        if let Some(context) = news.context {
            agents.send_fact(run, RunFact::Context(context));
        }
        if let Some(mut evidence) = news.evidence {
            quota::complete(&self.agent_run.manifest().quota, &mut evidence, &clock::local());
            agents.send_fact(run, RunFact::Evidence(Box::new(evidence)));
        }
        if news.prompts > 0 {
            self.text = None;
        }
        if let Some(turn) = news.turns.into_iter().next_back() {
            let EndedTurn { end, text, prompted_at } = turn;
            self.text = Some(TurnReport { text, from: "transcript", end: Some(end), prompted_at });
            self.hook_text = None;
            self.answer(agents);
        }
        self.compare_with_transcript(agents);
        news.session.is_some_and(|session| self.learn_session(&session, agents))
    }

    /// Reports whether the vendor's server or the transcript has this message as a prompt.
    pub(crate) fn find_prompt(&self, sought: &SoughtMessage, agents: &Agents) {
        if let Some(line) = self.listing_line() {
            return agents.find_on_server(Arc::clone(&self.agent_run), line, sought.clone());
        }
        let Some(transcript) = &self.transcript else { return };
        let path = transcript.tail.path().to_owned();
        let most = usize::try_from(PAST).unwrap_or(usize::MAX);
        let found = FileTail::new(path, From::NearEnd(PAST))
            .read(most)
            .is_ok_and(|read| agents::transcript::has_prompt(&read.bytes, &sought.text, sought.since));
        agents.send_fact(self.agent_run.run, RunFact::PromptSought { mail: sought.mail, found });
    }

    fn learn_session(&self, session: &str, agents: &Agents) -> bool {
        let is_news = self.agent_run.pin_session(session);
        if is_news {
            agents.send_fact(self.agent_run.run, RunFact::Session(session.to_owned()));
        }
        is_news
    }
}

/// Returns true if the transcript has the whole turn of a hook's text: it ends with the hook's text, or the
/// hook repeats it and ends in the same way.
fn is_same_turn(written: &str, hook: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let (written, hook) = (plain(written), plain(hook));
    if written.is_empty() {
        return false;
    }
    let end = &written[written.ceil_char_boundary(written.len().saturating_sub(SAME_END))..];
    written.ends_with(&hook) || (hook.ends_with(end) && hook.contains(&written))
}

fn is_small_file(path: &PathBuf) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_STATE)
}

#[cfg(test)]
mod tests {
    use super::{TurnReport, WantedText, is_same_turn};

    #[test]
    fn c18_the_report_of_an_earlier_turn_that_is_written_again_is_not_the_result_of_a_later_one() {
        let wanted = WantedText { turn: 2, span: 100_000..=120_000, is_interrupted: false };
        let is_former_after = |prompted_at, reported| {
            let report = TurnReport { text: String::new(), from: "transcript", end: None, prompted_at };
            report.is_former(&wanted, reported)
        };
        let is_former = |prompted_at| is_former_after(prompted_at, None);
        assert!(is_former_after(Some(99_000), Some(99_000)), "it was the result of turn 1");
        assert!(!is_former_after(Some(99_001), Some(99_000)) && !is_former_after(None, Some(99_000)));
        assert!(is_former(Some(90_000)));
        assert!(!is_former(Some(99_000)), "taken by the program before the end of turn 1 was seen");
        assert!(!is_former(Some(110_000)) && !is_former(None));
    }

    #[test]
    fn c18_the_transcript_is_preferred_to_a_hook_of_the_same_turn() {
        assert!(is_same_turn("all of it", "all of itall of it"), "a hook that repeats what was streamed");
        assert!(is_same_turn("first\n\nlast", "last"), "a hook that has only the last part");
        assert!(!is_same_turn("an older turn", "the new one"), "a transcript that is not written yet");
        assert!(!is_same_turn("", "the new one"));
        assert!(!is_same_turn("first", "first and last"), "a transcript that is written only in part");
        assert!(!is_same_turn("done with one", "done"), "a last part that is not written yet");
    }
}
