//! `qd up` and `qd down`: start a project's presets in order of readiness and end them in the opposite order.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Args;
use client::{ClientError, Connection};
use proto::crew::{PresetList, PresetView};
use proto::request::{Close, Empty, Presets, Quantifier, Restart, Target, Until, Wait};
use proto::{ErrorCode, Failure, Kind, Printable, ProcessView, Status};

use crate::commands::project::ProjectArgs;
use crate::commands::spawn::SpawnArgs;
use crate::context::{Context, own_path};
use crate::errors::{self, CliError};

/// How long a preset may take to be ready by default.
const PATIENCE_MS: u64 = 60_000;

/// Start the project's presets in order: each when the presets that it comes after are ready
#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// Which presets; those that they come after are started too. Otherwise all of the project's own file
    #[arg(value_name = "PRESET")]
    presets: Vec<String>,

    /// How many seconds each may take to be ready; otherwise 60
    #[arg(long, value_name = "SECS", value_parser = super::send::seconds)]
    timeout: Option<u64>,

    #[command(flatten)]
    project: ProjectArgs,
}

/// End the project's presets, in the opposite order
#[derive(Debug, Args)]
pub(crate) struct DownArgs {
    /// Which presets; those that come after them are ended too. Otherwise all
    #[arg(value_name = "PRESET")]
    presets: Vec<String>,

    #[command(flatten)]
    project: ProjectArgs,
}

impl UpArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let mut connection = context.connect()?;
        let list = listed(&mut connection, &self.project)?;
        let wanted = with_those_before(&list, &self.presets)?;
        let patience = self.timeout.unwrap_or(PATIENCE_MS);
        for preset in in_order(&list, &wanted)? {
            for before in &preset.after {
                until_ready(context, &mut connection, &list, before, patience)?;
            }
            start(context, &mut connection, &list, preset)?;
        }
        for name in &wanted {
            until_ready(context, &mut connection, &list, name, patience)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl DownArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let mut connection = context.connect()?;
        let list = listed(&mut connection, &self.project)?;
        let wanted = with_those_behind(&list, &self.presets)?;
        let mut code = ExitCode::SUCCESS;
        for preset in in_order(&list, &wanted)?.into_iter().rev() {
            let entries = connection.list()?;
            for entry in entries.iter().filter(|entry| is_of(entry, &list, &preset.name)) {
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
        Ok(code)
    }
}

fn listed(connection: &mut Connection, project: &ProjectArgs) -> Result<PresetList, CliError> {
    let project = project.directory(connection)?;
    let list = connection.presets(Presets { project, path: own_path() })?;
    if list.presets.is_empty() {
        let message = format!("{} has no preset", Printable(&list.project.path));
        let failure = Failure::new(ErrorCode::NotFound, message);
        return Err(CliError::Own(match list.faults.first() {
            Some(fault) => failure.hint(format!("something does not read: {}", Printable(fault))),
            None => failure.hint("docs/presets.md says how to write .quarterdeck.toml"),
        }));
    }
    Ok(list)
}

fn find<'a>(list: &'a PresetList, name: &str) -> Result<&'a PresetView, CliError> {
    list.presets.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let message = format!("no preset \"{}\"", Printable(name));
        CliError::Own(Failure::new(ErrorCode::NotFound, message).hint("qd presets lists them"))
    })
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
        for before in &find(list, &name)?.after {
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
        let behind = list.presets.iter().filter(|preset| preset.after.contains(&name));
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
        let is_free =
            |preset: &PresetView| preset.after.iter().all(|before| !left.contains_key(before.as_str()));
        let free: Vec<&PresetView> = left.values().copied().filter(|preset| is_free(preset)).collect();
        if free.is_empty() {
            let names: Vec<&str> = left.keys().copied().collect();
            let message = format!("these presets come after each other: {}", names.join(", "));
            return Err(CliError::usage(message).hinted("change `after` in one of them"));
        }
        for preset in free {
            left.remove(preset.name.as_str());
            order.push(preset);
        }
    }
    Ok(order)
}

fn is_of(entry: &ProcessView, list: &PresetList, preset: &str) -> bool {
    entry.project == list.project.key && entry.preset.as_deref() == Some(preset)
}

/// Returns the entry of a preset: a running one, else one that is over.
fn entry_of(
    connection: &mut Connection,
    list: &PresetList,
    preset: &str,
) -> Result<Option<ProcessView>, CliError> {
    let mut entries = connection.list()?;
    entries.retain(|entry| is_of(entry, list, preset));
    entries.sort_by_key(|entry| !is_live(entry));
    Ok(entries.into_iter().next())
}

fn is_live(entry: &ProcessView) -> bool {
    matches!(entry.status, Status::Starting | Status::Running)
}

/// Starts a preset unless it runs.
fn start(
    context: &mut Context,
    connection: &mut Connection,
    list: &PresetList,
    preset: &PresetView,
) -> Result<(), CliError> {
    let spawned = match entry_of(connection, list, &preset.name)? {
        Some(entry) if is_live(&entry) => {
            return if context.json {
                Ok(())
            } else {
                context.print_status(&format!("{} runs already", entry.name))
            };
        }
        Some(entry) => connection
            .restart(Restart { target: Target(entry.id.to_string()), stop: proto::Stop::default() })?,
        None => {
            let mut spawn = SpawnArgs::of_kind(Kind::Command);
            spawn.name = Some(preset.name.clone());
            spawn.cwd = Some(list.project.path.clone());
            spawn.spawn_limits.preset = Some(preset.name.clone());
            connection.spawn(spawn.request(std::env::vars_os().collect())?)?
        }
    };
    context.confirm(&spawned, super::spawn::print_spawned)
}

/// Waits until a preset with a readiness check is ready; the others are as soon as they run.
fn until_ready(
    context: &mut Context,
    connection: &mut Connection,
    list: &PresetList,
    preset: &str,
    timeout_ms: u64,
) -> Result<(), CliError> {
    if find(list, preset)?.ready.is_none() {
        return Ok(());
    }
    let Some(entry) = entry_of(connection, list, preset)? else { return Ok(()) };
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
    client::reconnecting::wait(context.address()?, wait)
        .map_err(|error| late(error, &entry.name.to_string(), timeout_ms))?;
    if context.json { Ok(()) } else { context.print_status(&format!("{} is ready", entry.name)) }
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
        let error = with_those_before(&list(&[("a", &["gone"])]), &[]).unwrap_err().to_string();
        assert!(error.contains("gone"), "{error}");
    }
}
