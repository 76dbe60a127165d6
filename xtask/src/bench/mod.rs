//! `cargo xtask bench`: measures `qd` beside a bare PTY and its peers, prints one table, then each goal with
//! its verdict. This file has the directories, contenders, sizes and the list of row families; each family
//! measures in its own file. Everything is driven from outside, through command lines and terminals, as a
//! user would.

mod adopt;
mod answers;
mod bombs;
mod bulk;
mod busy;
mod contender;
mod create;
mod crowd;
mod deck;
mod deck_ends;
mod echo;
mod goals;
mod idle;
mod instructions;
mod kept;
mod many;
mod options;
mod paint;
mod peers;
mod process_scan;
mod pty;
mod quarterdeck;
mod report;
mod stalled;
mod stream;
mod subprocess;
mod tasks;
#[cfg(test)]
mod tests;
mod verbs;
mod web;
mod web_ends;
mod web_peers;
mod websocket;
mod wire;
mod worktree;

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Instant;

use crate::step;
use contender::{Contender, Dialect, Place};
use goals::Verdict;
use options::Options;
use report::Report;

/// Measures some rows; what fails for one contender is noted, not returned.
type Family = fn(&Lab, &mut Report) -> Result<(), String>;

/// Row families by the name that `--only` takes, in the order of the table.
const FAMILIES: &[(&str, Family)] = &[
    ("bulk", bulk::run),
    ("four", bulk::run_four),
    ("echo", echo::run),
    ("deck", deck::run),
    ("paint", paint::run),
    ("create", create::run),
    ("idle", idle::run),
    ("busy", idle::run_busy),
    ("stalled", stalled::run),
    ("verbs", verbs::run),
    ("cold", verbs::run_cold),
    ("adopt", adopt::run),
    ("many", many::run),
    ("crowd", crowd::run),
    ("bombs", bombs::run),
    ("worktree", worktree::run),
    ("web", web::run),
    ("tasks", tasks::run),
];

/// Not a family of contenders: it measures the hot paths alone, without a terminal or a peer.
const INSTRUCTIONS: &str = "instructions";

/// Everything a row family needs.
pub(crate) struct Lab {
    /// Smaller sizes and fewer rounds; the ratios get noisy.
    is_quick: bool,
    /// Windows as long as the facts say, not as long as a person waits.
    is_long: bool,
    /// Scripts, pipes and streams.
    directory: PathBuf,
    /// The terminal without a multiplexer.
    bare: Place,
    contenders: Vec<Contender>,
    counter: Cell<u32>,
}

/// Parses arguments, builds, measures and prints; a missed goal is an error at the end.
pub(crate) fn command(arguments: &[String]) -> Result<(), String> {
    let families: Vec<&str> = FAMILIES.iter().map(|(name, _)| *name).chain([INSTRUCTIONS]).collect();
    let options = options::parse(arguments, &families)?;
    if options.is_bless {
        return instructions::bless();
    }
    if cfg!(debug_assertions) {
        return again_in_release(arguments);
    }
    let chosen: Vec<&str> = families.into_iter().filter(|name| options.measures(name)).collect();
    let mut report = Report::new(vec!["qd"]);
    let mut verdicts =
        if chosen == [INSTRUCTIONS] { Vec::new() } else { compare(&options, &chosen, &mut report)? };
    // Counts are of qd's own code; a run of peers alone has nothing to compare.
    if chosen.contains(&INSTRUCTIONS) && options.wants("qd") {
        let start = Instant::now();
        verdicts.extend(instructions::run(&mut report));
        progress(&options, &format!("{INSTRUCTIONS}: {:.0} s", start.elapsed().as_secs_f64()));
    }
    print_report(&options, &report, &verdicts);
    outcome(&options, &verdicts)
}

/// The table, then each goal.
fn print_report(options: &Options, report: &Report, verdicts: &[Verdict]) {
    if options.as_json {
        println!("{}", report.json(verdicts));
    } else {
        print!("{}", report.table());
        verdicts.iter().for_each(|verdict| println!("{}", verdict.line()));
    }
}

fn outcome(options: &Options, verdicts: &[Verdict]) -> Result<(), String> {
    let failed = verdicts.iter().filter(|verdict| !verdict.is_met).count();
    if failed == 0 || options.is_report_only {
        return Ok(());
    }
    Err(format!("{failed} of {} goals not reached", verdicts.len()))
}

/// Compares `qd` with the others through their command lines.
fn compare(options: &Options, chosen: &[&str], report: &mut Report) -> Result<Vec<Verdict>, String> {
    let binary = build_qd();
    let lab = Lab::new(options, binary.as_ref().ok())?;
    *report = Report::new(lab.contenders.iter().map(Contender::name).chain(web::columns(chosen)).collect());
    if let Err(error) = &binary {
        report.note("qd", "build", error);
    }
    for name in lab.absent(options) {
        report.note(name, "all", "not on PATH");
    }
    for (name, family) in FAMILIES.iter().filter(|(name, _)| chosen.contains(name)) {
        let start = Instant::now();
        if let Err(error) = family(&lab, report) {
            report.note("bench", name, &error);
        }
        progress(options, &format!("{name}: {:.0} s", start.elapsed().as_secs_f64()));
    }
    drop(lab);
    // A run of peers alone has nothing to compare; a qd that does not build fails its goals.
    Ok(if options.wants("qd") { goals::judge(report, chosen) } else { Vec::new() })
}

fn progress(options: &Options, line: &str) {
    if !options.as_json {
        println!("bench: {line}");
    }
}

/// An unoptimised reader would be slower than the PTY it reads.
fn again_in_release(arguments: &[String]) -> Result<(), String> {
    let mut command = step::cargo(&["run", "--release", "--quiet", "--package", "xtask", "--", "bench"]);
    step::run(command.args(arguments))
}

fn build_qd() -> Result<PathBuf, String> {
    step::run(&mut step::cargo(&["build", "--release", "--quiet", "--package", "cli"]))?;
    Ok(step::target_dir().join("release/qd"))
}

impl Lab {
    fn new(options: &Options, qd: Option<&PathBuf>) -> Result<Self, String> {
        sweep_interrupted();
        // Short, because the paths of Unix sockets are limited to 107 bytes.
        let root = std::env::temp_dir().join(format!("qdb{}", std::process::id()));
        let directory = root.join("lab");
        std::fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let shell = step::find_program("sh").ok_or("no sh on PATH")?;
        let bare = Place::new(root.join("bare"), &shell)?;
        let mut contenders = Vec::new();
        let quarterdeck: Box<dyn Dialect> = Box::new(quarterdeck::Quarterdeck);
        let mut candidates = vec![(quarterdeck, qd.cloned())];
        candidates.extend(peers::all().into_iter().map(|peer| {
            let program = step::find_program(peer.name());
            (peer, program)
        }));
        for (dialect, program) in candidates {
            let Some(program) = program.filter(|_| options.wants(dialect.name())) else { continue };
            let place = Place::new(root.join(dialect.name()), &program)?;
            contenders.push(Contender { dialect, place });
        }
        let (is_quick, is_long) = (options.is_quick, options.is_long);
        Ok(Self { is_quick, is_long, directory, bare, contenders, counter: Cell::new(0) })
    }

    /// Peers that were asked for and are not installed.
    fn absent(&self, options: &Options) -> Vec<&'static str> {
        let is_here = |name: &str| self.contenders.iter().any(|contender| contender.name() == name);
        peers::all()
            .iter()
            .map(|peer| peer.name())
            .filter(|name| options.wants(name) && !is_here(name))
            .collect()
    }

    /// Returns `full`, or `quick` when speed matters more than quiet figures.
    fn sized<T>(&self, full: T, quick: T) -> T {
        if self.is_quick { quick } else { full }
    }

    /// Restarts every contender with empty state; one that cannot is noted and fails row by row.
    fn renew(&self, report: &mut Report) {
        for contender in &self.contenders {
            if let Err(error) = contender.renew() {
                report.note(contender.name(), "start", &error);
            }
        }
    }

    /// Returns a name that was not used before.
    fn fresh_name(&self) -> String {
        self.counter.set(self.counter.get() + 1);
        format!("s{}", self.counter.get())
    }
}

/// Ends and removes what an interrupted run has left: directories whose owner is gone.
fn sweep_interrupted() {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let owner = name.strip_prefix("qdb").and_then(|digits| digits.parse::<u32>().ok());
        if owner.is_some_and(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()) {
            process_scan::sweep(&path);
            // A directory that cannot be removed belongs to another user.
            let _left = std::fs::remove_dir_all(&path);
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for contender in &self.contenders {
            contender.stop();
        }
        let root = self.directory.parent().unwrap_or(&self.directory);
        process_scan::sweep(root);
        // A file that cannot be removed stays in the temporary directory.
        let _left = std::fs::remove_dir_all(root);
    }
}
