//! `qd agents`: lists the agents, and shows, checks and records for manifests. It reads and writes the files
//! that a person names; the daemon's catalogue knows the vendors.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use proto::agent::AgentOffer;
use proto::request::{AskAgents, CheckManifest, Recording, Sample, Target};
use proto::{AgentState, ErrorCode, Failure, Printable};

use crate::context::{Context, own_path};
use crate::errors::CliError;
use crate::output::{Style, Table};

/// Largest manifest that is read.
const MAX_MANIFEST: u64 = 1 << 20; // 1 MiB

/// List the agents that can be started here; check manifests, and record screens for them
#[derive(Debug, Args)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    verb: Option<AgentsVerb>,
}

#[derive(Debug, Subcommand)]
enum AgentsVerb {
    Show(ShowArgs),
    Check(CheckArgs),
    Record(RecordArgs),
}

/// Print a built-in manifest, to read it or to start one of your own
#[derive(Debug, Args)]
struct ShowArgs {
    /// The agent's name
    name: String,
}

/// Check a manifest for faults, and try its rules on recordings
#[derive(Debug, Args)]
struct CheckArgs {
    /// The manifest's file; its name without .toml is the agent's name
    file: PathBuf,

    /// Recordings of the agent's screens, as `qd agents record` makes them
    recordings: Vec<PathBuf>,
}

/// Save an agent's screen as a sample for its rules, with secrets masked
#[derive(Debug, Args)]
struct RecordArgs {
    /// Its name or id
    name: String,

    /// The state that you see on the screen [default: what the rules find]
    #[arg(long)]
    state: Option<AgentState>,

    /// The file to write; - prints it [default: a new file in this directory]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl AgentsArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        match self.verb {
            None => list(context),
            Some(AgentsVerb::Show(show)) => show.run(context),
            Some(AgentsVerb::Check(check)) => check.run(context),
            Some(AgentsVerb::Record(record)) => record.run(context),
        }
    }
}

fn list(context: &mut Context) -> Result<ExitCode, CliError> {
    let offers = context.connect()?.agents(AskAgents { path: own_path() })?;
    context.print(&offers, |offers, out| {
        out.clipped_table(&table(offers))?;
        for offer in offers {
            for problem in &offer.problems {
                out.line(&format!("{}: {}", offer.name, Printable(problem)))?;
            }
        }
        Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}

fn table(offers: &[AgentOffer]) -> Table {
    let mut table =
        Table::new(&["AGENT", "VERSION", "PROGRAM", "WORKS WITH IT", "MANIFEST"]).dispensable(&["MANIFEST"]);
    for offer in offers {
        let is_here = offer.program.is_some();
        let style = if is_here { Style::Plain } else { Style::Dim };
        table.row(vec![
            (offer.name.clone(), if is_here { Style::Bold } else { Style::Dim }),
            (offer.version.clone().unwrap_or_else(|| "-".to_owned()), style),
            (offer.program.clone().unwrap_or_else(|| missing(offer).to_owned()), style),
            (offer.abilities.join(" "), style),
            (offer.origin.join(", "), style),
        ]);
    }
    table
}

/// Returns why an agent has no program.
fn missing(offer: &AgentOffer) -> &'static str {
    if offer.is_faulty { "faulty manifest" } else { "not installed" }
}

impl ShowArgs {
    fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let Some(text) = daemon::built_in_manifest(&self.name) else {
            let message = format!("no built-in manifest is called {}", Printable(&self.name));
            let failure = Failure::new(ErrorCode::NotFound, message);
            return Err(CliError::Own(
                failure.hint("qd agents lists the agents and where their manifests come from"),
            ));
        };
        let shown = serde_json::json!({"name": self.name, "text": text});
        context.print(&shown, |_, out| out.bytes(text.as_bytes()))?;
        Ok(ExitCode::SUCCESS)
    }
}

impl CheckArgs {
    fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let name = stem(&self.file)?;
        let shown = Printable(&self.file.to_string_lossy()).to_string();
        let text = read_small(&self.file)?;
        let recordings = self
            .recordings
            .iter()
            .map(|file| Ok(Recording { name: file.to_string_lossy().into_owned(), text: read_small(file)? }));
        let recordings = recordings.collect::<Result<Vec<_>, CliError>>()?;
        let checked = context.connect()?.check_manifest(CheckManifest { text, name, recordings })?;
        let is_sound = checked.faults.is_empty() && checked.disagreements.is_empty();
        context.print(&checked, |checked, out| {
            for fault in &checked.faults {
                out.text(&format!("{shown}:{}: {}", fault.line, fault.reason))?;
            }
            for sentence in checked.disagreements.iter().chain(&checked.unused) {
                out.text(sentence)?;
            }
            if is_sound { out.line(&format!("{shown} is sound")) } else { Ok(()) }
        })?;
        Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Reads a file that a person named, unless it is longer than any manifest or recording is.
fn read_small(file: &Path) -> Result<String, CliError> {
    let shown = Printable(&file.to_string_lossy()).to_string();
    let size = std::fs::metadata(file).map_err(CliError::io(shown.clone()))?.len();
    if size > MAX_MANIFEST {
        return Err(CliError::usage(format!("{shown} has more than 1 MiB: name a manifest or a recording")));
    }
    std::fs::read_to_string(file).map_err(CliError::io(shown))
}

/// Returns the agent's name: the file's, without its extension.
fn stem(file: &Path) -> Result<String, CliError> {
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    stem.map(str::to_owned).ok_or_else(|| CliError::usage("the file's name is the agent's name: NAME.toml"))
}

impl RecordArgs {
    fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let taken = context.connect()?.sample(Sample { target: Target(self.name), state: self.state })?;
        if self.out.as_deref() == Some(Path::new("-")) && !context.json {
            context.out.bytes(taken.text.as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        let file = self.out.unwrap_or_else(|| PathBuf::from(&taken.file));
        if !context.json {
            write_new(&file, &taken.text)?;
        }
        let shown = Printable(&file.to_string_lossy()).to_string();
        context.print(&taken, |taken, out| {
            out.line(&format!("{shown}: {} secrets masked; look at it before you share it", taken.masked))
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes a new file: a sample never replaces anything.
fn write_new(file: &Path, text: &str) -> Result<(), CliError> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let shown = Printable(&file.to_string_lossy()).to_string();
    let mut options = std::fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(file);
    let mut opened = opened.map_err(CliError::io(shown.clone()))?;
    opened.write_all(text.as_bytes()).map_err(CliError::io(shown))
}
