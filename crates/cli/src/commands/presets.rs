//! `qd presets`: lists a project's stored commands. The daemon reads the files.

use std::process::ExitCode;

use clap::Args;
use proto::Printable;
use proto::presets::{PresetList, PresetView};
use proto::process::Ready;
use proto::request::Presets;

use crate::commands::project::ProjectArgs;
use crate::context::{Context, own_path};
use crate::errors::CliError;
use crate::output::{Output, Style, Table};

/// List the project's stored commands, and whether agents may start them
#[derive(Debug, Args)]
pub(crate) struct PresetsArgs {
    #[command(flatten)]
    project: ProjectArgs,
}

impl PresetsArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let mut connection = context.connect()?;
        let project = self.project.directory(&mut connection)?;
        let list = connection.presets(Presets { project, path: own_path() })?;
        context.print(&list, print_presets)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn print_presets(list: &PresetList, out: &mut Output) -> Result<(), CliError> {
    match list.presets.is_empty() {
        true => out.line(&format!("{} has no preset", Printable(&list.project.path)))?,
        false => out.clipped_table(&table(&list.presets))?,
    }
    list.faults.iter().try_for_each(|fault| out.line(&format!("fault: {}", Printable(fault))))
}

fn table(presets: &[PresetView]) -> Table {
    let mut table =
        Table::new(&["PRESET", "TRUSTED", "READY", "FLAGS", "FILE", "COMMAND"]).dispensable(&["FILE"]);
    for preset in presets {
        let plain = |text: String| (text, Style::Plain);
        let (word, style) = if preset.trusted { ("yes", Style::Green) } else { ("no", Style::Yellow) };
        table.row(vec![
            (preset.name.clone(), Style::Bold),
            (word.to_owned(), style),
            plain(preset.command.ready.as_ref().map_or_else(|| "-".to_owned(), ready)),
            plain(flags(preset)),
            plain(preset.origin.clone()),
            plain(preset.command.argv.join(" ")),
        ]);
    }
    table
}

fn ready(ready: &Ready) -> String {
    match ready {
        Ready::Pattern(pattern) => format!("/{pattern}/"),
        Ready::Port(port) => format!("port {port}"),
    }
}

fn flags(preset: &PresetView) -> String {
    let set = [(preset.command.auto_restart, "auto_restart"), (preset.command.restore, "restore")];
    let words: Vec<&str> = set.iter().filter(|(is_set, _)| *is_set).map(|(_, word)| *word).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::memory::Memory;

    #[test]
    fn a_list_shows_what_is_trusted_and_what_does_not_read() {
        let list: PresetList = serde_json::from_value(serde_json::json!({
            "project": {"key": "00", "path": "/p"},
            "presets": [
                {"name": "dev", "origin": "/p/.quarterdeck.toml", "argv": ["npm", "run\u{1b}"], "cwd": "/p", "trusted": true,
                 "auto_restart": true, "ready": {"port": 8080}},
                {"name": "lint", "origin": "/c/presets.toml", "argv": ["x"], "cwd": "/p", "trusted": false,
                 "ready": {"pattern": "ok"}}],
            "faults": ["/p/.quarterdeck.toml:3: bad\u{7}"]
        }))
        .unwrap();
        let memory = Memory::default();
        print_presets(&list, &mut memory.output()).unwrap();
        let expected = "\
PRESET  TRUSTED  READY      FLAGS         FILE                  COMMAND
dev     yes      port 8080  auto_restart  /p/.quarterdeck.toml  npm run\\u{1b}
lint    no       /ok/       -             /c/presets.toml       x
fault: /p/.quarterdeck.toml:3: bad\\u{7}
";
        assert_eq!(memory.text(), expected);
    }
}
