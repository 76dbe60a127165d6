//! `qd workspace`: the access scopes of tasks and processes, and the tokens that are limited to one. Tokens are those of
//! `qd access`, in the same file and with the same roles.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use proto::request::{ChangeWorkspace, WorkspaceChange};
use proto::workspace::WorkspaceView;
use proto::{ErrorCode, Failure, Printable};
use serde_json::json;
use web::{AccessFile, AuditFile, IdentityKind, web_directory};

use super::access::{self, TokenArgs};
use super::web::check_person;
use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Style, Table, now_ms, span};

/// Show, make, rename and remove workspaces, and the tokens that are limited to one
#[derive(Debug, Args)]
pub(crate) struct WorkspaceArgs {
    #[command(subcommand)]
    act: Option<Act>,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// All workspaces
    List,
    /// Make a workspace
    New {
        /// Its name
        #[arg(value_name = "WORKSPACE")]
        workspace: String,
    },
    /// Give a workspace another name; its tasks, processes and tokens stay in it
    Rename {
        /// Its name
        #[arg(value_name = "WORKSPACE")]
        workspace: String,
        /// The new name
        new_name: String,
    },
    /// Remove a workspace to which no task and no process belongs, and revoke its tokens
    Remove {
        /// Its name
        #[arg(value_name = "WORKSPACE")]
        workspace: String,
    },
    /// Tokens that are limited to one workspace
    Token {
        #[command(subcommand)]
        act: TokenAct,
    },
}

#[derive(Debug, Subcommand)]
enum TokenAct {
    /// Mint a bearer token for a program; it is printed once
    New {
        /// Only the tasks and processes of this workspace
        #[arg(value_name = "WORKSPACE")]
        workspace: String,
        #[command(flatten)]
        token: TokenArgs,
    },
    /// The tokens of all workspaces, or of one
    List {
        /// Which workspace
        #[arg(value_name = "WORKSPACE")]
        workspace: Option<String>,
    },
    /// Revoke a token; its connections close at once
    Revoke {
        /// Its id, as the list shows it
        id: String,
    },
}

impl WorkspaceArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        match self.act.unwrap_or(Act::List) {
            Act::List => list(context)?,
            Act::New { workspace } => new(context, workspace)?,
            Act::Rename { workspace, new_name } => rename(context, workspace, new_name)?,
            Act::Remove { workspace } => remove(context, workspace)?,
            Act::Token { act } => act.run(context)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl TokenAct {
    fn run(self, context: &mut Context) -> Result<(), CliError> {
        check_person(context)?;
        let file = access_file(context)?;
        match self {
            Self::New { workspace, token } => access::mint_token(&file, context, token, Some(workspace)),
            Self::List { workspace } => {
                let is_shown = |record: &web::AccessRecord| match (&record.scope.workspace, &workspace) {
                    (Some(own), Some(only)) => own == only,
                    (own, None) => own.is_some(),
                    (None, Some(_)) => false,
                };
                let is_token = |record: &web::AccessRecord| record.kind == IdentityKind::Token;
                let nothing = "no token is limited to it: `qd workspace token new` makes one";
                access::list(&file, context, nothing, |record| is_token(record) && is_shown(record))
            }
            Self::Revoke { id } => access::revoke(&file, context, &id),
        }
    }
}

fn access_file(context: &mut Context) -> Result<AccessFile, CliError> {
    let directory = web_directory(context.address()?.dirs());
    AccessFile::open(&directory).map_err(CliError::io("the tokens cannot be read"))
}

fn change(context: &mut Context, name: &str, change: WorkspaceChange) -> Result<WorkspaceView, CliError> {
    let request = ChangeWorkspace { name: name.to_owned(), change };
    Ok(context.connect()?.change_workspace(request)?)
}

fn list(context: &mut Context) -> Result<(), CliError> {
    let all = context.connect()?.workspaces()?;
    let now = now_ms();
    context.print(&all, |all, out| out.table(&table(all, now)))
}

fn table(all: &[WorkspaceView], now: u64) -> Table {
    let mut table = Table::new(&["WORKSPACE", "TASKS", "PROCESSES", "AGE"]);
    for view in all {
        let age = view.created_at.filter(|at| *at > 0).map(|at| span(now.saturating_sub(at) / 1000));
        table.row(vec![
            (Printable(&view.name).to_string(), Style::Bold),
            (view.tasks.to_string(), Style::Plain),
            (view.processes.to_string(), Style::Plain),
            (age.unwrap_or_else(|| "-".to_owned()), Style::Plain),
        ]);
    }
    table
}

/// Makes a workspace. Tokens of an earlier one with its name must not reach what will belong to it.
fn new(context: &mut Context, workspace: String) -> Result<(), CliError> {
    let view = change(context, &workspace, WorkspaceChange::Create)?;
    revoke_tokens(context, &workspace)?;
    context.confirm(&view, |view, out| {
        out.line(&format!(
            "workspace {}: `qd new NAME --workspace` puts a task into it",
            Printable(&view.name)
        ))
    })
}

fn rename(context: &mut Context, workspace: String, to: String) -> Result<(), CliError> {
    let view = change(context, &workspace, WorkspaceChange::Rename(to.clone()))?;
    let file = access_file(context)?;
    let moved = file.rename_workspace(&workspace, &to);
    moved.map_err(CliError::io("its tokens keep the old name; revoke them"))?;
    let names = json!({"workspace": workspace, "to": to});
    AuditFile::open(file.directory()).note_desk("workspace_renamed", names);
    context.confirm(&view, |view, out| out.line(&format!("it is called {} now", Printable(&view.name))))
}

fn remove(context: &mut Context, workspace: String) -> Result<(), CliError> {
    change(context, &workspace, WorkspaceChange::Remove)?;
    let revoked = revoke_tokens(context, &workspace)?;
    context.confirm(&json!({"removed": workspace, "revoked": revoked}), |_, out| {
        out.line(&format!("removed {}, and {revoked} tokens with it", Printable(&workspace)))
    })
}

fn revoke_tokens(context: &mut Context, workspace: &str) -> Result<usize, CliError> {
    let file = access_file(context)?;
    let revoked = file.revoke_workspace(workspace).map_err(CliError::io("its tokens cannot be revoked"))?;
    if revoked > 0 {
        let facts = json!({"workspace": workspace, "count": revoked});
        AuditFile::open(file.directory()).note_desk("revoked", facts);
    }
    Ok(revoked)
}

/// Checks that there is a workspace: a token for one that is mistyped would see nothing.
pub(super) fn check_known(context: &mut Context, workspace: Option<&str>) -> Result<(), CliError> {
    let Some(workspace) = workspace else { return Ok(()) };
    if context.connect()?.workspaces()?.iter().any(|known| known.name == workspace) {
        return Ok(());
    }
    let message = format!("there is no workspace \"{}\"", Printable(workspace));
    let failure = Failure::new(ErrorCode::WorkspaceMismatch, message);
    Err(CliError::Own(failure.hint("`qd workspace list` shows them, `qd workspace new` makes one")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::memory::Memory;

    #[test]
    fn a_row_says_what_belongs_to_a_workspace() {
        let view = |name: &str, created_at| WorkspaceView {
            name: name.to_owned(),
            created_at,
            tasks: 2,
            processes: 1,
        };
        let memory = Memory::default();
        memory.output().table(&table(&[view("local", None), view("phone", Some(1000))], 6000)).unwrap();
        let expected = "WORKSPACE  TASKS  PROCESSES  AGE\nlocal      2      1          -\nphone      2      1          5s\n";
        assert_eq!(memory.text(), expected);
    }
}
