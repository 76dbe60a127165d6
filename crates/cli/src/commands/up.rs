//! `qd up` and `qd down`: start a project's presets in order of readiness and end them in the opposite order.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use clap::Args;
use client::{ClientError, Connection};
use proto::presets::{PresetList, PresetView};
use proto::request::{Close, Empty, Presets, Quantifier, Read, ReadMode, Restart, Target, Until, Wait};
use proto::{ErrorCode, Failure, Kind, Printable, ProcessView, Status};

use crate::commands::project::ProjectArgs;
use crate::commands::spawn::SpawnArgs;
use crate::context::{Context, own_offer, own_path};
use crate::errors::{self, CliError};

/// How long a preset may take to be ready by default.
const TIMEOUT_MS: u64 = 60_000;
/// Lines of output that the error about a preset shows which ended too soon.
const SHOWN_LINES: usize = 8;

/// Start the project's presets; each waits until the presets in its `after` are ready
#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// The presets to start; those in their `after` start too [default: all in the project's own file]
    #[arg(value_name = "PRESET")]
    presets: Vec<String>,

    /// How many seconds each may take to be ready [default: 60]
    #[arg(long, value_name = "SECS", value_parser = crate::time_arg::seconds)]
    timeout: Option<u64>,

    #[command(flatten)]
    project: ProjectArgs,
}

/// End the project's presets in reverse order
#[derive(Debug, Args)]
pub(crate) struct DownArgs {
    /// The presets to end; presets that name them in `after` end too [default: all]
    #[arg(value_name = "PRESET")]
    presets: Vec<String>,

    #[command(flatten)]
    project: ProjectArgs,
}

impl UpArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let list = listed(&mut context.connect()?, &self.project)?;
        let wanted = with_those_before(&list, &self.presets)?;
        let timeout_ms = self.timeout.unwrap_or(TIMEOUT_MS);
        let mut failed = Failed::default();
        for preset in in_order(&list, &wanted)? {
            let begun = failed.check_before(preset).and_then(|()| {
                let mut before = preset.command.after.iter();
                before.try_for_each(|name| until_ready(context, &list, name, timeout_ms))?;
                start(context, &list, preset)
            });
            failed.add(context, &preset.name, begun);
        }
        for name in &wanted {
            if !failed.names.contains(name) {
                let ready = until_ready(context, &list, name, timeout_ms);
                failed.add(context, name, ready);
            }
        }
        // With named presets, faults of other presets are not reported.
        for fault in list.faults.iter().filter(|_| self.presets.is_empty()) {
            let failure = Failure::new(ErrorCode::InvalidArgs, format!("a preset was left out: {fault}"));
            failed.report(context, &CliError::Own(failure));
        }
        Ok(failed.code.unwrap_or(ExitCode::SUCCESS))
    }
}

/// The presets that could not be started, and the exit code that follows.
#[derive(Default)]
struct Failed {
    names: BTreeSet<String>,
    /// That of the first fault: later ones mostly follow from it.
    code: Option<ExitCode>,
}

impl Failed {
    /// A preset does not start if one that it comes after did not.
    fn check_before(&self, preset: &PresetView) -> Result<(), CliError> {
        match preset.command.after.iter().find(|before| self.names.contains(*before)) {
            Some(before) => {
                let message = format!("it comes after {}, which did not start", Printable(before));
                let failure = Failure::new(ErrorCode::NotRunning, message);
                Err(CliError::Own(failure.hint("repair that one; then `qd up` starts both")))
            }
            None => Ok(()),
        }
    }

    /// Reports what went wrong with a preset. The others are started all the same.
    fn add(&mut self, context: &Context, name: &str, outcome: Result<(), CliError>) {
        if let Err(error) = outcome {
            self.names.insert(name.to_owned());
            self.report(context, &error.about(&format!("preset {}", Printable(name))));
        }
    }

    fn report(&mut self, context: &Context, error: &CliError) {
        let code = errors::report(error, context.json);
        self.code.get_or_insert(code);
    }
}

impl DownArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let mut connection = context.connect()?;
        let project = self.project.directory(&mut connection)?;
        let list = connection.presets(Presets { project, path: own_path() })?;
        let (mut ended, mut code) = (0, ExitCode::SUCCESS);
        let mut names = self.removed(&mut connection, &list)?;
        let named: Vec<String> = self.presets.iter().filter(|name| !names.contains(*name)).cloned().collect();
        if !named.is_empty() || self.presets.is_empty() {
            let wanted = with_those_behind(&list, &named)?;
            names.extend(in_reverse_order(&list, wanted));
        }
        for name in names {
            let entries = connection.list()?;
            for entry in entries.iter().filter(|entry| is_of(entry, &list, &name)) {
                ended += 1;
                let close = Close {
                    target: Target(entry.id.to_string()),
                    keep_background: false,
                    stop: proto::Stop::default(),
                };
                match connection.close(close) {
                    Ok(ended) => {
                        context.confirm(&ended, |_, out| out.line(&format!("{} is closed", entry.name)))?
                    }
                    // The others are ended all the same.
                    Err(error) => code = errors::report(&error.into(), context.json),
                }
            }
        }
        if ended == 0 && !context.json {
            let path = Printable(&list.project.path).to_string();
            context.print_status(&format!("nothing runs from the presets of {path}"))?;
        }
        Ok(code)
    }

    /// Presets that were started and are not in the file any more.
    fn removed(&self, connection: &mut Connection, list: &PresetList) -> Result<Vec<String>, CliError> {
        let is_known = |name: &String| list.presets.iter().any(|preset| preset.name == *name);
        let is_wanted = |name: &String| self.presets.is_empty() || self.presets.contains(name);
        let entries =
            connection.list()?.into_iter().filter(|entry| entry.program.project == list.project.key);
        let names: BTreeSet<String> = entries.filter_map(|entry| entry.program.preset).collect();
        Ok(names.into_iter().filter(|name| !is_known(name) && is_wanted(name)).collect())
    }
}

fn listed(connection: &mut Connection, project: &ProjectArgs) -> Result<PresetList, CliError> {
    let project = project.directory(connection)?;
    let list = connection.presets(Presets { project, path: own_path() })?;
    if list.presets.is_empty() {
        let message = format!("{} has no preset", Printable(&list.project.path));
        let failure = Failure::new(ErrorCode::NotFound, message);
        return Err(CliError::Own(match list.faults.first() {
            Some(fault) => failure.hint(format!("a preset file has a fault: {}", Printable(fault))),
            None => failure.hint("docs/presets.md says how to write .quarterdeck.toml"),
        }));
    }
    Ok(list)
}

fn find<'a>(list: &'a PresetList, name: &str) -> Result<&'a PresetView, CliError> {
    list.presets.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let message = format!("no preset \"{}\"", Printable(name));
        CliError::Own(Failure::new(ErrorCode::NotFound, message).hint(known_presets(list)))
    })
}

/// The presets that there are, as a hint; the first fault may be why one is missing.
fn known_presets(list: &PresetList) -> String {
    match list.faults.first() {
        Some(fault) => format!("a preset file has a fault: {}", Printable(fault)),
        None => "qd presets lists them".to_owned(),
    }
}

/// Returns true if a preset is in the project's own file.
fn is_projects(list: &PresetList, preset: &PresetView) -> bool {
    std::path::Path::new(&preset.origin).starts_with(&list.project.path)
}

/// Returns the named presets and everything they depend on; all of the project's own when none is named.
fn with_those_before(list: &PresetList, named: &[String]) -> Result<Vec<String>, CliError> {
    let mut wanted: Vec<String> = match named.is_empty() {
        true => {
            list.presets.iter().filter(|preset| is_projects(list, preset)).map(|p| p.name.clone()).collect()
        }
        false => named.to_vec(),
    };
    let mut next = 0;
    while let Some(name) = wanted.get(next).cloned() {
        for before in &find(list, &name)?.command.after {
            if find(list, before).is_err() {
                let words = format!(
                    "preset {name} names \"{}\" in its `after`, and there is no such preset",
                    Printable(before)
                );
                return Err(CliError::usage(words).hinted(known_presets(list)));
            }
            if !wanted.contains(before) {
                wanted.push(before.clone());
            }
        }
        next += 1;
    }
    Ok(wanted)
}

/// Returns the named presets and everything that depends on them; all when none is named.
fn with_those_behind(list: &PresetList, named: &[String]) -> Result<Vec<String>, CliError> {
    if named.is_empty() {
        return Ok(list.presets.iter().map(|preset| preset.name.clone()).collect());
    }
    named.iter().try_for_each(|name| find(list, name).map(drop))?;
    let mut wanted = named.to_vec();
    let mut next = 0;
    while let Some(name) = wanted.get(next).cloned() {
        let behind = list.presets.iter().filter(|preset| preset.command.after.contains(&name));
        let new: Vec<String> = behind.map(|p| p.name.clone()).filter(|name| !wanted.contains(name)).collect();
        wanted.extend(new);
        next += 1;
    }
    Ok(wanted)
}

/// Returns these presets, each after all that it depends on.
fn in_order<'a>(list: &'a PresetList, wanted: &[String]) -> Result<Vec<&'a PresetView>, CliError> {
    let mut left: BTreeMap<&str, &PresetView> = BTreeMap::new();
    for name in wanted {
        let preset = find(list, name)?;
        left.insert(&preset.name, preset);
    }
    let mut order = Vec::new();
    while !left.is_empty() {
        let is_free = |preset: &PresetView| {
            preset.command.after.iter().all(|before| !left.contains_key(before.as_str()))
        };
        let free: Vec<&PresetView> = left.values().copied().filter(|preset| is_free(preset)).collect();
        if free.is_empty() {
            let names: Vec<&str> = left.keys().copied().collect();
            let message = format!("these presets wait for each other: {}", names.join(", "));
            return Err(CliError::usage(message).hinted("change `after` in one of them"));
        }
        for preset in free {
            left.remove(preset.name.as_str());
            order.push(preset);
        }
    }
    Ok(order)
}

/// Returns these presets, each before all that it depends on. Presets that wait for each other have no order, and are ended
/// all the same.
fn in_reverse_order(list: &PresetList, wanted: Vec<String>) -> Vec<String> {
    match in_order(list, &wanted) {
        Ok(order) => order.into_iter().rev().map(|preset| preset.name.clone()).collect(),
        Err(_) => wanted,
    }
}

fn is_of(entry: &ProcessView, list: &PresetList, preset: &str) -> bool {
    entry.program.project == list.project.key && entry.program.preset.as_deref() == Some(preset)
}

/// Returns the entry of a preset: a running one, else one that is over. A daemon may end between two presets; the next one
/// is asked.
fn entry_of(context: &mut Context, list: &PresetList, preset: &str) -> Result<Option<ProcessView>, CliError> {
    let mut entries = client::reconnecting::list(context.address()?)?;
    entries.retain(|entry| is_of(entry, list, preset));
    entries.sort_by_key(|entry| !is_live(entry));
    Ok(entries.into_iter().next())
}

fn is_live(entry: &ProcessView) -> bool {
    matches!(entry.status, Status::Starting | Status::Running)
}

/// Starts a preset unless it runs.
fn start(context: &mut Context, list: &PresetList, preset: &PresetView) -> Result<(), CliError> {
    let spawned = match entry_of(context, list, &preset.name)? {
        Some(entry) if is_live(&entry) => {
            return if context.json {
                Ok(())
            } else {
                context.print_status(&format!("{} runs already", entry.name))
            };
        }
        Some(entry) => context.connect()?.restart(Restart {
            target: Target(entry.id.to_string()),
            stop: proto::Stop::default(),
            offer: own_offer(),
        })?,
        None => {
            let mut spawn = SpawnArgs::of_kind(Kind::Command);
            spawn.cwd = Some(list.project.path.clone());
            spawn.spawn_limits.preset = Some(preset.name.clone());
            let request = spawn.request(std::env::vars_os().collect())?;
            let spawned = client::reconnecting::spawn(context.address()?, request)?;
            if spawned.name.as_str() != preset.name && !context.json {
                let (name, other) = (Printable(&preset.name), &spawned.name);
                context.print_status(&format!(
                    "{name} is called {other} here: another process is named {name}"
                ))?;
            }
            spawned
        }
    };
    context.confirm(&spawned, super::spawn::print_spawned)
}

/// Waits until a preset with a readiness check is ready; the others are as soon as they run.
fn until_ready(
    context: &mut Context,
    list: &PresetList,
    preset: &str,
    timeout_ms: u64,
) -> Result<(), CliError> {
    if find(list, preset)?.command.ready.is_none() {
        return Ok(());
    }
    let Some(entry) = entry_of(context, list, preset)? else { return Ok(()) };
    if entry.ready == Some(true) {
        return Ok(());
    }
    let wait = Wait {
        targets: vec![Target(entry.id.to_string())],
        until: Until::Ready(Empty {}),
        quantifier: Quantifier::All,
        since: None,
        since_version: None,
        timeout_ms: Some(timeout_ms),
    };
    client::reconnecting::wait(context.address()?, wait).map_err(|error| {
        match with_output(context, &entry, error) {
            Ok(ended) => ended,
            Err(error) => late(error, &entry.name.to_string(), timeout_ms),
        }
    })?;
    if context.json { Ok(()) } else { context.print_status(&format!("{} is ready", entry.name)) }
}

/// Adds the end of what a process printed to the error that it ended before it was ready: why is mostly there. Returns any
/// other error as it is.
fn with_output(
    context: &mut Context,
    entry: &ProcessView,
    error: ClientError,
) -> Result<CliError, ClientError> {
    let ClientError::Failed(failure) = &error else { return Err(error) };
    if failure.code != ErrorCode::NotRunning {
        return Err(error);
    }
    let read = Read {
        target: Target(entry.id.to_string()),
        run: proto::request::RunChoice::default(),
        mode: ReadMode::Screen,
        since: None,
        until: None,
        limit: None,
        join: false,
        styles: false,
    };
    let text = context.connect().ok().and_then(|mut connection| connection.read(read).ok());
    let lines: Vec<String> = text.iter().flat_map(|text| text.text.lines()).map(str::to_owned).collect();
    let printed: Vec<&String> = lines.iter().filter(|line| !line.trim().is_empty()).collect();
    let end = printed.iter().skip(printed.len().saturating_sub(SHOWN_LINES));
    let message = end.fold(failure.message.clone(), |all, line| format!("{all}\n{}", line.trim_end()));
    let hint = format!("`qd logs {}` shows all that it printed; `qd up` starts it again", entry.name);
    Ok(CliError::Own(Failure::new(ErrorCode::NotRunning, message).hint(hint)))
}

/// Says which preset was not ready in time; any other error stays as it is.
fn late(error: ClientError, name: &str, timeout_ms: u64) -> CliError {
    match &error {
        ClientError::Failed(failure) if failure.code == ErrorCode::Timeout => {
            let seconds = timeout_ms as f64 / 1000.0;
            let message = format!("{name} is not ready after {seconds} s; it runs on");
            let hint = format!("`qd logs {name}` shows what it printed; --timeout gives it longer");
            CliError::Own(Failure::new(ErrorCode::Timeout, message).hint(hint))
        }
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m15_a_preset_that_is_not_ready_in_time_is_named() {
        let late = late(ClientError::Failed(Failure::new(ErrorCode::Timeout, "x")), "web", 1500);
        assert_eq!(late.to_string(), "web is not ready after 1.5 s; it runs on");
        assert!(late.hint().unwrap().contains("qd logs web"));
    }

    fn list(presets: &[(&str, &[&str])]) -> PresetList {
        let view = |(name, after): &(&str, &[&str])| {
            serde_json::json!({"name": name, "origin": "/p/.quarterdeck.toml", "argv": ["x"], "cwd": "/p",
                "trusted": false, "after": after})
        };
        let presets: Vec<_> = presets.iter().map(view).collect();
        serde_json::from_value(serde_json::json!({
            "project": {"key": "00", "path": "/p"}, "presets": presets, "faults": []
        }))
        .unwrap()
    }

    fn names(order: Vec<&PresetView>) -> Vec<&str> {
        order.into_iter().map(|preset| preset.name.as_str()).collect()
    }

    #[test]
    fn m15_presets_start_behind_what_they_come_after_and_end_in_the_opposite_order() {
        let all = list(&[("api", &["db"]), ("db", &[]), ("other", &[]), ("web", &["api"])]);
        let wanted = with_those_before(&all, &["web".to_owned()]).unwrap();
        assert_eq!(names(in_order(&all, &wanted).unwrap()), ["db", "api", "web"]);
        let every = with_those_before(&all, &[]).unwrap();
        assert_eq!(names(in_order(&all, &every).unwrap()), ["db", "other", "api", "web"]);
        let behind = with_those_behind(&all, &["db".to_owned()]).unwrap();
        assert_eq!(names(in_order(&all, &behind).unwrap()), ["db", "api", "web"]);
    }

    #[test]
    fn m15_presets_that_wait_for_each_other_or_for_nobody_are_told() {
        let circle = list(&[("a", &["b"]), ("b", &["a"])]);
        let error = in_order(&circle, &["a".to_owned(), "b".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("a, b"), "{error}");
        let both = || vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(in_reverse_order(&circle, both()), both(), "what runs is ended although it has no order");
        let error = with_those_before(&list(&[("a", &["gone"])]), &[]).unwrap_err().to_string();
        assert!(error.contains("gone"), "{error}");
    }
}
