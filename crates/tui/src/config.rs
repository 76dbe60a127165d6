//! The person's settings: `tui.toml` in the configuration directory, read again when it changes.

pub(crate) mod edit;
mod watch;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::keymap::{Action, Context, KeyName, Keymap};
use crate::model::{Clipboard, Looks};
use crate::theme::Theme;

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
    prefix: Option<OneOrMore>,
    clipboard: Option<String>,
    clipboard_command: Vec<String>,
    keys: BTreeMap<String, BTreeMap<String, OneOrMore>>,
}

/// The settings.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) theme: Theme,
    pub(crate) is_ascii: bool,
    pub(crate) has_mouse: bool,
    pub(crate) rail_width: u16,
    pub(crate) keymap: Keymap,
    pub(crate) clipboard: Clipboard,
}

impl Default for Config {
    fn default() -> Self {
        let (theme, keymap) = (Theme::default(), Keymap::default());
        let clipboard = Clipboard { terminal: true, command: Vec::new() };
        Self { theme, is_ascii: false, has_mouse: true, rail_width: 25, keymap, clipboard }
    }
}

impl Config {
    /// Reads the file; without one, the defaults. The fault names what is wrong and where.
    pub(crate) fn read(directory: &Path) -> Result<Self, String> {
        let path = directory.join(FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text).map_err(|fault| format!("{}: {fault}", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let file: FileText = toml::from_str(text).map_err(|error| one_line(&error.to_string()))?;
        let mut config = Self::default();
        if let Some(theme) = &file.theme {
            config.theme = theme.parse()?;
        }
        config.is_ascii = match file.glyphs.as_deref() {
            None | Some("unicode") => false,
            Some("ascii") => true,
            Some(other) => {
                return Err(format!("glyphs is unicode or ascii, not {}", proto::Printable(other)));
            }
        };
        config.has_mouse = file.mouse.unwrap_or(true);
        config.rail_width = file.rail_width.unwrap_or(25).clamp(12, 60);
        config.clipboard.terminal = match file.clipboard.as_deref() {
            None | Some("terminal") => true,
            Some("off") => false,
            Some(other) => {
                return Err(format!("clipboard is terminal or off, not {}", proto::Printable(other)));
            }
        };
        config.clipboard.command = file.clipboard_command.clone();
        if let Some(prefix) = &file.prefix {
            config.keymap.prefix = keys(prefix)?;
        }
        for (context, actions) in &file.keys {
            rebind(&mut config.keymap, context, actions)?;
        }
        Ok(config)
    }

    pub(crate) fn looks(self) -> Looks {
        let Self { theme, is_ascii, has_mouse, keymap, clipboard, .. } = self;
        Looks { theme, is_ascii, has_mouse, keymap, clipboard }
    }
}

fn rebind(keymap: &mut Keymap, context: &str, actions: &BTreeMap<String, OneOrMore>) -> Result<(), String> {
    let words = || Context::ALL.map(Context::word).join(", ");
    let found = Context::ALL.into_iter().find(|known| known.word() == context);
    let context =
        found.ok_or_else(|| format!("keys are for {}, not {}", words(), proto::Printable(context)))?;
    let mut taken: Vec<(KeyName, &str)> = Vec::new();
    for (name, wanted) in actions {
        let action =
            Action::named(name).ok_or_else(|| format!("there is no action {}", proto::Printable(name)))?;
        let keys = keys(wanted)?;
        if let Some((key, other)) = taken.iter().find(|(key, _)| keys.contains(key)) {
            return Err(format!("{key} is given to both {other} and {name} in keys.{}", context.word()));
        }
        taken.extend(keys.iter().map(|key| (key.clone(), name.as_str())));
        keymap.rebind(context, action, keys);
    }
    Ok(())
}

fn keys(wanted: &OneOrMore) -> Result<Vec<KeyName>, String> {
    match wanted {
        OneOrMore::One(key) => Ok(vec![key.parse()?]),
        OneOrMore::More(keys) => keys.iter().map(|key| key.parse()).collect(),
    }
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_change_keys_theme_and_glyphs() {
        let text = "theme = 'dark'\nglyphs = 'ascii'\nprefix = ['ctrl-a', 'ctrl-\\']\n[keys.deck]\nwall = 'n'\nnext = []\n";
        let config = Config::parse(text).unwrap();
        assert_eq!((config.theme, config.is_ascii), (Theme::Dark, true));
        assert_eq!(config.keymap.prefix_text(), "Ctrl-A");
        assert_eq!(config.keymap.key_of(Context::Deck, Action::Wall).as_deref(), Some("n"));
        assert_eq!(config.keymap.key_of(Context::Deck, Action::NextNeed), None);
    }

    #[test]
    fn faults_name_what_is_wrong() {
        let fault = |text: &str| Config::parse(text).unwrap_err();
        assert!(fault("clipboard = 'x'").contains("terminal or off"));
        assert!(fault("theme = 'pink'").contains("high-contrast"));
        assert!(fault("them = 'dark'").contains("them"));
        assert!(fault("[keys.deck]\nfly = 'x'").contains("no action fly"));
        assert!(fault("[keys.deck]\nwall = 'x'\nzoom = 'x'").contains("both"));
    }
}
