//! `qd access`: the devices, tokens and links that may call `qd web`; mints and revokes them.

use std::io::{self, BufRead, Read};
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use proto::limit::check_label;
use proto::{ErrorCode, Failure, Printable, ProcessView, Role};
use rustix::termios::{LocalModes, OptionalActions, isatty, tcgetattr, tcsetattr};
use serde_json::json;
use web::{
    AccessFile, AccessRecord, AuditFile, IdentityKind, LinkTarget, NewIdentity, PassphraseFile, Scope,
    is_local_url, web_directory,
};

use super::pair::server_url;
use super::tasks;
use super::web::check_person;
use super::workspace::check_known;
use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Style, Table, now_ms, span};

/// List, make and revoke the devices, tokens and links that may use `qd web`
#[derive(Debug, Args)]
pub(crate) struct AccessArgs {
    #[command(subcommand)]
    act: Option<Act>,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Devices, tokens and links
    List,
    /// Mint a bearer token for a program; it is printed once
    Token {
        #[command(flatten)]
        token: TokenArgs,
        /// Only the tasks and processes of this workspace
        #[arg(long, value_name = "WORKSPACE")]
        workspace: Option<String>,
    },
    /// Mint a link to watch one process or one task; it is printed once
    Link {
        /// Which process
        #[arg(value_name = "NAME", required_unless_present = "task")]
        process: Option<String>,
        /// Which task: its changes, its review and the screens of its processes
        #[arg(long, value_name = "TASK", conflicts_with = "process")]
        task: Option<String>,
        /// It ends after this many hours
        #[arg(long, value_name = "HOURS", default_value_t = 24)]
        hours: u64,
        /// The URL of the server, if it is not the one of the `qd web` that runs here
        #[arg(long, value_name = "URL")]
        url: Option<String>,
    },
    /// Read a passphrase from stdin; a paired device types it to confirm that a person is there
    Passphrase {
        /// Remove the passphrase instead
        #[arg(long)]
        remove: bool,
    },
    /// Revoke a device, token or link; its open connections close at once
    Revoke {
        /// Its id, as the list shows it
        id: String,
    },
}

/// What every token has.
#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    /// Its name
    name: String,

    /// What it may do: view, type or admin
    #[arg(long, value_name = "ROLE", default_value = "view")]
    role: Role,

    /// It ends after this many days
    #[arg(long, value_name = "DAYS")]
    days: Option<u64>,
}

const HOUR_MS: u64 = 3_600_000;
/// The longest line that is read.
const MAX_LINE: u64 = 4096;

impl AccessArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        check_person(context)?;
        let directory = web_directory(context.address()?.dirs());
        let file = AccessFile::open(&directory).map_err(CliError::io("the devices cannot be read"))?;
        match self.act.unwrap_or(Act::List) {
            Act::List => {
                let nothing =
                    "nobody is signed in: `qd pair` shows a code, `qd access token` creates a token";
                list(&file, context, nothing, |_| true)?;
            }
            Act::Token { token, workspace } => mint_token(&file, context, token, workspace)?,
            Act::Link { process, task, hours, url } => {
                let (label, scope) = match task {
                    Some(task) => to_task(context, task)?,
                    None => to_process(context, &process.unwrap_or_default())?,
                };
                let life_ms = Some(hours.saturating_mul(HOUR_MS));
                let new = NewIdentity { kind: IdentityKind::Link, label, scope, life_ms };
                let url = server_url(&directory, url)?;
                mint(&file, context, new, url.as_deref())?;
            }
            Act::Passphrase { remove } => passphrase(&directory, context, remove)?,
            Act::Revoke { id } => revoke(&file, context, &id)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The label and the scope of a link to a process.
fn to_process(context: &mut Context, process: &str) -> Result<(String, Scope), CliError> {
    let all = context.connect()?.list()?;
    let is_it = |view: &&ProcessView| view.name.to_string() == process || view.id.to_string() == process;
    let view = all.iter().find(is_it).ok_or_else(|| {
        CliError::Own(Failure::new(ErrorCode::NotFound, format!("no process \"{}\"", Printable(process))))
    })?;
    let target = LinkTarget::Process(view.id.to_string());
    Ok((format!("link to {}", view.name), watching(&view.workspace, target)))
}

/// The label and the scope of a link to a task.
fn to_task(context: &mut Context, task: String) -> Result<(String, Scope), CliError> {
    let view = tasks::show(&mut context.connect()?, Some(task))?;
    let target = LinkTarget::Task { task: view.name.clone(), created_at: view.created_at };
    let label = format!("link to task {}", view.name);
    let label = if check_label(&label).is_ok() { label } else { "link to a task".to_owned() };
    Ok((label, watching(&view.workspace, target)))
}

fn watching(workspace: &str, target: LinkTarget) -> Scope {
    Scope { role: Role::View, workspace: Some(workspace.to_owned()), target: Some(target) }
}

/// Lists the identities that are asked for; `nothing` is said when there are none.
pub(super) fn list(
    file: &AccessFile,
    context: &mut Context,
    nothing: &str,
    is_shown: impl Fn(&AccessRecord) -> bool,
) -> Result<(), CliError> {
    let mut records = file.list().map_err(CliError::io("the devices cannot be read"))?;
    records.retain(is_shown);
    let views: Vec<_> = records.iter().map(AccessRecord::view).collect();
    context.print(&views, |_, out| {
        if records.is_empty() {
            return out.line(nothing);
        }
        let mut table = Table::new(&["ID", "KIND", "ROLE", "WORKSPACE", "SEEN", "NAME"]);
        for record in &records {
            let seen = span(now_ms().saturating_sub(record.seen) / 1000);
            let workspace = record.scope.workspace.as_deref().unwrap_or("all");
            let (id, kind, role) = (record.id.as_str(), record.kind.word(), record.scope.role.word());
            let cells = [id, kind, role, workspace, &seen, &record.label];
            table.row(cells.iter().map(|cell| (Printable(cell).to_string(), Style::Plain)).collect());
        }
        out.table(&table)
    })
}

/// Mints a token, limited to a workspace if one is named.
pub(super) fn mint_token(
    file: &AccessFile,
    context: &mut Context,
    token: TokenArgs,
    workspace: Option<String>,
) -> Result<(), CliError> {
    check_known(context, workspace.as_deref())?;
    let life_ms = token.days.map(|days| days.saturating_mul(24 * HOUR_MS));
    let scope = Scope { role: token.role, workspace, target: None };
    mint(file, context, NewIdentity { kind: IdentityKind::Token, label: token.name, scope, life_ms }, None)
}

/// Makes an identity and prints its secret, for a link behind the URL of the server.
fn mint(
    file: &AccessFile,
    context: &mut Context,
    new: NewIdentity,
    url: Option<&str>,
) -> Result<(), CliError> {
    let (identity, secret) = file.add(new).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => CliError::usage(error.to_string()),
        _ => CliError::io("it cannot be created")(error),
    })?;
    AuditFile::open(file.directory()).note_desk_minted(&identity);
    let mut value = json!(identity);
    value["secret"] = json!(secret.expose());
    context.print(&value, |_, out| {
        if identity.kind != IdentityKind::Link {
            return out.line(secret.expose());
        }
        out.line(&format!("{}#l={}", url.unwrap_or_default(), secret.expose()))?;
        match url {
            _ if !out.is_terminal() => Ok(()),
            None => out.line("no `qd web` runs here: append it to the URL of your server"),
            Some(url) if is_local_url(url) => {
                out.line("it opens on this machine only: its server has no public URL")
            }
            Some(_) => Ok(()),
        }
    })
}

fn passphrase(directory: &Path, context: &mut Context, remove: bool) -> Result<(), CliError> {
    let file = PassphraseFile::open(directory);
    let outcome = if remove {
        let was_there = file.remove().map_err(CliError::io("the passphrase cannot be removed"))?;
        if was_there { "removed" } else { "none" }
    } else {
        if isatty(io::stdin()) {
            context.print_status("type the passphrase; it is not shown")?;
        }
        let typed = read_hidden().map_err(CliError::io("the passphrase cannot be read"))?;
        file.set(typed.trim_end_matches(['\r', '\n'])).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => CliError::usage(error.to_string()),
            _ => CliError::io("the passphrase cannot be kept")(error),
        })?;
        "set"
    };
    if outcome != "none" {
        AuditFile::open(directory).note_desk(&format!("passphrase_{outcome}"), json!({}));
    }
    context.confirm(&json!({"passphrase": outcome}), |_, out| match outcome {
        "set" => out.line("passphrase set: devices with the role admin can now confirm with it"),
        "removed" => out.line("removed: devices confirm with `qd pair --confirm`"),
        _ => out.line("there is no passphrase"),
    })
}

/// Reads one line of the standard input, which a terminal does not show.
fn read_hidden() -> io::Result<String> {
    let stdin = io::stdin();
    let before = tcgetattr(&stdin).ok();
    if let Some(before) = &before {
        let mut hidden = before.clone();
        hidden.local_modes -= LocalModes::ECHO;
        tcsetattr(&stdin, OptionalActions::Flush, &hidden)?;
    }
    let mut line = String::new();
    let read = stdin.lock().take(MAX_LINE).read_line(&mut line);
    if let Some(before) = &before {
        tcsetattr(&stdin, OptionalActions::Flush, before)?;
    }
    read.map(|_| line)
}

pub(super) fn revoke(file: &AccessFile, context: &mut Context, id: &str) -> Result<(), CliError> {
    if !file.revoke(id).map_err(CliError::io("it cannot be revoked"))? {
        let message = format!("no device, token or link \"{}\"", Printable(id));
        return Err(CliError::Own(Failure::new(ErrorCode::NotFound, message).hint("`qd access` lists them")));
    }
    AuditFile::open(file.directory()).note_desk("revoked", json!({"id": id}));
    context.confirm(&json!({"revoked": id}), |_, out| out.line(&format!("revoked {}", Printable(id))))
}
