//! Plans the launch of one run of an agent: its argv, environment and files.
//!
//! It combines the manifest's words, the injections and the user's words. A plan lists the files to write,
//! all of them below the launch's own directory; the daemon writes them.

mod hooks;
mod injections;
mod overrides;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use proto::request::PermissionMode;
use serde_json::{Value, json};

use crate::session::ResumeAt;
use crate::template::{Placeholder, Template, Unfilled};
use crate::{Manifest, Version};
use hooks::hook_document;
use injections::Injections;

/// The input of a launch.
#[derive(Clone, Copy)]
pub struct LaunchInput<'a> {
    /// Which program.
    pub manifest: &'a Manifest,
    /// The user's words after the manifest's name.
    pub words: &'a [String],
    /// The directory it works in.
    pub cwd: &'a Path,
    /// The private directory of this launch, absolute.
    pub directory: &'a Path,
    /// This program, absolute.
    pub qd: &'a Path,
    /// The daemon's socket.
    pub socket: &'a Path,
    /// Variables that our own programs need below the agent, for vendors that filter what they pass on.
    pub own_env: &'a [(String, String)],
    /// Looks a variable up that the child would inherit.
    pub inherited: &'a dyn Fn(&str) -> Option<String>,
    /// The id for a new session, where the vendor accepts one.
    pub fresh_session: &'a str,
    /// The session to resume.
    pub resume: Option<&'a str>,
    /// Resume the newest session of the directory.
    pub continues: bool,
    /// A free port for the vendor's server.
    pub port: Option<u16>,
    /// A password for the vendor's server.
    pub secret: &'a str,
    /// Requests for permission to use a tool wait for the inbox.
    pub permissions_wait: bool,
    /// Which model to use, in the vendor's words.
    pub model: Option<&'a str>,
    /// What it may do without asking.
    pub mode: Option<PermissionMode>,
}

/// What to start.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Plan {
    /// The program and its words.
    pub argv: Vec<String>,
    /// Variables to set.
    pub env: Vec<(String, String)>,
    /// Variables to remove, before those of `env` are set.
    pub unset: Vec<String>,
    /// Files to write, relative to the launch's directory.
    pub files: Vec<(PathBuf, String)>,
    /// The vendor session, where it is known before the start.
    pub session: Option<String>,
    /// Where the vendor's server will listen.
    pub server: Option<ServerPlace>,
    /// What could not be injected, and why.
    pub notes: Vec<String>,
}

/// Where a vendor's server listens.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ServerPlace {
    /// On the loopback.
    pub port: u16,
    /// Its password.
    pub secret: String,
}

/// Why there is no plan.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The manifest names no program and the user gave none.
    #[error("{0} names no program: give it and its arguments")]
    NoProgram(String),
    /// The vendor cannot resume a session.
    #[error("{0} cannot resume a session by its id")]
    NotResumable(String),
    /// The vendor cannot resume its newest session.
    #[error("{0} cannot resume its newest session")]
    NotContinuable(String),
    /// The vendor accepts no model at its start.
    #[error("model: {0} takes no model when it starts")]
    NoModel(String),
    /// The vendor has no such mode.
    #[error("mode: {name} has no mode {mode}; it has {known}")]
    NoMode {
        /// Which agent.
        name: String,
        /// The requested mode.
        mode: &'static str,
        /// The modes that exist.
        known: String,
    },
    /// The manifest uses a placeholder that has no value in this launch.
    #[error(transparent)]
    Unfilled(#[from] Unfilled),
    /// A path that is not valid text.
    #[error("{} is not text, which a vendor's configuration needs", .0.display())]
    Path(PathBuf),
}

/// Returns what a launch on this machine lacks, one sentence each: the version is too old or lacks something,
/// or the program does not read the files that a launch writes.
#[must_use]
pub fn shortfalls(manifest: &Manifest, version: Option<Version>, is_roots_own: bool) -> Vec<String> {
    let mut found: Vec<String> =
        version.map(|version| manifest.version_warnings(version)).unwrap_or_default();
    let lacks_mcp = manifest.mcp.as_ref().is_some_and(|mcp| mcp.only_as_root && !is_roots_own);
    let lacks_hooks = manifest.hooks.as_ref().is_some_and(|hooks| hooks.only_as_root && !is_roots_own);
    let lacking = match (lacks_mcp, lacks_hooks) {
        (true, true) => "Quarterdeck's tools (MCP) and without hooks",
        (true, false) => "Quarterdeck's tools (MCP)",
        (false, true) => "hooks",
        (false, false) => return found,
    };
    let name = &manifest.name;
    found.push(format!(
        "{name} runs without {lacking}: it reads such settings only from directories that nobody but root may write \
         to, and the data directory is not one. The screen and the title alone show its state"
    ));
    found
}

/// Plans a launch.
///
/// # Errors
/// The manifest cannot do what was requested, or uses a placeholder that has no value.
pub fn plan(input: &LaunchInput<'_>) -> Result<Plan, PlanError> {
    let places = Places::of(input)?;
    let lookup = |place| places.value(place);
    let mut injections = Injections::new(input.directory, &lookup);
    for (name, value) in &input.manifest.env {
        injections.set(name, value.fill(&lookup)?);
    }
    if let Some(mcp) = &input.manifest.mcp {
        injections.put(&mcp.injection, mcp.document.fill(&lookup)?, &mcp.extra)?;
    }
    if let Some(hooks) = &input.manifest.hooks {
        injections.put(
            &hooks.injection,
            hook_document(hooks, &places, input.permissions_wait)?,
            &hooks.extra,
        )?;
    }
    let server = injections.serve(input)?;
    let session = session_words(input, &places)?;
    let injected = [injections.take_words(), chosen_words(input)?].concat();
    let argv = argv(input, &session, injected)?;
    let contents = injections.contents(input.inherited);
    Ok(Plan {
        argv,
        env: contents.env,
        unset: input.manifest.unset.clone(),
        files: contents.files,
        session: session.id,
        server,
        notes: contents.notes,
    })
}

/// Returns the words of one launch in order: program, subcommand, its own, injected, session, the user's.
fn argv(
    input: &LaunchInput<'_>,
    session: &SessionWords,
    injected: Vec<String>,
) -> Result<Vec<String>, PlanError> {
    let (program, own) = match input.manifest.argv.split_first() {
        Some((program, own)) => (Some(program.clone()), own),
        None => (None, [].as_slice()),
    };
    let (first, last) = match input.manifest.session.resume_at {
        ResumeAt::First if session.takes_up => (session.words.as_slice(), [].as_slice()),
        ResumeAt::First | ResumeAt::Last => ([].as_slice(), session.words.as_slice()),
    };
    let words = [first, own, injected.as_slice(), last, session.users.as_slice()].concat();
    let argv: Vec<String> = program.into_iter().chain(words).collect();
    if argv.is_empty() { Err(PlanError::NoProgram(input.manifest.name.clone())) } else { Ok(argv) }
}

/// Returns the words that choose the model and the mode.
fn chosen_words(input: &LaunchInput<'_>) -> Result<Vec<String>, PlanError> {
    let (choices, mut words) = (&input.manifest.choices, Vec::new());
    if let Some(model) = input.model {
        if choices.model.is_empty() {
            return Err(PlanError::NoModel(input.manifest.name.clone()));
        }
        let lookup = |place| (place == Placeholder::Text).then(|| Value::from(model));
        let filled: Result<Vec<String>, Unfilled> =
            choices.model.iter().map(|word| word.fill(&lookup)).collect();
        words.extend(filled?);
    }
    if let Some(mode) = input.mode {
        let known = || {
            let words: Vec<&str> = choices.modes.keys().map(|mode| mode.word()).collect();
            if words.is_empty() { "none".to_owned() } else { words.join(", ") }
        };
        let unknown =
            || PlanError::NoMode { name: input.manifest.name.clone(), mode: mode.word(), known: known() };
        words.extend(choices.modes.get(&mode).ok_or_else(unknown)?.iter().cloned());
    }
    Ok(words)
}

/// The words about the session.
struct SessionWords {
    words: Vec<String>,
    /// The words resume an existing session.
    takes_up: bool,
    id: Option<String>,
    /// The user's words, without those that choose a session when another one is resumed.
    users: Vec<String>,
}

fn session_words(input: &LaunchInput<'_>, places: &Places<'_>) -> Result<SessionWords, PlanError> {
    let session = &input.manifest.session;
    let choice = session.users_choice(input.words);
    let users = input.words.to_vec();
    let fill = |words: &[Template], id: &str| -> Result<Vec<String>, Unfilled> {
        let lookup =
            |place| if place == Placeholder::Session { Some(id.into()) } else { places.value(place) };
        words.iter().map(|word| word.fill(&lookup)).collect()
    };
    let name = || input.manifest.name.clone();
    if let Some(id) = input.resume {
        if session.resume.is_empty() {
            return Err(PlanError::NotResumable(name()));
        }
        let words = fill(&session.resume, id)?;
        return Ok(SessionWords { words, takes_up: true, id: Some(id.to_owned()), users: choice.others });
    }
    if input.continues {
        if session.newest.is_empty() {
            return Err(PlanError::NotContinuable(name()));
        }
        let words = fill(&session.newest, "")?;
        return Ok(SessionWords { words, takes_up: true, id: None, users: choice.others });
    }
    if choice.is_made {
        return Ok(SessionWords { words: Vec::new(), takes_up: false, id: choice.session, users });
    }
    let id = (!session.choose.is_empty()).then(|| input.fresh_session.to_owned());
    Ok(SessionWords { words: fill(&session.choose, input.fresh_session)?, takes_up: false, id, users })
}

/// The values of placeholders in one launch.
struct Places<'a> {
    qd: &'a str,
    dir: &'a str,
    cwd: &'a str,
    socket: &'a str,
    port: Option<u16>,
    secret: &'a str,
    own_env: &'a [(String, String)],
}

impl<'a> Places<'a> {
    fn of(input: &LaunchInput<'a>) -> Result<Self, PlanError> {
        let text = |path: &'a Path| path.to_str().ok_or_else(|| PlanError::Path(path.to_owned()));
        Ok(Self {
            qd: text(input.qd)?,
            dir: text(input.directory)?,
            cwd: text(input.cwd)?,
            socket: text(input.socket)?,
            port: input.port,
            secret: input.secret,
            own_env: input.own_env,
        })
    }

    fn value(&self, place: Placeholder) -> Option<Value> {
        match place {
            Placeholder::Qd => Some(self.qd.into()),
            Placeholder::Dir => Some(self.dir.into()),
            Placeholder::Cwd => Some(self.cwd.into()),
            Placeholder::Socket => Some(self.socket.into()),
            Placeholder::Port => self.port.map(Value::from),
            Placeholder::Secret => Some(self.secret.into()),
            Placeholder::Env => {
                Some(self.own_env.iter().map(|(name, value)| (name.clone(), json!(value))).collect())
            }
            Placeholder::Session | Placeholder::File | Placeholder::Json | Placeholder::Hook => None,
            Placeholder::Timeout | Placeholder::Text | Placeholder::Event | Placeholder::Hash => None,
        }
    }
}
