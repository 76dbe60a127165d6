//! `qd skills`: installs the skill with which agents learn to lead others. A file that is not ours is never
//! overwritten.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::context::Context;
use crate::errors::CliError;

/// The beginning of every skill of ours.
const MARK: &str = "---\nname: quarterdeck\n";

/// Install the skill that teaches the agents of a project to lead other agents
#[derive(Debug, Args)]
pub(crate) struct SkillsArgs {
    /// What to do with the skill
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write the skill where agents look for it, replacing an older one of ours
    Install {
        /// The directory of the project
        #[arg(long, value_name = "DIRECTORY", default_value = ".")]
        directory: PathBuf,
    },
}

impl SkillsArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let Action::Install { directory } = self.action;
        let mut written = Vec::new();
        for (path, text) in mcp::skill_files() {
            let path = directory.join(path);
            install(&path, &text)?;
            written.push(path.display().to_string());
        }
        context.print(&json!({ "written": written }), |_, out| {
            written.iter().try_for_each(|path| out.line(&format!("wrote {path}")))
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

fn install(path: &Path, text: &str) -> Result<(), CliError> {
    let sentence = |what: &str| format!("{} {what}", path.display());
    match fs::read_to_string(path) {
        Ok(old) if !old.starts_with(MARK) => {
            return Err(CliError::usage(sentence("is not a skill of Quarterdeck: move it away first")));
        }
        Ok(old) if old == text => return Ok(()),
        _ => {}
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(CliError::io(sentence("has no directory")))?;
    }
    fs::write(path, text).map_err(CliError::io(sentence("cannot be written")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_is_written_and_replaced_but_a_strangers_file_stays() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("skills/quarterdeck/SKILL.md");
        let text = format!("{MARK}new");
        install(&path, &format!("{MARK}old")).expect("written");
        install(&path, &text).expect("replaced");
        assert_eq!(fs::read_to_string(&path).expect("readable"), text);
        fs::write(&path, "mine").expect("written");
        assert!(install(&path, &text).is_err());
        assert_eq!(fs::read_to_string(&path).expect("readable"), "mine");
    }

    #[test]
    fn every_skill_carries_the_mark() {
        assert!(mcp::skill_files().iter().all(|(_, text)| text.starts_with(MARK)));
    }
}
