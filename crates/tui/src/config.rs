//! The person's settings: `tui.toml` in the configuration directory, read again when it changes.
//!
//! | file | owns |
//! |---|---|
//! | `commands` | commands of the person's own |
//! | `edit` | changing one setting in the text |
//! | `watch` | noticing a change |

mod commands;
pub(crate) mod edit;
mod watch;

use std::collections::BTreeMap;
use std::path::Path;

use proto::request::DiffTask;
use serde::Deserialize;

use crate::keymap::{Action, Context, KeyName, Keymap, defaults};
use crate::model::{Looks, Notices, StartView};
use crate::theme::{OwnTheme, own_names};

use commands::CommandText;
pub(crate) use watch::SettingsWatch;

/// The name of the file.
pub(crate) const FILE: &str = "tui.toml";

/// A value or several of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// What the file may have.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct FileText {
    theme: Option<String>,
    glyphs: Option<String>,
    mouse: Option<bool>,
    rail_width: Option<u16>,
    start: Option<String>,
    borders: Option<String>,
    titles: Option<bool>,
    hints: Option<bool>,
    wall_tiles: Option<usize>,
    wall_pace: Option<u32>,
    review_context: Option<u16>,
    prefix: Option<OneOrMore>,
    clipboard: Option<String>,
    clipboard_command: Vec<String>,
    clipboard_children: Option<bool>,
    open_command: Vec<String>,
    notices: Option<String>,
    command: Vec<CommandText>,
    keys: BTreeMap<String, BTreeMap<String, OneOrMore>>,
}

/// The settings.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) looks: Looks,
    pub(crate) rail_width: u16,
}

impl Default for Config {
    fn default() -> Self {
        Self { looks: Looks::default(), rail_width: 25 }
    }
}

impl Config {
    /// Reads the file; without one, the defaults. The fault names what is wrong and where.
    pub(crate) fn read(directory: &Path) -> Result<Self, String> {
        let path = directory.join(FILE);
        match client::read_plain_file(&path) {
            Ok(text) => Self::parse(&text, directory).map_err(|fault| format!("{}: {fault}", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::with_themes_of(directory)),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    /// Returns the defaults and the names of the person's own themes.
    fn with_themes_of(directory: &Path) -> Self {
        let looks = Looks { own_themes: own_names(directory), ..Looks::default() };
        Self { looks, ..Self::default() }
    }

    /// Reads the text of the file; themes of the person's own are below the directory.
    pub(crate) fn parse(text: &str, directory: &Path) -> Result<Self, String> {
        let file: FileText = toml::from_str(text).map_err(|error| fault_words(text, &error))?;
        let mut config = Self::with_themes_of(directory);
        if let Some(theme) = &file.theme {
            config.looks.theme = theme.parse().or_else(|_| OwnTheme::read(directory, theme))?;
        }
        config.take_looks(&file)?;
        config.take_habits(&file)?;
        if let Some(prefix) = &file.prefix {
            config.looks.keymap.prefix = keys(prefix)?;
        }
        let mut taken = Vec::new();
        for (context, actions) in &file.keys {
            let given = rebind(&mut config.looks.keymap, context, actions)
                .map_err(|(name, fault)| format!("{}{fault}", line_words(text, context, name)))?;
            taken.extend(given.into_iter().filter(|_| context == Context::Deck.word()));
        }
        commands::add(&mut config, &file.command, &taken)?;
        Ok(config)
    }

    fn take_looks(&mut self, file: &FileText) -> Result<(), String> {
        self.looks.is_ascii =
            chosen("glyphs", file.glyphs.as_deref(), &[("unicode", false), ("ascii", true)])?;
        self.looks.is_square =
            chosen("borders", file.borders.as_deref(), &[("rounded", false), ("square", true)])?;
        self.looks.has_titles = file.titles.unwrap_or(true);
        self.looks.has_hints = file.hints.unwrap_or(true);
        self.rail_width = file.rail_width.unwrap_or(25).clamp(12, 60);
        self.looks.wall_tiles = file.wall_tiles.unwrap_or(self.looks.wall_tiles).clamp(1, 16);
        self.looks.wall_pace_ms = file.wall_pace.unwrap_or(self.looks.wall_pace_ms).clamp(16, 10_000);
        let context = file.review_context.unwrap_or(self.looks.review_context);
        self.looks.review_context = context.clamp(1, DiffTask::MAX_CONTEXT);
        self.looks.start = chosen("start", file.start.as_deref(), &StartView::ALL)?;
        Ok(())
    }

    fn take_habits(&mut self, file: &FileText) -> Result<(), String> {
        self.looks.has_mouse = file.mouse.unwrap_or(true);
        self.looks.clipboard.terminal =
            chosen("clipboard", file.clipboard.as_deref(), &[("terminal", true), ("off", false)])?;
        self.looks.clipboard.command = file.clipboard_command.clone();
        self.looks.clipboard.has_children = file.clipboard_children.unwrap_or(false);
        self.looks.opener = file.open_command.clone();
        let notices = [("terminal", Notices::Terminal), ("bell", Notices::Bell), ("off", Notices::Off)];
        self.looks.notices = chosen("notices", file.notices.as_deref(), &notices)?;
        Ok(())
    }
}

/// One of several words, the first without one.
fn chosen<T: Copy>(name: &str, word: Option<&str>, all: &[(&str, T)]) -> Result<T, String> {
    let found = match word {
        None => all.first(),
        Some(word) => all.iter().find(|(known, _)| *known == word),
    };
    found.map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|(word, _)| *word).collect();
        let (last, rest) = words.split_last().unwrap_or((&"", &[]));
        let word = proto::Printable(word.unwrap_or_default());
        format!("{name} is {} or {last}, not {word}", rest.join(", "))
    })
}

/// What is wrong with the keys of a context, behind the action that it is about, if it is about one.
type KeyFault<'n> = (Option<&'n str>, String);

/// Gives actions other keys; returns each key with its action.
fn rebind<'n>(
    keymap: &mut Keymap,
    context: &str,
    actions: &'n BTreeMap<String, OneOrMore>,
) -> Result<Vec<(KeyName, String)>, KeyFault<'n>> {
    let all = Context::ALL.map(Context::word);
    let unknown = || format!("keys are for {}, not {}", all.join(", "), proto::Printable(context));
    let found = Context::ALL.into_iter().find(|known| known.word() == context);
    let context = found.ok_or_else(|| (None, unknown() + &nearest_words(context, all)))?;
    let mut taken: Vec<(KeyName, String)> = Vec::new();
    for (name, wanted) in actions {
        let unknown = || {
            let nearest = nearest_words(name, defaults::names().map(|(_, word, _)| word));
            (Some(name.as_str()), format!("there is no action {}{nearest}", proto::Printable(name)))
        };
        let action = Action::named(name).ok_or_else(unknown)?;
        let keys = keys(wanted).map_err(|fault| (Some(name.as_str()), fault))?;
        if let Some((key, other)) = taken.iter().find(|(key, _)| keys.contains(key)) {
            let fault = format!("{key} is given to both {other} and {name} in keys.{}", context.word());
            return Err((Some(name.as_str()), fault));
        }
        taken.extend(keys.iter().map(|key| (key.clone(), name.clone())));
        keymap.rebind(context, action, keys);
    }
    Ok(taken)
}

/// The line of a context of keys, or of an action in it, for a fault; nothing where the text has no such line.
fn line_words(text: &str, context: &str, action: Option<&str>) -> String {
    let header = format!("[keys.{context}]");
    let mut lines = text.lines().map(str::trim).enumerate().skip_while(|(_, line)| *line != header);
    let is_it = |line: &str| {
        let name = line.split_once('=').map(|(name, _)| name.trim().trim_matches(['"', '\'']));
        action.is_none_or(|action| name == Some(action))
    };
    let found = match action {
        None => lines.next(),
        Some(_) => lines.skip(1).take_while(|(_, line)| !line.starts_with('[')).find(|(_, line)| is_it(line)),
    };
    found.map_or_else(String::new, |(at, _)| format!("line {}: ", at + 1))
}

/// The word that was probably meant, as the end of a fault; nothing where none is near.
fn nearest_words<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> String {
    let nearest = proto::nearest_word(word, known);
    nearest.map_or_else(String::new, |known| format!("; did you mean {known}?"))
}

fn keys(wanted: &OneOrMore) -> Result<Vec<KeyName>, String> {
    match wanted {
        OneOrMore::One(key) => Ok(vec![key.parse()?]),
        OneOrMore::More(keys) => keys.iter().map(|key| key.parse()).collect(),
    }
}

/// What is wrong with a text, and in which line.
pub(crate) fn fault_words(text: &str, error: &toml::de::Error) -> String {
    let line_at = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
    let line = error.span().map(|span| format!("line {}: ", line_at(span.start))).unwrap_or_default();
    let message = proto::Printable(error.message()).to_string();
    // The list of everything that could stand there is for `qd config check`.
    let message = message.split_once(", expected").map_or(message.as_str(), |(message, _)| message);
    format!("{line}{message}; qd config check says more")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::palette::Placement;
    use crate::theme::Theme;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("/nonexistent"))
    }

    #[test]
    fn settings_change_keys_theme_and_glyphs() {
        let text = "theme = 'dark'\nglyphs = 'ascii'\nprefix = ['ctrl-a', 'ctrl-\\']\n[keys.deck]\nwall = 'n'\nnext = []\n";
        let config = parse(text).unwrap();
        assert_eq!((config.looks.theme, config.looks.is_ascii), (Theme::Dark, true));
        assert_eq!(config.looks.keymap.prefix_text(), "Ctrl-A");
        assert_eq!(config.looks.keymap.key_of(Context::Deck, Action::Wall).as_deref(), Some("n"));
        assert_eq!(config.looks.keymap.key_of(Context::Deck, Action::NextNeed), None);
    }

    #[test]
    fn settings_change_what_is_shown() {
        let text = "start = 'tasks'\nborders = 'square'\ntitles = false\nhints = false\nwall-tiles = 4\nwall-pace = 500\n\
                    review-context = 12\nclipboard-children = true\n";
        let config = parse(text).unwrap();
        assert_eq!((config.looks.start, config.looks.is_square), (StartView::Tasks, true));
        assert_eq!((config.looks.has_titles, config.looks.has_hints), (false, false));
        assert_eq!((config.looks.wall_tiles, config.looks.wall_pace_ms), (4, 500));
        assert_eq!((config.looks.review_context, config.looks.clipboard.has_children), (12, true));
        let shipped = parse("").unwrap().looks;
        assert_eq!((shipped.review_context, shipped.clipboard.has_children), (3, false));
        assert_eq!(parse("review-context = 9999").unwrap().looks.review_context, 100);
    }

    #[test]
    fn a_theme_of_ones_own_is_read_from_its_file() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("themes")).unwrap();
        std::fs::write(directory.path().join("themes/sea.toml"), "alert = 'cyan'").unwrap();
        let config = Config::parse("theme = 'sea'", directory.path()).unwrap();
        assert_eq!((config.looks.theme.word(), config.looks.own_themes), ("sea", vec!["sea".to_owned()]));
        std::fs::write(directory.path().join("themes/sea.toml"), "alert = 'pink'").unwrap();
        let fault = Config::parse("theme = 'sea'", directory.path()).unwrap_err();
        assert!(fault.contains("theme sea: alert: pink"), "{fault}");
    }

    #[test]
    fn a_command_has_a_place_and_a_key_that_nothing_else_was_given() {
        let text =
            "[[command]]\nname = 'git'\nargv = ['lazygit', '{directory}']\nkey = 'y'\nwhere = 'popup'\n";
        let config = parse(text).unwrap();
        assert_eq!(config.looks.commands[0].placement, Placement::Popup);
        assert_eq!(config.looks.keymap.key_of(Context::Deck, Action::OwnCommand(0)).as_deref(), Some("y"));
        let twice = parse(&format!("{text}{}", text.replace("'git'", "'other'"))).unwrap_err();
        assert!(twice.contains("both the command git and the command other"), "{twice}");
        let both = parse(&format!("[keys.deck]\nzoom = 'y'\n{text}")).unwrap_err();
        assert!(both.contains("both zoom and the command git"), "{both}");
    }

    #[test]
    fn faults_name_what_is_wrong() {
        let fault = |text: &str| parse(text).unwrap_err();
        assert!(fault("clipboard = 'x'").contains("terminal or off"));
        assert!(fault("start = 'x'").contains("deck, tasks, wall or inbox"));
        assert!(fault("[[command]]\nname = 'git'\nargv = []").contains("no argv"));
        assert!(
            fault("[[command]]\nname = 'git'\nargv = ['x']\nwhere = 'up'").contains("popup or background")
        );
        assert!(fault("notices = 'x'").contains("terminal, bell or off"));
        assert!(fault("theme = 'pink'").contains("high-contrast"));
        assert!(fault("them = 'dark'").contains("them"));
        assert!(fault("[keys.deck]\nfly = 'x'").contains("no action fly"));
        let near = fault("mouse = true\n[keys.deck]\n\nzom = 'x'\n");
        assert_eq!(near, "line 4: there is no action zom; did you mean zoom?");
        let near = fault("[keys.dek]\nzoom = 'x'\n");
        assert!(near.starts_with("line 1: ") && near.ends_with("not dek; did you mean deck?"), "{near}");
        assert!(fault("[keys.deck]\nwall = 'q'\nzoom = 'meta-q'").starts_with("line 3: "));
        assert!(fault("[keys.deck]\nwall = 'x'\nzoom = 'x'").contains("both"));
    }
}
