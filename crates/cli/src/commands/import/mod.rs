//! `qd import`: tasks of another program become tasks here. Without `--apply` nothing changes.

mod settings_text;
mod tam;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use client::{ClientError, Connection};
use proto::request::{ImportTask, Task, TaskAct};
use proto::task::{TaskImported, TaskOutcome};
use serde::Serialize;

use crate::context::{Context, dirs};
use crate::errors::CliError;
use crate::output::Output;

/// Take over the tasks of another program
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    from: ImportSource,
}

#[derive(Debug, Subcommand)]
enum ImportSource {
    /// Tasks, runs and settings of tam; without --apply it only says what it would do
    Tam(TamArgs),
}

#[derive(Debug, Args)]
struct TamArgs {
    /// Import them; without this flag nothing is changed
    #[arg(long)]
    apply: bool,

    /// tam's ledger [default: tam/ledger.jsonl in your data directory]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,

    /// tam's settings [default: tam/config.toml in your configuration directory]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// What an import did, or would do.
#[derive(Debug, Default, Serialize)]
struct ImportReport {
    applied: bool,
    tasks: Vec<ImportedRow>,
    /// What config.toml gets.
    settings: String,
    /// What a person should know or do.
    notes: Vec<String>,
}

/// One task of the other program.
#[derive(Debug, Serialize)]
struct ImportedRow {
    name: String,
    directory: String,
    /// Quarterdeck may remove its worktree.
    owned: bool,
    runs: usize,
    /// Why it is not imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl ImportArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let ImportSource::Tam(args) = self.from;
        let report = import_tam(context, &args)?;
        context.print(&report, print_report)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn import_tam(context: &mut Context, args: &TamArgs) -> Result<ImportReport, CliError> {
    let ledger_path = match &args.ledger {
        Some(path) => path.clone(),
        None => user_file("XDG_DATA_HOME", ".local/share", "tam/ledger.jsonl")?,
    };
    let text = std::fs::read_to_string(&ledger_path).map_err(|error| {
        let error = CliError::io(ledger_path.display().to_string())(error);
        error.hinted("tam keeps its tasks there; if yours are elsewhere, name the file with --ledger")
    });
    let ledger = tam::Ledger::parse(&text?);
    let config = read_config(args)?;
    let mut report = ImportReport { applied: args.apply, ..ImportReport::default() };
    if ledger.unreadable > 0 {
        report
            .notes
            .push(format!("{} lines of the ledger do not read and were passed over", ledger.unreadable));
    }
    let mut connection = context.connect()?;
    for task in ledger.tasks {
        let agent = task.agent().or_else(|| config.agent.clone());
        let request = task.request(agent, !args.apply);
        report.add(&mut connection, request)?;
    }
    report.notes.extend(config.notes);
    report.settings = config.settings;
    if !report.settings.is_empty() {
        report.keep_settings(args.apply)?;
    }
    Ok(report)
}

/// The import that the deck offers if tam has tasks here; the deck runs it as a command of its own.
pub(crate) fn adoption() -> Option<tui::Adoption> {
    let ledger = user_file("XDG_DATA_HOME", ".local/share", "tam/ledger.jsonl").ok()?;
    let text = std::fs::read_to_string(&ledger).ok()?;
    let tasks: Vec<String> = tam::Ledger::parse(&text).tasks.into_iter().map(tam::TamTask::name).collect();
    let program = std::env::current_exe().ok()?;
    let words = [program.to_str()?, "import", "tam", "--apply", "--ledger", ledger.to_str()?];
    let argv = words.map(str::to_owned).to_vec();
    (!tasks.is_empty()).then_some(tui::Adoption { from: "tam", tasks, argv })
}

fn read_config(args: &TamArgs) -> Result<tam::TamSettings, CliError> {
    let path = match &args.config {
        Some(path) => path.clone(),
        None => user_file("XDG_CONFIG_HOME", ".config", "tam/config.toml")?,
    };
    let shown = path.display().to_string();
    match std::fs::read_to_string(&path) {
        Ok(text) => tam::TamSettings::parse(&text).map_err(|why| CliError::usage(format!("{shown}: {why}"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && args.config.is_none() => {
            Ok(tam::TamSettings::default())
        }
        Err(error) => Err(CliError::io(shown)(error)),
    }
}

/// A file in one of the directories that the desktop's rules name.
fn user_file(variable: &str, below_home: &str, file: &str) -> Result<PathBuf, CliError> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let directory = absolute(variable).or_else(|| Some(absolute("HOME")?.join(below_home)));
    let missing =
        || CliError::usage("there is no home directory").hinted("name the file with --ledger or --config");
    Ok(directory.ok_or_else(missing)?.join(file))
}

impl ImportReport {
    /// Imports one task, or finds out whether it could be.
    fn add(&mut self, connection: &mut Connection, request: ImportTask) -> Result<(), CliError> {
        let (name, directory) = (request.name.clone(), request.directory.clone());
        let runs = request.runs.len();
        let asked = connection.task(Task::from(TaskAct::Import(Box::new(request))));
        let row = match asked.map(|outcome| *outcome) {
            Ok(TaskOutcome::Imported(TaskImported { name, directory, branch, borrowed_because })) => {
                if let Some(why) = borrowed_because {
                    self.notes.push(format!("{name}: its directory will not be removed: {why}"));
                }
                ImportedRow { name, directory, owned: branch.is_some(), runs, problem: None }
            }
            Ok(_) => return Err(super::tasks::unexpected()),
            Err(ClientError::Failed(failure)) => {
                ImportedRow { name, directory, owned: false, runs, problem: Some(failure.message) }
            }
            Err(error) => return Err(error.into()),
        };
        self.note_init_file(&row);
        self.tasks.push(row);
        Ok(())
    }

    /// Newer versions of tam prepare worktrees by another file than Quarterdeck.
    fn note_init_file(&mut self, row: &ImportedRow) {
        let directory = Path::new(&row.directory);
        let top = directory.ancestors().find(|above| above.join(".tam.toml").is_file());
        if let Some(top) = top.filter(|top| !top.join(".worktree-init.toml").exists()) {
            let note = format!(
                "{}/.tam.toml: put `include` and `commands` of its [init] into .worktree-init.toml, without the table",
                top.display()
            );
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// Adds the settings to config.toml, or says which of them stand there already.
    fn keep_settings(&mut self, applies: bool) -> Result<(), CliError> {
        let path = dirs()?.config.join("config.toml");
        let old = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(CliError::io(path.display().to_string())(error)),
        };
        let (new, taken) = settings_text::added(&old, &self.settings);
        for table in taken {
            self.notes.push(format!("{} has [{table}] already; it was left as it is", path.display()));
        }
        if applies && new != old {
            daemon::check_settings(&new)
                .map_err(|why| CliError::usage(format!("{}: {why}", path.display())))?;
            settings_text::replace(&path, &new).map_err(CliError::io(path.display().to_string()))?;
        }
        Ok(())
    }
}

fn print_report(report: &ImportReport, out: &mut Output) -> Result<(), CliError> {
    let (verb, settings) = match report.applied {
        true => ("imported", "settings for config.toml:"),
        false => ("would import", "settings that config.toml would get:"),
    };
    if report.tasks.is_empty() {
        out.line("the ledger has no live task")?;
    }
    for row in &report.tasks {
        let kind = if row.owned { "with its worktree" } else { "in a directory of yours" };
        match &row.problem {
            None => out.line(&format!("{verb} {} {kind}, {} runs: {}", row.name, row.runs, row.directory))?,
            Some(problem) => out.line(&format!("left out {}: {problem}", row.name))?,
        }
    }
    if !report.settings.is_empty() {
        out.line(settings)?;
        out.text(&report.settings)?;
    }
    report.notes.iter().try_for_each(|note| out.line(&format!("note: {note}")))?;
    if report.applied { Ok(()) } else { out.line("nothing was changed; qd import tam --apply does it") }
}
