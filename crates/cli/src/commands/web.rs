//! `qd web`: serves the page, the API and the WebSockets until it is interrupted, for people only.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use clap::Args;
use proto::rights::PERSON;
use proto::{ErrorCode, Failure, Printable};
use rustix::process::DumpableBehavior;
use serde_json::json;
use tracing_subscriber::EnvFilter;
use web::{CertificateSource, Encryption, Exposure, ServerReady, WebError, WebSetup};

use crate::context::{self, Context};
use crate::errors::CliError;

/// Serve the same screens to browsers and phones
#[derive(Debug, Args)]
pub(crate) struct WebArgs {
    /// Listen at this address; port 0 takes a free one. Without encryption only loopback addresses are allowed
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7373")]
    bind: SocketAddr,

    /// Encrypt with the certificate in this file (PEM, with the certificates of its issuers)
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,

    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,

    /// Encrypt with a certificate that the server makes: browsers warn until a person accepts its fingerprint
    #[arg(long, conflicts_with = "cert")]
    self_signed: bool,

    /// The URL that people type, for a server with a certificate
    #[arg(long, value_name = "URL", conflicts_with = "behind_proxy")]
    public_url: Option<String>,

    /// Your own proxy encrypts; this is the URL that people type
    #[arg(long, value_name = "URL", conflicts_with_all = ["cert", "self_signed"])]
    behind_proxy: Option<String>,

    /// Also accept calls from pages of this origin, written as browsers send it; may be given several times
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,

    /// The path below which the proxy publishes it, with a slash at both ends
    #[arg(long, value_name = "PATH", default_value = "/")]
    base: String,

    /// Also serve counters for Prometheus at this address, without encryption and to every caller; they are only numbers
    #[arg(long, value_name = "ADDRESS")]
    metrics_bind: Option<SocketAddr>,

    /// Do not open a browser [default: open one if this terminal is on a desktop]
    #[arg(long)]
    no_open: bool,

    /// End a terminal that was opened over terminal.* after this many seconds without input, output and viewers; 0 means never
    #[arg(long, value_name = "SECS", value_parser = crate::time_arg::seconds, default_value = "1800")]
    terminal_idle: u64,
}

impl WebArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let encryption = self.encryption()?;
        let exposure = Exposure { address: self.bind, encryption, allowed_origins: self.allow_origin };
        // Wrong addresses are reported before a daemon is started.
        let checked =
            exposure.names().and_then(|_| self.metrics_bind.map(web::bind::metrics_names).transpose());
        checked.map_err(|error| CliError::usage(error.to_string()))?;
        check_person(context)?;
        // A program that can read our memory has every secret that is shown to this server.
        let _secluded = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
        start_log();
        let dirs = context.address()?.dirs().clone();
        let served = super::mcp::setup(context)?;
        let tools = Box::new(move |names: &_, person| mcp::http_router(served.clone(), names, Some(person)));
        let setup = WebSetup {
            dirs,
            exe: context::own_executable()?,
            exposure,
            base: self.base,
            metrics: self.metrics_bind,
            terminal_idle_ms: (self.terminal_idle > 0).then_some(self.terminal_idle),
            schemas: super::schema::definitions(),
            tools,
        };
        let is_seen = !context.json && context.out.is_terminal();
        let opens = opens_browser(self.no_open, is_seen, |name| std::env::var_os(name));
        let mut printed = Ok(());
        let ready = |listening: &ServerReady| {
            printed = print_address(context, listening);
            if opens {
                open_browser(&listening.url);
            }
        };
        web::serve(setup, ready).map_err(to_cli)?;
        printed?;
        Ok(ExitCode::SUCCESS)
    }

    fn encryption(&self) -> Result<Encryption, CliError> {
        let root = |url: &String| url.trim_end_matches('/').to_owned();
        let certificate = match (&self.cert, &self.key) {
            (Some(chain), Some(key)) => CertificateSource::Files { chain: chain.clone(), key: key.clone() },
            _ if self.self_signed => CertificateSource::SelfSigned,
            _ if self.public_url.is_some() => {
                let way = "--public-url needs a certificate: --cert FILE --key FILE, or --self-signed";
                return Err(CliError::usage(way.to_owned()));
            }
            _ => {
                return Ok(self
                    .behind_proxy
                    .as_ref()
                    .map_or(Encryption::None, |url| Encryption::Proxy(root(url))));
            }
        };
        Ok(Encryption::Own { certificate, url: self.public_url.as_ref().map(root) })
    }
}

fn to_cli(error: WebError) -> CliError {
    match error {
        WebError::Bind(_) | WebError::Base(_) => CliError::usage(error.to_string()),
        WebError::Listen(..) | WebError::Files(_) | WebError::Certificate(_) => {
            CliError::Own(Failure::new(ErrorCode::Internal, error.to_string()))
        }
    }
}

fn print_address(context: &mut Context, listening: &ServerReady) -> Result<(), CliError> {
    let ServerReady { url, code, fingerprint, metrics } = listening;
    let mut value = json!({"url": url, "code": code.expose()});
    if let Some(fingerprint) = fingerprint {
        value["fingerprint"] = json!(fingerprint);
    }
    if let Some(metrics) = metrics {
        value["metrics"] = json!(metrics);
    }
    context.print(&value, |_, out| {
        out.line(&format!("listening at {url}"))?;
        if let Some(fingerprint) = fingerprint {
            out.line(&format!("SHA-256 of its certificate: {fingerprint}"))?;
            out.line(
                "a browser warns once: compare the fingerprint. With this certificate browsers get no notifications and cannot install the page",
            )?;
        }
        if let Some(metrics) = metrics {
            out.line(&format!("counters for Prometheus: {metrics}"))?;
        }
        out.line(&format!("sign in within two minutes: {url}#c={}", code.expose()))?;
        out.line("another device: qd pair; everybody who is signed in: qd access")
    })
}

/// Returns true if a browser is to be opened: a person looks at this terminal, and there is a desktop for it.
fn opens_browser(is_unwanted: bool, is_seen: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let has_desktop = ["WAYLAND_DISPLAY", "DISPLAY"]
        .iter()
        .any(|name| variable(name).is_some_and(|value| !value.is_empty()));
    !is_unwanted && is_seen && has_desktop
}

/// Opens the page in the person's browser, without the code: every program of this user can read the arguments of another one.
/// A browser that was here before is signed in; a new one asks for the code.
fn open_browser(url: &str) {
    let mut command = Command::new("xdg-open");
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // The printed address is there in any case.
    if let Ok(mut opener) = command.spawn() {
        let _unreaped =
            std::thread::Builder::new().name("web-opener".to_owned()).spawn(move || opener.wait());
    }
}

/// Logs to the standard error what `QD_LOG` asks for; without it nothing is logged. The library of the tools for agents is
/// silent in any case: it quotes whole messages, and they have what agents type.
fn start_log() {
    let Some(filter) = std::env::var("QD_LOG").ok().and_then(|wish| EnvFilter::try_new(wish).ok()) else {
        return;
    };
    let filter = match "rmcp=off".parse() {
        Ok(silent) => filter.add_directive(silent),
        Err(_) => return,
    };
    let builder = tracing_subscriber::fmt().with_ansi(false).with_env_filter(filter);
    let _already = builder.with_writer(std::io::stderr).try_init();
}

/// Checks that a person calls, from outside of every process: what is printed inside one can be read by agents.
pub(crate) fn check_person(context: &mut Context) -> Result<(), CliError> {
    let refused = |message: String| {
        let failure = Failure::new(ErrorCode::Denied, message);
        Err(CliError::Own(
            failure.hint("run it in a terminal outside of Quarterdeck: agents can read this screen"),
        ))
    };
    // A daemon that a run has started takes the run's programs for people, so its word is not enough.
    if daemon::is_inside_a_run_of(context.address()?.dirs()) {
        return refused("this runs inside a process of Quarterdeck".to_owned());
    }
    let who = context.connect()?.who_am_i()?;
    match (who.caller.as_str(), &who.via) {
        (PERSON, None) => Ok(()),
        (PERSON, Some(name)) => refused(format!("this runs inside {}", Printable(&name.to_string()))),
        _ => refused("only a person may give access to others".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_opens_for_a_person_at_a_desktop_who_has_not_said_no() {
        let desktop = |name: &str| (name == "DISPLAY").then(|| OsString::from(":0"));
        assert!(opens_browser(false, true, desktop));
        assert!(!opens_browser(true, true, desktop), "--no-open");
        assert!(!opens_browser(false, false, desktop), "a script");
        assert!(!opens_browser(false, true, |_| None), "over SSH");
        assert!(!opens_browser(false, true, |_| Some(OsString::new())));
    }
}
