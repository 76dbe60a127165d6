//! A theme of the person's own: `themes/NAME.toml` in the configuration directory, a line for each role that it changes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proto::Printable;
use term::{Attributes, Color, Style};

use super::{Role, Theme};
use crate::frame::encode::style;

/// The directory of these files, in the configuration directory.
pub const DIRECTORY: &str = "themes";
/// The names of the sixteen classic colours; the other eight begin with `bright-`.
const COLORS: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
/// The words for switches.
const SWITCHES: [(&str, Attributes); 4] = [
    ("bold", Attributes::BOLD),
    ("dim", Attributes::DIM),
    ("italic", Attributes::ITALIC),
    ("reverse", Attributes::INVERSE),
];

/// A theme from a file: a built-in one with changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnTheme {
    pub(crate) name: String,
    /// What the file does not say is taken from this theme.
    pub(super) base: Theme,
    ground: Option<Color>,
    changes: [Changes; Role::ALL.len()],
}

/// What the file says about one role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Changes {
    fg: Option<Color>,
    bg: Option<Color>,
    switches: Option<Vec<Attributes>>,
}

impl OwnTheme {
    /// Reads the theme with this name.
    pub(crate) fn read(directory: &Path, name: &str) -> Result<Theme, String> {
        let shown = Printable(name);
        if name.starts_with('.') || name.contains('/') {
            return Err(format!(
                "{shown} is no name of a theme; a name has no slash and no dot at its start"
            ));
        }
        let path = directory.join(DIRECTORY).join(format!("{name}.toml"));
        match client::read_plain_file(&path) {
            Ok(text) => {
                let own = Self::parse(name, &text).map_err(|fault| format!("theme {shown}: {fault}"))?;
                Ok(Theme::Own(Arc::new(own)))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let fault = name.parse::<Theme>().err().unwrap_or_default();
                Err(format!("{fault}; {DIRECTORY}/{shown}.toml would be one of your own and is not there"))
            }
            Err(error) => Err(format!("theme {shown}: {error}")),
        }
    }

    /// Reads the text of a theme.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, String> {
        let lines: BTreeMap<String, String> =
            toml::from_str(text).map_err(|error| crate::config::fault_words(text, &error))?;
        let mut own =
            Self { name: name.to_owned(), base: Theme::Dark, ground: None, changes: Default::default() };
        for (key, words) in &lines {
            let fault = |fault: String| format!("{}: {fault}", Printable(key));
            match key.as_str() {
                "base" => own.base = base(words).map_err(fault)?,
                "ground" => own.ground = Some(color(words).map_err(fault)?),
                _ => *own.change(key)? = Changes::parse(words).map_err(fault)?,
            }
        }
        Ok(own)
    }

    fn change(&mut self, key: &str) -> Result<&mut Changes, String> {
        let found = Role::ALL.into_iter().find(|role| role.word() == key);
        found.map(|role| &mut self.changes[role as usize]).ok_or_else(|| {
            let words = Role::ALL.map(Role::word).join(", ");
            format!("a theme has base, ground, {words}, not {}", Printable(key))
        })
    }

    /// The looks of a role.
    pub(super) fn style(&self, role: Role) -> Style {
        let changes = &self.changes[role as usize];
        let base = self.base.style(role);
        // The selection and the bars stand out from the ground.
        let ground = self.ground.filter(|_| !matches!(role, Role::Select | Role::Bar));
        let fg = changes.fg.unwrap_or(base.fg);
        let bg = changes.bg.or(ground).unwrap_or(base.bg);
        match &changes.switches {
            Some(switches) => style(fg, bg, switches),
            None => Style { fg, bg, ..base },
        }
    }
}

impl Changes {
    /// Reads words like `bold #e0e0e0 on blue`.
    fn parse(words: &str) -> Result<Self, String> {
        let mut changes = Self::default();
        let mut is_ground = false;
        for word in words.split_whitespace() {
            let switch = SWITCHES.iter().find(|(name, _)| *name == word);
            match (word, switch) {
                ("on", _) => is_ground = true,
                ("plain", _) => drop(changes.switches.get_or_insert_default()),
                (_, Some((_, switch))) => changes.switches.get_or_insert_default().push(*switch),
                _ if is_ground => changes.bg = Some(color(word)?),
                _ => changes.fg = Some(color(word)?),
            }
        }
        Ok(changes)
    }
}

fn base(word: &str) -> Result<Theme, String> {
    match word.parse()? {
        Theme::Auto => Err("auto changes with the terminal; name dark or light".to_owned()),
        theme => Ok(theme),
    }
}

/// Reads a colour: a name, a number of the 256, or the form #rrggbb.
fn color(word: &str) -> Result<Color, String> {
    if word == "default" {
        return Ok(Color::Default);
    }
    if let Ok(number) = word.parse::<u8>() {
        return Ok(Color::Indexed(number));
    }
    let (name, step) = word.strip_prefix("bright-").map_or((word, 0), |name| (name, 8));
    let named = (step..).zip(COLORS).find(|(_, color)| *color == name).map(|(number, _)| number);
    named.map(Color::Basic).or_else(|| hex(word)).ok_or_else(|| {
        let all = COLORS.join(", ");
        format!(
            "{} is no colour; colours are default, {all}, bright-red and so on, 0 to 255, #rrggbb",
            Printable(word)
        )
    })
}

fn hex(word: &str) -> Option<Color> {
    let digits = word.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.is_ascii())?;
    let part = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    Some(Color::Rgb(part(0)?, part(2)?, part(4)?))
}

/// The names of the themes that this directory has.
pub(crate) fn own_names(directory: &Path) -> Vec<String> {
    let files = std::fs::read_dir(directory.join(DIRECTORY)).into_iter().flatten().flatten();
    let name = |file: std::fs::DirEntry| {
        let path = file.path();
        let is_theme = path.extension().is_some_and(|extension| extension == "toml");
        path.file_stem()?.to_str().filter(|name| is_theme && !name.starts_with('.')).map(str::to_owned)
    };
    let mut names: Vec<String> = files.filter_map(name).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u24_a_theme_of_ones_own_changes_what_it_names_and_leaves_the_rest() {
        let text = "base = 'light'\nground = '#ffffff'\nalert = 'bright-red'\nselect = 'bold 231 on #102030'\nfocus = 'plain blue'\n";
        let own = OwnTheme::parse("mine", text).unwrap();
        let light = |role| Theme::Light.style(role);
        assert_eq!(own.style(Role::Alert).fg, Color::Basic(9));
        assert_eq!(own.style(Role::Alert).attributes, light(Role::Alert).attributes);
        assert_eq!(own.style(Role::Text).bg, Color::Rgb(255, 255, 255));
        assert_eq!(own.style(Role::Text).fg, light(Role::Text).fg);
        let select = style(Color::Indexed(231), Color::Rgb(16, 32, 48), &[Attributes::BOLD]);
        assert_eq!(own.style(Role::Select), select);
        assert_eq!(own.style(Role::Bar), light(Role::Bar));
        assert_eq!(own.style(Role::Focus), style(Color::Basic(4), Color::Rgb(255, 255, 255), &[]));
    }

    #[test]
    fn u24_the_faults_of_a_theme_name_the_line_and_what_could_stand_there() {
        let fault = |text: &str| OwnTheme::parse("mine", text).unwrap_err();
        assert!(fault("alert = 'pink'").contains("alert: pink is no colour"));
        assert!(fault("alert = '#12'").contains("#rrggbb"));
        assert!(fault("alarm = 'red'").contains("base, ground, text"));
        assert!(fault("base = 'auto'").contains("dark or light"));
        assert!(fault("base = 'pink'").contains("high-contrast"));
        assert!(fault("alert = 7").contains("line 1"));
    }

    #[test]
    fn u24_themes_are_found_by_their_files_and_no_name_leads_out_of_their_directory() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join(DIRECTORY)).unwrap();
        for name in ["sea.toml", "b.toml", ".hidden.toml", "notes.txt"] {
            std::fs::write(directory.path().join(DIRECTORY).join(name), "").unwrap();
        }
        assert_eq!(own_names(directory.path()), ["b", "sea"]);
        assert_eq!(OwnTheme::read(directory.path(), "sea").unwrap().word(), "sea");
        std::fs::write(directory.path().join("out.toml"), "").unwrap();
        assert!(OwnTheme::read(directory.path(), "../out").is_err());
        assert!(OwnTheme::read(directory.path(), "lake").unwrap_err().contains("themes/lake.toml"));
    }
}
