//! The terminal face: one deck for the whole crew.
//!
//! A client of the daemon's socket like every other face. Each visible pane is an attached viewer with a screen of its
//! own; the deck composes these screens with its chrome and writes the difference to the person's terminal.
//!
//! | module | owns |
//! |---|---|
//! | `host` | the person's terminal: input, modes, clipboard |
//! | `frame` | pictures, and the bytes from one to the next |
//! | `model`, `update`, `view` | what is known, what changes it, how it looks; all pure |
//! | `keymap`, `theme`, `config` | keys, looks, the person's settings |
//! | `wire`, `pane` | connections to the daemon, and the screens that they feed |
//! | `pace`, `deck_loop` | when to draw, and the one loop |
//! | `layout` | tabs, splits and hints from one start to the next |
//! | `preparation` | what a repository does in a new worktree |

mod config;
mod deck_loop;
mod frame;
mod fuzzy;
mod host;
mod keymap;
mod layout;
#[doc(hidden)]
pub mod measuring;
mod message;
mod model;
mod pace;
mod pane;
mod preparation;
mod theme;
mod update;
mod view;
mod wire;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use client::{ClientError, DaemonAddress};
use proto::request::Presets;
use proto::{ProcessId, Size};

pub use deck_loop::LeftDeck;
pub use theme::DIRECTORY as THEMES;

use config::Config;
use deck_loop::DeckLoop;
use layout::LayoutFile;
use model::{Model, Place};
use preparation::Preparation;
use wire::Wire;

/// Why the deck could not be shown, or not any longer.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// The daemon.
    #[error(transparent)]
    Daemon(#[from] ClientError),
    /// The person's terminal.
    #[error("the terminal cannot be used: {0}")]
    Terminal(std::io::Error),
    /// The settings.
    #[error("{0}")]
    Settings(String),
    /// A fault of the deck itself; nothing that runs is harmed.
    #[error("the deck failed and was closed; every process goes on: {0}")]
    Fault(String),
}

/// Returns what is wrong with the text of a `tui.toml`, whose themes are below this directory.
///
/// # Errors
/// The problem, in words.
pub fn check_settings(text: &str, directory: &Path) -> Result<(), String> {
    Config::parse(text, directory).map(drop)
}

/// Returns what a person should know about the text of a `tui.toml` that is in order: keys that no program gets any more although
/// programs use them.
#[must_use]
pub fn settings_warnings(text: &str, directory: &Path) -> Vec<String> {
    let Ok(config) = Config::parse(text, directory) else { return Vec::new() };
    let direct =
        config.looks.keymap.bindings.iter().filter(|binding| binding.context == keymap::Context::Direct);
    let warning = |binding: &keymap::Binding| {
        let why = model::settings::loss_of(&binding.key)?;
        Some(format!("keys.direct: no program gets {} any more: {why}", binding.key))
    };
    direct.filter_map(warning).collect()
}

/// Returns what is wrong with the text of a theme with this name.
///
/// # Errors
/// The problem, in words.
pub fn check_theme(text: &str, name: &str) -> Result<(), String> {
    if name.parse::<theme::Theme>().is_ok() {
        return Err(format!("{name} is a theme that is built in; give the file another name"));
    }
    theme::OwnTheme::parse(name, text).map(drop)
}

/// The end of a deck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeckEnd {
    /// Why it was left.
    pub why: LeftDeck,
    /// The files with texts of the person that were not saved, or not for certain.
    pub drafts: Vec<PathBuf>,
}

/// Tasks of another program that the deck offers to take over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adoption {
    /// The program's name.
    pub from: &'static str,
    /// The names of its tasks.
    pub tasks: Vec<String>,
    /// The command that takes them over.
    pub argv: Vec<String>,
}

/// Shows the deck on this process's own terminal until the person leaves. The terminal is as it was when this returns.
pub fn run(address: &mut DaemonAddress, adoption: Option<Adoption>) -> Result<DeckEnd, TuiError> {
    let config = Config::read(&address.dirs().config).map_err(TuiError::Settings)?;
    let mut control = address.connect()?;
    let directory = std::env::current_dir().map_err(TuiError::Terminal)?.to_string_lossy().into_owned();
    let path = std::env::var("PATH").ok();
    let list = control.presets(Presets { project: Some(directory.clone()), path: path.clone() })?;
    let own = std::env::var("QD_PROCESS_ID").ok().and_then(|id| id.parse::<ProcessId>().ok());
    // A deck inside a process shows the tabs without that process, and leaves them to the deck outside.
    let layout = LayoutFile::of(&address.dirs().data, &list.project.key, own.is_none());
    let home = std::env::var("HOME").ok().filter(|home| home.len() > 1);
    let shell = std::env::var("SHELL").ok();
    let project = list.project.path;
    let preparation = Preparation::default();
    let program = std::env::current_exe().ok().map(|path| path.to_string_lossy().into_owned());
    let place = Place { directory, project, own, path, home, shell, program, preparation, adoption };
    let rail_width = config.rail_width;
    let mut model = Model::new(Size::DEFAULT, config.looks, place);
    (model.deck, model.rail.width, model.crew.presets) = (layout.read(), rail_width, list.presets);
    model.hints = Some(layout.hints());
    let hook = std::panic::take_hook();
    // The message of a panic would be written into the picture; it is told when the terminal is as it was.
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut deck = DeckLoop::enter(address, Wire::new(control), model, layout)?;
        let why = deck.run()?;
        Ok(DeckEnd { why, drafts: deck.drafts() })
    }));
    std::panic::set_hook(hook);
    outcome.unwrap_or_else(|payload| Err(TuiError::Fault(panic_text(payload.as_ref()))))
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no reason was given").to_owned()
}

/// Entrances for the fuzz targets.
#[doc(hidden)]
pub mod fuzzing {
    /// Reads a diff; returns how many bytes its lines have.
    #[must_use]
    pub fn diff(text: &str) -> usize {
        let (_, lines) = crate::model::diff::read_diff(text);
        lines.iter().map(|line| line.text.len()).sum()
    }

    /// Parses typed bytes cut into pieces; returns how many bytes the events have.
    #[must_use]
    pub fn typed(pieces: &[&[u8]]) -> usize {
        let mut parser = crate::host::InputParser::default();
        let mut events = Vec::new();
        pieces.iter().for_each(|piece| parser.feed(piece, &mut events));
        parser.release(&mut events);
        events.iter().map(|event| event.raw.len()).sum()
    }
}
