//! One agent's files, as they are read: its state file, its transcript, and the text of its newest turn.
//!
//! Owns how far they were read and what was last said of them. Refuses watching: it is told when to look.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agents::quota;
use agents::state_file::{self, Living};
use agents::transcript::location::Surroundings;
use agents::transcript::{Start, TranscriptNews, TranscriptReader};
use engine::Fact;
use proto::Evidence;
use proto::agent::Source;

use super::Agents;
use super::attendant::Heard;
use super::charge::Charge;
use super::tail::{self, FileTail, From, Jump};
use crate::clock;

/// Most of a transcript that is read at once.
const SLICE: usize = 256 * 1024;
/// How much of a transcript that was there before is read to know how full the context is.
const PAST: u64 = 4 << 20; // 4 MiB
/// Largest state file.
const MAX_STATE: u64 = 256 * 1024;
/// How long the text of a turn may come later than its end.
const TEXT: Duration = Duration::from_millis(3_000);
/// Longest text of a turn that is taken from a screen.
const MAX_SCREEN_TEXT: usize = 64 * 1024;

/// What a watched file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    StateFile,
    Transcript,
    Manifest,
}

/// One agent's files.
pub(crate) struct Ward {
    charge: Arc<Charge>,
    living: Option<Living>,
    /// Its session began with it: everything in its transcript is new.
    is_fresh: bool,
    transcript: Option<Transcript>,
    said_state: Option<Evidence>,
    /// What the agent said at the end of the newest turn, and who says so, until somebody takes it.
    text: Option<(String, &'static str)>,
    /// Turns whose text is wanted, and when that is given up.
    collects: Vec<(u64, Instant)>,
}

struct Transcript {
    tail: FileTail,
    reader: TranscriptReader,
    /// What is read first was written before anybody watched.
    is_past: bool,
}

impl Ward {
    pub(crate) fn new(charge: Arc<Charge>, pid: i32, is_fresh: bool) -> Self {
        let living = holder::tree::start_time(pid).map(|started| Living { pid, started });
        Self {
            charge,
            living,
            is_fresh,
            transcript: None,
            said_state: None,
            text: None,
            collects: Vec::new(),
        }
    }

    /// When a text is waited for in vain.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.collects.iter().map(|(_, due)| *due).min()
    }

    /// The files that are known to be its own.
    pub(crate) fn files(&mut self, agents: &Agents) -> Vec<(Watched, PathBuf)> {
        let (manifest, note) = (self.charge.manifest(), self.charge.note());
        let env = |name: &str| self.charge.env.get(name).cloned();
        let around = Surroundings {
            env: &env,
            cwd: &self.charge.cwd,
            session: note.session.as_deref(),
            pid: self.living.map(|living| living.pid),
        };
        let state = manifest.state_file.as_ref().and_then(|spec| state_file::spot(spec, &around)?.only());
        let guessed = || {
            let spot = manifest.transcript.as_ref()?.spot(&around)?;
            spot.only().or_else(|| tail::find(&spot))
        };
        let transcript = manifest.transcript.as_ref().and(note.transcript.clone().or_else(guessed));
        if let Some(path) = &transcript {
            self.follow(path);
        }
        let manifests = agents.manifest_files(&manifest.name, &self.charge.cwd);
        let own = [(Watched::StateFile, state), (Watched::Transcript, transcript)];
        let own = own.into_iter().filter_map(|(what, path)| path.map(|path| (what, path)));
        own.chain(manifests.into_iter().map(|path| (Watched::Manifest, path))).collect()
    }

    /// Reads this transcript from now on.
    fn follow(&mut self, path: &PathBuf) {
        if self.transcript.as_ref().is_some_and(|transcript| transcript.tail.path() == path) {
            return;
        }
        // A session that is left for another one in the same program was there before.
        let is_past = !self.is_fresh || self.transcript.is_some();
        let from = if is_past { From::NearEnd(PAST) } else { From::Beginning };
        let reader = TranscriptReader::new(&self.charge.manifest(), Start::Beginning);
        self.transcript =
            reader.map(|reader| Transcript { tail: FileTail::new(path.clone(), from), reader, is_past });
    }

    /// Takes what was told about it.
    pub(crate) fn hear(&mut self, heard: Heard, agents: &Agents) {
        match heard {
            Heard::Prompt => self.text = None,
            // Whoever began to listen in the middle of a turn has heard its end but not its words: others have them.
            Heard::Text(text, _) if text.trim().is_empty() => {}
            Heard::Text(text, from) => {
                self.text = Some((text, from));
                self.answer(agents);
            }
            Heard::Moved => {}
            Heard::Over => {
                self.read_transcript(agents);
                self.collects.iter_mut().for_each(|(_, due)| *due = Instant::now());
            }
        }
    }

    /// Gives the text of a turn now, or as soon as somebody knows it.
    pub(crate) fn collect(&mut self, turn: u64, agents: &Agents) {
        let manifest = self.charge.manifest();
        let hooks_tell = manifest.hooks.as_ref().is_some_and(|hooks| hooks.fields.text.is_some());
        let may_come = hooks_tell || self.transcript.is_some() || self.charge.note().port.is_some();
        let wait = if may_come { TEXT } else { Duration::ZERO };
        self.collects.push((turn, Instant::now() + wait));
        self.answer(agents);
    }

    fn answer(&mut self, agents: &Agents) {
        if self.collects.is_empty() {
            return;
        }
        if let Some((text, from)) = self.text.take() {
            let (turn, _) = self.collects.remove(0);
            agents.say(self.charge.run, Fact::Result { turn, text, from });
        }
    }

    /// What nobody has told by now is read from the screen.
    pub(crate) fn give_up(&mut self, agents: &Agents, now: Instant) {
        let (late, open): (Vec<_>, Vec<_>) = self.collects.drain(..).partition(|(_, due)| *due <= now);
        self.collects = open;
        for (turn, _) in late {
            let text = self.screen_text(agents).unwrap_or_default();
            agents.say(self.charge.run, Fact::Result { turn, text, from: "screen" });
        }
    }

    fn screen_text(&self, agents: &Agents) -> Option<String> {
        let text = agents.screen_text(self.charge.run)?;
        let mut text = agents::trim(&self.charge.manifest(), &text);
        let excess = text.len().saturating_sub(MAX_SCREEN_TEXT);
        let cut = (excess..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        Some(text.split_off(cut))
    }

    /// Reads the state file; whether where something lies may be known only now.
    pub(crate) fn read_state(&mut self, agents: &Agents) -> bool {
        let manifest = self.charge.manifest();
        let (Some(spec), Some(living)) = (&manifest.state_file, self.living) else { return false };
        let env = |name: &str| self.charge.env.get(name).cloned();
        let around = Surroundings { env: &env, cwd: &self.charge.cwd, session: None, pid: Some(living.pid) };
        let path = state_file::spot(spec, &around).and_then(|spot| spot.only());
        let text = path.filter(is_small_file).and_then(|path| std::fs::read_to_string(path).ok());
        let reading = text.as_deref().map(|text| state_file::read(spec, text, living));
        let (evidence, session) = match reading {
            Some(Some(reading)) => (reading.evidence, reading.session),
            // Half written, or another process's: what was said stays until the rest comes.
            Some(None) => return false,
            None => (None, None),
        };
        if evidence != self.said_state {
            let run = self.charge.run;
            match &evidence {
                Some(evidence) => agents.say(run, Fact::Evidence(Box::new(evidence.clone()))),
                None => agents.say(run, Fact::Withdrawn(Source::StateFile)),
            }
            self.said_state = evidence;
        }
        session.is_some_and(|session| self.learn_session(&session, agents))
    }

    /// Reads what is new in the transcript; whether where something lies may be known only now.
    pub(crate) fn read_transcript(&mut self, agents: &Agents) -> bool {
        let mut has_moved = false;
        loop {
            let Some(transcript) = &mut self.transcript else { return has_moved };
            let grown = match transcript.tail.read(SLICE) {
                Ok(grown) => grown,
                Err(error) => {
                    tracing::debug!(%error, run = ?self.charge.run, "a transcript cannot be read");
                    return has_moved;
                }
            };
            if let Some(jump) = grown.jumped {
                let start = if jump == Jump::ToBeginning { Start::Beginning } else { Start::Middle };
                if let Some(reader) = TranscriptReader::new(&self.charge.manifest(), start) {
                    transcript.reader = reader;
                }
            }
            let news = transcript.reader.feed(&grown.bytes);
            let news = if transcript.is_past { news.past() } else { news };
            transcript.is_past &= grown.has_more;
            has_moved |= self.take_news(news, agents);
            if !grown.has_more {
                return has_moved;
            }
        }
    }

    fn take_news(&mut self, news: TranscriptNews, agents: &Agents) -> bool {
        let run = self.charge.run;
        if let Some(context) = news.context {
            agents.say(run, Fact::Context(context));
        }
        if let Some(mut evidence) = news.evidence {
            quota::complete(&self.charge.manifest().quota, &mut evidence, clock::local());
            agents.say(run, Fact::Evidence(Box::new(evidence)));
        }
        if news.prompts > 0 {
            self.text = None;
        }
        if let Some(turn) = news.turns.into_iter().next_back() {
            self.text = Some((turn.text, "transcript"));
            self.answer(agents);
        }
        news.session.is_some_and(|session| self.learn_session(&session, agents))
    }

    fn learn_session(&self, session: &str, agents: &Agents) -> bool {
        let is_news = self.charge.pin_session(session);
        if is_news {
            agents.say(self.charge.run, Fact::Session(session.to_owned()));
        }
        is_news
    }
}

fn is_small_file(path: &PathBuf) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_STATE)
}
