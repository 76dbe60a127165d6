//! `qd pair`: shows a code with which a browser signs in, or with which a device confirms what it is about to do. In a terminal it
//! waits for the browser.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use proto::{ErrorCode, Failure, Role};
use serde_json::json;
use web::{
    AccessFile, AccessRecord, AuditFile, CodePurpose, Pairing, PairingWait, Scope, is_local_url, qr_lines,
    running_url, web_directory,
};

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

    /// The URL of the server, if it is not the one of the `qd web` that runs here
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
        let directory = web_directory(context.address()?.dirs());
        let failed = || CliError::io("no code can be made");
        let (access, pairing) = (AccessFile::open(&directory).map_err(failed())?, Pairing::open(&directory));
        let wait = PairingWait::begin(&access).map_err(failed())?;
        let facts = if self.confirm {
            json!({"to": "confirm"})
        } else {
            json!({"to": "pair", "role_given": self.role, "workspace": self.workspace})
        };
        let scope = Scope { role: self.role, workspace: self.workspace, target: None };
        let purpose = if self.confirm { CodePurpose::Confirm } else { CodePurpose::Pair(scope) };
        let code = pairing.issue(purpose).map_err(failed())?;
        AuditFile::open(&directory).note_desk("code_shown", facts);
        let url = if self.confirm { None } else { server_url(&directory, self.url)? };
        print_code(context, code.expose(), url.as_deref(), self.confirm)?;
        // A program has its code and goes on; a person sees who has come.
        if !self.confirm && !context.json && context.out.is_terminal() {
            context.out.line("waiting for the device; after Ctrl-C the code stays valid")?;
            let device = wait.device(&pairing, &code).map_err(CliError::io("the devices cannot be read"))?;
            print_device(context, device.as_ref())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the URL under which the server is called, with a slash at its end: the given one, or that of the server that runs.
pub(super) fn server_url(directory: &Path, given: Option<String>) -> Result<Option<String>, CliError> {
    match given {
        Some(url) => Ok(Some(format!("{}/", url.trim_end_matches('/')))),
        None => running_url(directory).map_err(CliError::io("the server's address cannot be read")),
    }
}

fn print_code(context: &mut Context, code: &str, url: Option<&str>, confirms: bool) -> Result<(), CliError> {
    let link = url.map(|url| format!("{url}#c={code}"));
    let mut value = json!({"code": code, "seconds": 120});
    if let Some(link) = &link {
        value["link"] = json!(link);
    }
    context.print(&value, |_, out| {
        let (first, rest) = code.split_at(4);
        out.line(&format!("{first}-{rest}    good for two minutes and one device"))?;
        if let Some(link) = &link {
            out.line(link)?;
        }
        if !out.is_terminal() {
            return Ok(());
        }
        match &link {
            _ if confirms => out.line("type it on the page that asks for it"),
            None => out.line("no `qd web` runs here: start it, or name another server with --url URL"),
            Some(link) if is_local_url(link) => {
                out.line("this address is for browsers of this machine. For a phone: `tailscale serve --bg PORT`, and")?;
                out.line("`qd web --behind-proxy https://NAME` (docs/web.md has the steps)")
            }
            Some(link) => {
                let lines = qr_lines(link).unwrap_or_default();
                lines.iter().try_for_each(|line| out.bytes(format!("{line}\n").as_bytes()))
            }
        }
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
