//! Commands of the person's own, as `[[command]]` of the settings has them.

use serde::Deserialize;

use super::Config;
use crate::keymap::{Action, Context, KeyName};
use crate::model::OwnCommand;
use crate::model::palette::Placement;
use crate::model::splits::Axis;

/// A command as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommandText {
    name: String,
    argv: Vec<String>,
    key: Option<String>,
    #[serde(rename = "where")]
    place: Option<String>,
}

/// Adds commands. A key follows the prefix and displaces the default; `taken` are keys that the person gave away.
pub(super) fn add(
    config: &mut Config,
    commands: &[CommandText],
    taken: &[(KeyName, String)],
) -> Result<(), String> {
    let mut taken = taken.to_vec();
    for text in commands {
        let name = proto::Printable(&text.name).to_string();
        let number = u8::try_from(config.looks.commands.len()).map_err(|_| "too many commands".to_owned())?;
        if let Some(key) = &text.key {
            let key: KeyName = key.parse()?;
            if let Some((_, other)) = taken.iter().find(|(used, _)| *used == key) {
                return Err(format!("{key} is given to both {other} and the command {name}"));
            }
            taken.push((key.clone(), format!("the command {name}")));
            config.looks.keymap.rebind(Context::Deck, Action::OwnCommand(number), vec![key]);
        }
        config.looks.commands.push(text.read(name)?);
    }
    Ok(())
}

impl CommandText {
    fn read(&self, name: String) -> Result<OwnCommand, String> {
        if name.trim().is_empty() {
            return Err("a command has no name".to_owned());
        }
        if self.argv.first().is_none_or(String::is_empty) {
            return Err(format!("command {name} has no argv"));
        }
        let placement = match self.place.as_deref() {
            None | Some("tab") => Placement::Tab,
            Some("right") => Placement::Split(Axis::Columns),
            Some("below") => Placement::Split(Axis::Rows),
            Some("popup") => Placement::Popup,
            Some("background") => Placement::Background,
            Some(other) => {
                return Err(format!(
                    "where is tab, right, below, popup or background, not {}",
                    proto::Printable(other)
                ));
            }
        };
        Ok(OwnCommand { name, argv: self.argv.clone(), placement })
    }
}
