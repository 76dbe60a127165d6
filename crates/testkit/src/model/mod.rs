//! A model backend for real programs: it serves the interfaces of four vendors on a loopback port, plays the
//! script in the prompt, and records requests.
//!
//! A prompt's lines are its script:
//!
//! | line | answer |
//! |---|---|
//! | `@say TEXT` | the text; the turn ends |
//! | `@drip SECONDS TEXT` | the text word by word over this time; the turn ends |
//! | `@tool NAME {json}` | a call of this tool; its result brings the next line |
//! | `@quota SECONDS` | the vendor's own error for a used-up account, with its reset so far ahead |
//! | `@fail STATUS` | an error with this status |
//! | `@hang NOTE` | the answer begins and stays open until the client leaves or [`ModelServer::release`] |
//! | `@gate NAME` | before the next line: waits for [`ModelServer::open`] |
//! | `@slow SECONDS` | before the next line: waits so long |
//! | `@when TEXT` | no answer: what follows is played when a later text without a script of its own contains TEXT |
//!
//! A message between agents is a script too: the mark that Quarterdeck puts before each of its lines is
//! removed. A prompt should not end in a bare `@word`: some programs complete it to the name of a file or an
//! agent when it is submitted. The step is the number of tool results since the last prompt with a script.
//! Side requests of a program (titles, the choice of a model) offer no tools and get a fixed answer.

mod chat;
mod exchange;
mod generate;
mod http;
mod messages;
mod responses;
mod script;
mod serve;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use serve::Listening;
use state::ModelState;

/// Which interface a request came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// Anthropic Messages.
    Messages,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions.
    Chat,
    /// Gemini generateContent.
    Generate,
}

/// The token counts of every answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read anew.
    pub input: u64,
    /// Tokens from the cache, in addition.
    pub cached: u64,
    /// Tokens written.
    pub output: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input: 50_000, cached: 10_000, output: 20 }
    }
}

/// How a request was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelOutcome {
    /// To the end.
    Answered,
    /// With an error of this status.
    Refused(u16),
    /// Not to the end: the client closed the connection.
    ClientLeft,
}

/// One request to the model.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// Counted from 0 in order of arrival.
    pub number: usize,
    /// The interface.
    pub api: Api,
    /// The model's name, as the client sends it.
    pub model: String,
    /// The prompt being played: the last one with directives, else the user's last text.
    pub prompt: String,
    /// How many tool results came after that prompt: 0 is the prompt's own submission.
    pub position: usize,
    /// True if this is a side request of the program and not a turn.
    pub is_side: bool,
    /// Every text of the user, in order, with what the program adds in the user's name.
    pub texts: Vec<String>,
    /// Every tool result, in order.
    pub results: Vec<String>,
    /// Messages of all roles.
    pub messages: usize,
    /// Names of the tools offered; of a grouped one as `group::tool`.
    pub tools: Vec<String>,
    /// When it was read.
    pub at: Instant,
    /// What the client calls itself.
    pub user_agent: String,
    /// The whole body.
    pub body: Value,
    /// How it was answered; `None` until then.
    pub outcome: Option<ModelOutcome>,
}

/// The backend. Dropping it closes every connection.
#[derive(Debug)]
pub struct ModelServer {
    state: Arc<ModelState>,
    listening: Listening,
}

impl ModelServer {
    /// Starts one on a free port.
    #[must_use]
    pub fn start() -> Self {
        let state = Arc::new(ModelState::new());
        let listening = Listening::begin(Arc::clone(&state));
        Self { state, listening }
    }

    /// Returns its address, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.listening.port())
    }

    /// Sets the token counts of every later answer.
    pub fn usage(&self, input: u64, cached: u64, output: u64) {
        self.state.set_usage(Usage { input, cached, output });
    }

    /// Opens a gate for all present and later requests.
    pub fn open(&self, gate: &str) {
        self.state.open(gate);
    }

    /// Lets every request that hangs now continue to its end.
    pub fn release(&self) {
        self.state.release();
    }

    /// Returns every request to the model so far, side requests included.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.state.requests()
    }

    /// Returns how often this prompt was submitted: turns that begin with a text containing it.
    #[must_use]
    pub fn submissions(&self, prompt: &str) -> usize {
        let begins = |request: &&ModelRequest| {
            !request.is_side && request.position == 0 && request.prompt.contains(prompt)
        };
        self.requests().iter().filter(begins).count()
    }

    /// Returns other requests, as `METHOD path`.
    #[must_use]
    pub fn strays(&self) -> Vec<String> {
        self.state.strays()
    }

    /// Returns the first request that matches, past ones included; fails when there is none in time.
    pub fn wait_request(&self, matches: impl Fn(&ModelRequest) -> bool, within: Duration) -> ModelRequest {
        self.find_request(matches, within)
            .unwrap_or_else(|| panic!("no such request within {within:?}, but:\n{}", self.listed()))
    }

    /// Returns the first request that matches, past ones included; `None` when there is none in time.
    #[must_use]
    pub fn find_request(
        &self,
        matches: impl Fn(&ModelRequest) -> bool,
        within: Duration,
    ) -> Option<ModelRequest> {
        self.state.find(within, matches)
    }

    fn listed(&self) -> String {
        let line = |request: &ModelRequest| {
            let ModelRequest { number, api, is_side, position, outcome, prompt, .. } = request;
            format!("{number}: {api:?} side={is_side} position={position} {outcome:?} prompt={prompt:?}")
        };
        let mut lines: Vec<String> = self.requests().iter().map(line).collect();
        lines.extend(self.strays());
        lines.join("\n")
    }
}
