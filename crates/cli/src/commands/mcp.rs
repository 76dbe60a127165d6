//! `qd mcp`: serves the tools for agents, on standard input and output or on the loopback. The token comes
//! from a file or the environment, never from the command line, which every user can read.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mcp::{Setup, Token};
use rustix::process::DumpableBehavior;

use crate::context::{self, Context};
use crate::errors::CliError;

/// The variable with the token for `--http`.
const TOKEN: &str = "QD_MCP_TOKEN";

/// Serve the tools for agents over MCP, on standard input and output
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Serve over HTTP at this loopback address instead; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", conflicts_with = "reference")]
    http: Option<SocketAddr>,

    /// A file of mode 0600 with the bearer token for --http [default: the token in QD_MCP_TOKEN]
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,

    /// An origin of pages that may call over --http, exactly as browsers send it; may be given several times
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,

    /// Print the reference of all tools and exit
    #[arg(long)]
    reference: bool,
}

impl McpArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        if self.reference {
            context.out.bytes(mcp::reference().as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        // A program that can read our memory has the token of our run, or the one for HTTP. On a kernel that
        // refuses this, other programs of the same user can.
        let _secluded = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
        let setup = setup(context)?;
        let Some(address) = self.http else {
            mcp::serve_stdio(setup).map_err(CliError::io("the server cannot be started"))?;
            return Ok(ExitCode::SUCCESS);
        };
        let token = match (self.token_file, std::env::var(TOKEN)) {
            (Some(path), _) => Token::from_file(&path),
            (None, Ok(token)) => Token::new(&token),
            (None, Err(_)) => {
                return Err(CliError::usage(format!(
                    "--http needs a token: name its file with --token-file, or set {TOKEN}"
                )));
            }
        };
        let usage = |error: mcp::HttpError| CliError::usage(error.to_string());
        let mut printed = Ok(());
        let ready = |at: SocketAddr| printed = context.out.line(&format!("listening at http://{at}/mcp"));
        mcp::serve_http(setup, address, token.map_err(usage)?, &self.allow_origin, ready).map_err(usage)?;
        printed?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the environment of a server. A private daemon is started now, if one is wanted: it lives as long
/// as we do.
pub(crate) fn setup(context: &mut Context) -> Result<Setup, CliError> {
    let dirs = if context.is_ephemeral() { context.address()?.dirs().clone() } else { context::dirs()? };
    let here = std::env::current_dir().map_err(CliError::io("the working directory is gone"))?;
    // A proxy lives as long as its agent; the code that parsed, greeted and listed is not needed again.
    let on_first_call = || drop(holder::give_back_text());
    Ok(Setup { dirs, exe: context::own_executable()?, here, on_first_call })
}
