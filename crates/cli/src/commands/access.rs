//! `qd access`: the devices, tokens and links that may call `qd web`; mints and revokes them.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use proto::{ErrorCode, Failure, Printable};
use serde_json::json;
use web::{AccessFile, AccessRecord, AccessRole, IdentityKind, NewIdentity, Scope, web_directory};

use super::web::check_person;
use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Style, Table, now_ms, span};

/// Show, mint and revoke what may call `qd web`
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
        /// Its name
        name: String,
        /// What it may do: view, type or admin
        #[arg(long, value_name = "ROLE", default_value = "view")]
        role: AccessRole,
        /// Only the processes of this workspace
        #[arg(long, value_name = "WORKSPACE")]
        workspace: Option<String>,
        /// It ends after this many days
        #[arg(long, value_name = "DAYS")]
        days: Option<u64>,
    },
    /// Mint a link to watch one process; it is printed once
    Link {
        /// Which process
        #[arg(value_name = "NAME")]
        process: String,
        /// It ends after this many hours
        #[arg(long, value_name = "HOURS", default_value_t = 24)]
        hours: u64,
    },
    /// Revoke one of them; its sockets close at once
    Revoke {
        /// Its id, as the list shows it
        id: String,
    },
}

const HOUR_MS: u64 = 3_600_000;

impl AccessArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        check_person(context)?;
        let directory = web_directory(context.address()?.places());
        let file = AccessFile::open(&directory).map_err(CliError::io("the devices cannot be read"))?;
        match self.act.unwrap_or(Act::List) {
            Act::List => list(&file, context)?,
            Act::Token { name, role, workspace, days } => {
                let expires = days.map(|days| now_ms() + days.saturating_mul(24 * HOUR_MS));
                let scope = Scope { role, workspace, target: None };
                mint(&file, context, NewIdentity { kind: IdentityKind::Token, label: name, scope, expires })?;
            }
            Act::Link { process, hours } => {
                let all = context.connect()?.list()?;
                let found = all
                    .iter()
                    .find(|view| view.name.to_string() == process || view.id.to_string() == process);
                let missing =
                    || Failure::new(ErrorCode::NotFound, format!("no process \"{}\"", Printable(&process)));
                let view = found.ok_or_else(|| CliError::Own(missing()))?;
                let target = Some(view.id.to_string());
                let scope = Scope { role: AccessRole::View, workspace: Some(view.workspace.clone()), target };
                let expires = Some(now_ms() + hours.saturating_mul(HOUR_MS));
                let label = format!("link to {}", view.name);
                mint(&file, context, NewIdentity { kind: IdentityKind::Link, label, scope, expires })?;
            }
            Act::Revoke { id } => revoke(&file, context, &id)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn list(file: &AccessFile, context: &mut Context) -> Result<(), CliError> {
    let records = file.list().map_err(CliError::io("the devices cannot be read"))?;
    let views: Vec<_> = records.iter().map(AccessRecord::view).collect();
    context.print(&views, |_, out| {
        if records.is_empty() {
            return out.line("nobody is signed in: `qd pair` shows a code, `qd access token` mints a token");
        }
        let mut table = Table::new(&["id", "kind", "role", "seen", "name"]);
        for record in &records {
            let seen = span(now_ms().saturating_sub(record.seen) / 1000);
            let cells = [&record.id, record.kind.word(), record.scope.role.word(), &seen, &record.label];
            table.row(cells.iter().map(|cell| (Printable(cell).to_string(), Style::Plain)).collect());
        }
        out.table(&table)
    })
}

fn mint(file: &AccessFile, context: &mut Context, new: NewIdentity) -> Result<(), CliError> {
    let (identity, secret) = file.add(new).map_err(CliError::io("it cannot be minted"))?;
    let mut value = json!(identity);
    value["secret"] = json!(secret.expose());
    context.print(&value, |_, out| {
        let prefix = if identity.kind == IdentityKind::Link { "#l=" } else { "" };
        out.line(&format!("{prefix}{}", secret.expose()))
    })
}

fn revoke(file: &AccessFile, context: &mut Context, id: &str) -> Result<(), CliError> {
    if !file.revoke(id).map_err(CliError::io("it cannot be revoked"))? {
        let message = format!("no device, token or link \"{}\"", Printable(id));
        return Err(CliError::Own(Failure::new(ErrorCode::NotFound, message).hint("`qd access` lists them")));
    }
    context.confirm(&json!({"revoked": id}), |_, out| out.line(&format!("revoked {}", Printable(id))))
}
