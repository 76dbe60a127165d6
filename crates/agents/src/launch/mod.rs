//! What to start for one run of an agent, and what to write beside it.
//!
//! Owns putting the manifest's words, the injections and the user's words together. Refuses I/O: a plan says which files
//! are to be written, all of them below the launch's own directory, and touches nothing.

mod bag;
mod hooks;
mod overrides;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use proto::request::PermissionMode;
use serde_json::{Value, json};

use crate::session::ResumeAt;
use crate::template::{Place, Template, Unfilled};
use crate::{Manifest, Version};
use bag::Bag;
use hooks::hook_document;

/// What a launch is given.
#[derive(Clone, Copy)]
pub struct Wish<'a> {
    /// Which program.
    pub manifest: &'a Manifest,
    /// The user's words, behind the manifest's name.
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
    /// What the child would inherit.
    pub inherited: &'a dyn Fn(&str) -> Option<String>,
    /// The id of a session that is begun, where the vendor takes one.
    pub fresh_session: &'a str,
    /// Take up this session.
    pub resume: Option<&'a str>,
    /// Take up the newest session of the directory.
    pub continues: bool,
    /// A free port for the vendor's server.
    pub port: Option<u16>,
    /// A password for the vendor's server.
    pub secret: &'a str,
    /// Requests for leave to use a tool wait for the inbox.
    pub parks_permissions: bool,
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
    /// Variables to take away; before those of `env` are set.
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
pub enum LaunchError {
    /// The manifest names no program and the user gave none.
    #[error("{0} names no program: give it and its arguments")]
    NoProgram(String),
    /// The vendor cannot take up a session.
    #[error("{0} cannot take up a session by its id")]
    NotResumable(String),
    /// The vendor cannot take up its newest session.
    #[error("{0} cannot take up its newest session")]
    NotContinuable(String),
    /// The vendor takes no model at its start.
    #[error("model: {0} takes no model when it starts")]
    NoModel(String),
    /// The vendor has no such mode.
    #[error("mode: {name} has no mode {mode}; it has {known}")]
    NoMode {
        /// Which agent.
        name: String,
        /// Which mode was wished.
        mode: &'static str,
        /// Which modes there are.
        known: String,
    },
    /// The manifest uses what this launch does not have.
    #[error(transparent)]
    Unfilled(#[from] Unfilled),
    /// A path that no text can carry.
    #[error("{} is not text, which a vendor's configuration needs", .0.display())]
    Path(PathBuf),
}

/// What a launch on this machine lacks, one sentence each: the version is too old, or the program does not believe the
/// files that a launch writes.
#[must_use]
pub fn shortfalls(manifest: &Manifest, version: Option<Version>, is_roots_own: bool) -> Vec<String> {
    let mut found: Vec<String> =
        version.and_then(|version| manifest.version_warning(version)).into_iter().collect();
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

/// Puts a launch together.
///
/// # Errors
/// The manifest cannot do what is wished, or uses a place that has no value.
pub fn plan(wish: &Wish<'_>) -> Result<Plan, LaunchError> {
    let places = Places::of(wish)?;
    let lookup = |place| places.value(place);
    let mut bag = Bag::new(wish.directory, &lookup);
    for (name, value) in &wish.manifest.env {
        bag.set(name, value.fill(&lookup)?);
    }
    if let Some(mcp) = &wish.manifest.mcp {
        bag.put(&mcp.injection, mcp.document.fill(&lookup)?, &mcp.extra)?;
    }
    if let Some(hooks) = &wish.manifest.hooks {
        bag.put(&hooks.injection, hook_document(hooks, &places, wish.parks_permissions)?, &hooks.extra)?;
    }
    let server = bag.serve(wish)?;
    let session = session_words(wish, &places)?;
    let injected = [bag.take_words(), chosen_words(wish)?].concat();
    let argv = argv(wish, &session, injected)?;
    let contents = bag.contents(wish.inherited);
    Ok(Plan {
        argv,
        env: contents.env,
        unset: wish.manifest.unset.clone(),
        files: contents.files,
        session: session.id,
        server,
        notes: contents.notes,
    })
}

/// The words of one launch in their order: program, subcommand, its own, injected, session, the user's.
fn argv(wish: &Wish<'_>, session: &SessionWords, injected: Vec<String>) -> Result<Vec<String>, LaunchError> {
    let (program, own) = match wish.manifest.argv.split_first() {
        Some((program, own)) => (Some(program.clone()), own),
        None => (None, [].as_slice()),
    };
    let (first, last) = match wish.manifest.session.resume_at {
        ResumeAt::First if session.takes_up => (session.words.as_slice(), [].as_slice()),
        ResumeAt::First | ResumeAt::Last => ([].as_slice(), session.words.as_slice()),
    };
    let words = [first, own, injected.as_slice(), last, session.users.as_slice()].concat();
    let argv: Vec<String> = program.into_iter().chain(words).collect();
    if argv.is_empty() { Err(LaunchError::NoProgram(wish.manifest.name.clone())) } else { Ok(argv) }
}

/// The words that choose the model and the mode.
fn chosen_words(wish: &Wish<'_>) -> Result<Vec<String>, LaunchError> {
    let (choices, mut words) = (&wish.manifest.choices, Vec::new());
    if let Some(model) = wish.model {
        if choices.model.is_empty() {
            return Err(LaunchError::NoModel(wish.manifest.name.clone()));
        }
        let lookup = |place| (place == Place::Text).then(|| Value::from(model));
        let filled: Result<Vec<String>, Unfilled> =
            choices.model.iter().map(|word| word.fill(&lookup)).collect();
        words.extend(filled?);
    }
    if let Some(mode) = wish.mode {
        let known = || {
            let words: Vec<&str> = choices.modes.keys().map(|mode| mode.word()).collect();
            if words.is_empty() { "none".to_owned() } else { words.join(", ") }
        };
        let unknown =
            || LaunchError::NoMode { name: wish.manifest.name.clone(), mode: mode.word(), known: known() };
        words.extend(choices.modes.get(&mode).ok_or_else(unknown)?.iter().cloned());
    }
    Ok(words)
}

/// What is said about the session.
struct SessionWords {
    words: Vec<String>,
    /// The words take up a session that is there.
    takes_up: bool,
    id: Option<String>,
    /// The user's words, without those that choose a session when another one is taken up.
    users: Vec<String>,
}

fn session_words(wish: &Wish<'_>, places: &Places<'_>) -> Result<SessionWords, LaunchError> {
    let session = &wish.manifest.session;
    let choice = session.users_choice(wish.words);
    let users = wish.words.to_vec();
    let fill = |words: &[Template], id: &str| -> Result<Vec<String>, Unfilled> {
        let lookup = |place| if place == Place::Session { Some(id.into()) } else { places.value(place) };
        words.iter().map(|word| word.fill(&lookup)).collect()
    };
    let name = || wish.manifest.name.clone();
    if let Some(id) = wish.resume {
        if session.resume.is_empty() {
            return Err(LaunchError::NotResumable(name()));
        }
        let words = fill(&session.resume, id)?;
        return Ok(SessionWords { words, takes_up: true, id: Some(id.to_owned()), users: choice.others });
    }
    if wish.continues {
        if session.newest.is_empty() {
            return Err(LaunchError::NotContinuable(name()));
        }
        let words = fill(&session.newest, "")?;
        return Ok(SessionWords { words, takes_up: true, id: None, users: choice.others });
    }
    if choice.is_made {
        return Ok(SessionWords { words: Vec::new(), takes_up: false, id: choice.session, users });
    }
    let id = (!session.choose.is_empty()).then(|| wish.fresh_session.to_owned());
    Ok(SessionWords { words: fill(&session.choose, wish.fresh_session)?, takes_up: false, id, users })
}

/// The values of places in one launch.
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
    fn of(wish: &Wish<'a>) -> Result<Self, LaunchError> {
        let text = |path: &'a Path| path.to_str().ok_or_else(|| LaunchError::Path(path.to_owned()));
        Ok(Self {
            qd: text(wish.qd)?,
            dir: text(wish.directory)?,
            cwd: text(wish.cwd)?,
            socket: text(wish.socket)?,
            port: wish.port,
            secret: wish.secret,
            own_env: wish.own_env,
        })
    }

    fn value(&self, place: Place) -> Option<Value> {
        match place {
            Place::Qd => Some(self.qd.into()),
            Place::Dir => Some(self.dir.into()),
            Place::Cwd => Some(self.cwd.into()),
            Place::Socket => Some(self.socket.into()),
            Place::Port => self.port.map(Value::from),
            Place::Secret => Some(self.secret.into()),
            Place::Env => {
                Some(self.own_env.iter().map(|(name, value)| (name.clone(), json!(value))).collect())
            }
            Place::Session | Place::File | Place::Json | Place::Hook => None,
            Place::Timeout | Place::Text | Place::Event | Place::Hash => None,
        }
    }
}
