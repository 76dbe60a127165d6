//! `qd web`: serves the page, the API and the WebSockets until it is interrupted, for people only.

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Args;
use proto::{ErrorCode, Failure, Printable};
use rustix::process::DumpableBehavior;
use serde_json::json;
use web::{Exposure, ServerReady, WebError, WebSetup};

use crate::context::{self, Context};
use crate::errors::CliError;

/// Serve the same screens to browsers and phones
#[derive(Debug, Args)]
pub(crate) struct WebArgs {
    /// Listen at this address; port 0 takes a free one. Without encryption only loopback addresses are allowed
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7373")]
    bind: SocketAddr,

    /// A proxy of yours encrypts, and people come to it under this URL
    #[arg(long, value_name = "URL")]
    behind_proxy: Option<String>,

    /// An origin of further pages that may call, exactly as browsers send it; may be given several times
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,

    /// The path below which the proxy publishes it, with a slash at both ends
    #[arg(long, value_name = "PATH", default_value = "/")]
    base: String,
}

impl WebArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let exposure = Exposure {
            address: self.bind,
            proxy_url: self.behind_proxy.map(|url| url.trim_end_matches('/').to_owned()),
            allowed_origins: self.allow_origin,
        };
        // Wrong addresses are reported before a daemon is started.
        exposure.names().map_err(|error| CliError::usage(error.to_string()))?;
        check_person(context)?;
        // A program that can read our memory has every secret that is shown to this server.
        let _secluded = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
        let places = context.address()?.places().clone();
        let tools = super::mcp::setup(context)?;
        let mcp = Box::new(|names: &_| mcp::http_router(tools, names));
        let setup = WebSetup { places, exe: context::own_executable()?, exposure, base: self.base, mcp };
        let mut printed = Ok(());
        web::serve(setup, |listening| printed = print_address(context, listening)).map_err(to_cli)?;
        printed?;
        Ok(ExitCode::SUCCESS)
    }
}

fn to_cli(error: WebError) -> CliError {
    match error {
        WebError::Bind(_) | WebError::Base(_) => CliError::usage(error.to_string()),
        WebError::Listen(..) | WebError::Files(_) => {
            CliError::Own(Failure::new(ErrorCode::Internal, error.to_string()))
        }
    }
}

fn print_address(context: &mut Context, listening: &ServerReady) -> Result<(), CliError> {
    let ServerReady { url, code } = listening;
    let value = json!({"url": url, "code": code.expose()});
    context.print(&value, |_, out| {
        out.line(&format!("listening at {url}"))?;
        out.line(&format!("sign in within two minutes: {url}#c={}", code.expose()))?;
        out.line("another device: qd pair; everybody who is signed in: qd access")
    })
}

/// Checks that a person calls, from outside of every process: what is printed inside one can be read by agents.
pub(crate) fn check_person(context: &mut Context) -> Result<(), CliError> {
    let who = context.connect()?.who_am_i()?;
    let refused = |message: String| {
        let failure = Failure::new(ErrorCode::Denied, message);
        Err(CliError::Own(
            failure.hint("run it in a terminal outside of Quarterdeck: agents can read this screen"),
        ))
    };
    match (who.caller.as_str(), &who.via) {
        ("human", None) => Ok(()),
        ("human", Some(name)) => refused(format!("this runs inside {}", Printable(&name.to_string()))),
        _ => refused("only a person may give access to others".to_owned()),
    }
}
