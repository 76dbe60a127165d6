//! `qd pair`: shows a code with which a browser signs in, or with which a device confirms what it is about to do. In a terminal it
//! waits for the browser.

use std::process::ExitCode;

use clap::Args;
use proto::{ErrorCode, Failure, Role};
use serde_json::json;
use web::{AccessFile, AccessRecord, CodePurpose, Pairing, PairingWait, Scope, qr_lines, web_directory};

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

    /// Show a code that confirms an action of a paired device, such as making a token
    #[arg(long, conflicts_with_all = ["role", "workspace"])]
    confirm: bool,
}

impl PairArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        check_person(context)?;
        check_known(context, self.workspace.as_deref())?;
        let directory = web_directory(context.address()?.places());
        let failed = || CliError::io("no code can be made");
        let (access, pairing) = (AccessFile::open(&directory).map_err(failed())?, Pairing::open(&directory));
        let wait = PairingWait::begin(&access).map_err(failed())?;
        let scope = Scope { role: self.role, workspace: self.workspace, target: None };
        let purpose = if self.confirm { CodePurpose::Confirm } else { CodePurpose::Pair(scope) };
        let code = pairing.issue(purpose).map_err(failed())?;
        print_code(context, code.expose(), self.url.as_deref())?;
        // A program has its code and goes on; a person sees who has come.
        if !self.confirm && !context.json && context.out.is_terminal() {
            context.out.line("waiting for the device; after Ctrl-C the code stays valid")?;
            let device = wait.device(&pairing, &code).map_err(CliError::io("the devices cannot be read"))?;
            print_device(context, device.as_ref())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn print_code(context: &mut Context, code: &str, url: Option<&str>) -> Result<(), CliError> {
    context.print(&json!({"code": code, "seconds": 120}), |_, out| {
        let (first, rest) = code.split_at(4);
        out.line(&format!("{first}-{rest}    good for two minutes and one device"))?;
        let Some(link) = url.map(|url| format!("{}/#c={code}", url.trim_end_matches('/'))) else {
            let next =
                "type it on the page of `qd web`; `qd pair --url URL` prints a link and a code for a camera";
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
    })
}

fn print_device(context: &mut Context, device: Option<&AccessRecord>) -> Result<(), CliError> {
    match device {
        Some(device) => {
            let words = format!("{} is paired; undo: qd access revoke {}", device.label, device.id);
            context.out.line(&words)
        }
        None => {
            let failure = Failure::new(ErrorCode::Timeout, "no device has used the code, and it is void now");
            Err(CliError::Own(failure.hint("`qd pair` shows another one")))
        }
    }
}
