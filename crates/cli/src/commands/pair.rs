//! `qd pair`: shows a code with which a browser signs in, or with which a device confirms what it is about to do.

use std::process::ExitCode;

use clap::Args;
use proto::Role;
use serde_json::json;
use web::{CodePurpose, Pairing, Scope, qr_lines, web_directory};

use super::web::check_person;
use super::workspace::check_known;
use crate::context::Context;
use crate::errors::CliError;

/// Show a code that signs a browser or a phone in
#[derive(Debug, Args)]
pub(crate) struct PairArgs {
    /// What the device may do: view, type or admin
    #[arg(long, value_name = "ROLE", default_value = "type")]
    role: Role,

    /// Only the tasks and processes of this workspace
    #[arg(long, value_name = "WORKSPACE")]
    workspace: Option<String>,

    /// The URL of the server, for a code that a camera can read
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// A code that confirms instead: for a paired device that mints tokens or links
    #[arg(long, conflicts_with_all = ["role", "workspace"])]
    confirm: bool,
}

impl PairArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        check_person(context)?;
        check_known(context, self.workspace.as_deref())?;
        let directory = web_directory(context.address()?.places());
        let scope = Scope { role: self.role, workspace: self.workspace, target: None };
        let purpose = if self.confirm { CodePurpose::Confirm } else { CodePurpose::Pair(scope) };
        let issued = web::AccessFile::open(&directory).and_then(|_| Pairing::open(&directory).issue(purpose));
        let code = issued.map_err(CliError::io("no code can be made"))?;
        let code = code.expose();
        context.print(&json!({"code": code, "seconds": 120}), |_, out| {
            let (first, rest) = code.split_at(4);
            out.line(&format!("{first}-{rest}    good for two minutes and one device"))?;
            let link = self.url.as_ref().map(|url| format!("{}/#c={code}", url.trim_end_matches('/')));
            let Some(link) = link else {
                let next = "type it at the URL that `qd web` has printed; --url makes a link, and a code for a camera";
                return if out.is_terminal() { out.line(next) } else { Ok(()) };
            };
            out.line(&link)?;
            if out.is_terminal() {
                qr_lines(&link)
                    .unwrap_or_default()
                    .iter()
                    .try_for_each(|line| out.bytes(format!("{line}\n").as_bytes()))?;
            }
            Ok(())
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
