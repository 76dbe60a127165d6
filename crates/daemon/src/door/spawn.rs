//! `spawn`: turns a request into an order with everything that only the disk knows: the preset's fields, the
//! project, and the trust subject for what a process wants to start.
//!
//! A process cannot bring its environment: it must declare what differs, where a person sees it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::{Caller, Command, CommandAnswer, Rule, SpawnOrder, TaskCommand, TrustSubject, Verb};
use proto::inherited_variables::from_hex;
use proto::project::Project;
use proto::request::{Offer, Spawn};
use proto::{ErrorCode, Failure, Kind, Reply};

use super::audit;
use super::connection::Client;
use super::dispatch::unexpected;
use super::trust::{blocking, own_home, own_path, own_project, project_dir_of};
use crate::agents::ForeignManifest;
use crate::policy::CommandRule;
use crate::presets::{Preset, PresetSet};
use crate::project::{self, ProjectDir};
use crate::settings::SpawnSettings;
use crate::trust_subject::{self, LaunchSpec};

/// Starts a process.
pub(super) async fn spawn(client: &Client, mut spawn: Spawn) -> Result<Reply, Failure> {
    if let (None, Some(task)) = (&spawn.cwd, &spawn.task) {
        spawn.cwd = task_directory(client, task.clone()).await?;
    }
    let config = client.door.dirs.config.clone();
    // The announcement is kept until the answer: a start that does not come lets the holder go that was forked for it.
    let (_announced, order) = match client.caller() {
        // The engine refuses it.
        Caller::Nobody => (None, SpawnOrder::from(spawn)),
        Caller::Person | Caller::Via(_) => {
            // Nothing is read for a connection that may start nothing, and what a limited one starts never
            // acts for the person.
            let is_limited = !client.principal.limit.is_none();
            if is_limited {
                audit::permit(client, Verb::Spawn).await?;
            }
            let (dirs, agents) = (std::sync::Arc::clone(&client.door.dirs), client.door.agents.clone());
            let launcher = std::sync::Arc::clone(&client.door.launcher);
            let own = move |spawn| {
                let spawn = if is_limited { spawn } else { own_rights(spawn, &dirs) };
                Ok(without_dropped(spawn, &agents.spawn_settings()?))
            };
            blocking(move || {
                let announced = launcher.announce();
                Ok((Some(announced), persons(own(spawn)?, &config)?))
            })
            .await?
        }
        Caller::Process(_) => (None, processes(client, spawn, config).await?),
    };
    // If descriptors were missing, the next start shall not lack those that are only kept to be fast.
    let asked = client.ask(Command::Spawn(Box::new(order))).await;
    match asked.inspect_err(|_| client.door.ancestors.clear())? {
        CommandAnswer::Reply(reply) => Ok(reply),
        CommandAnswer::Located(_)
        | CommandAnswer::Hook(_)
        | CommandAnswer::CallerIdentity(_)
        | CommandAnswer::Tasks(_)
        | CommandAnswer::Listed { .. } => Err(unexpected("spawn")),
    }
}

/// Removes from an offered environment what the user's settings keep from every process; only people offer one. Settings
/// that do not read keep everything from it.
pub(super) async fn check_offer(client: &Client, offer: &mut Offer) {
    if offer.base_env.is_none() {
        return;
    }
    let agents = client.door.agents.clone();
    let mut offered = std::mem::take(offer);
    if client.caller().is_person() {
        *offer = blocking(move || {
            let settings = agents.spawn_settings()?;
            remove_dropped(offered.base_env.as_mut(), &mut offered.base_env_hex, &settings);
            Ok(offered)
        })
        .await
        .unwrap_or_default();
    }
}

/// Returns the directory of a task, in which its processes start. The engine refuses a caller that nobody knows.
async fn task_directory(client: &Client, name: String) -> Result<Option<String>, Failure> {
    if client.caller() == Caller::Nobody {
        return Ok(None);
    }
    let command = TaskCommand::Find { name, verb: Verb::List };
    match client.door.tasks.ask_one(&client.principal, command).await {
        Ok(item) => Ok(Some(item.task.directory)),
        // The engine refuses the spawn, and says whether the task is in another workspace.
        Err(failure) if failure.code == ErrorCode::TaskNotFound && is_in_workspace(client) => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn is_in_workspace(client: &Client) -> bool {
    client.principal.limit.workspace.is_some()
}

/// Applies the person's settings to terminals that do not state their rights.
fn own_rights(mut spawn: Spawn, dirs: &proto::Dirs) -> Spawn {
    if spawn.kind == Kind::Terminal && spawn.as_me.is_none() {
        spawn.as_me = Some(crate::settings::terminals_act_for_people(dirs));
    }
    spawn
}

/// Removes the variables that the user's settings keep from every process.
fn without_dropped(mut spawn: Spawn, settings: &SpawnSettings) -> Spawn {
    remove_dropped(spawn.base_env.as_mut(), &mut spawn.base_env_hex, settings);
    spawn
}

fn remove_dropped(
    text: Option<&mut BTreeMap<String, String>>,
    hex: &mut BTreeMap<String, String>,
    settings: &SpawnSettings,
) {
    if let Some(text) = text {
        text.retain(|name, _| !settings.drops(name));
    }
    let is_dropped = |name: &str| from_hex(name).is_none_or(|name| settings.drops(&name.to_string_lossy()));
    hex.retain(|name, _| !is_dropped(name));
}

/// Returns the order for a person's spawn. It needs no trust subject, and the person's own fields override
/// the preset's.
fn persons(mut spawn: Spawn, config: &Path) -> Result<SpawnOrder, Failure> {
    let dir = spawn.cwd.clone().unwrap_or_else(own_home);
    let Some(name) = spawn.preset.clone() else {
        // The start of the child reports a missing directory.
        let project = ProjectDir::of(Path::new(&dir))
            .map_or_else(|_| Project::default(), |project_dir| project_dir.project);
        return Ok(SpawnOrder { spawn, project, trust_subject: None });
    };
    if spawn.kind == Kind::Agent {
        return Err(Failure::invalid("preset", "a preset is a command: leave kind out"));
    }
    let project_dir = project_dir_of("cwd", &dir)?;
    let preset_set = PresetSet::read(&project_dir, config);
    apply_preset(&mut spawn, preset_set.find(&name)?, &project_dir)?;
    Ok(SpawnOrder { spawn, project: project_dir.project, trust_subject: None })
}

/// Fills missing fields of the spawn from a preset. The caller's directory only determines the project.
fn apply_preset(spawn: &mut Spawn, preset: &Preset, project_dir: &ProjectDir) -> Result<(), Failure> {
    if spawn.argv.is_empty() {
        spawn.argv.clone_from(&preset.command.argv);
    }
    for (name, value) in &preset.command.env {
        spawn.env.entry(name.clone()).or_insert_with(|| value.clone());
    }
    spawn.cwd = Some(preset.directory(project_dir)?);
    let is_command = spawn.kind == Kind::Command;
    spawn.auto_restart |= preset.command.auto_restart && is_command;
    spawn.restore |= preset.command.restore && is_command;
    spawn.ready = spawn.ready.take().or_else(|| preset.command.ready.clone());
    spawn.stop = spawn.stop.or(preset.command.stop);
    Ok(())
}

/// Returns the order for a process's spawn.
async fn processes(client: &Client, mut spawn: Spawn, config: PathBuf) -> Result<SpawnOrder, Failure> {
    let own = own_project(client, "spawn").await?;
    if spawn.cwd.is_none() {
        spawn.cwd = Some(own.project_dir.project.path.clone());
    }
    if spawn.kind == Kind::Terminal && spawn.argv.is_empty() {
        spawn.argv = vec![own.shell.filter(|shell| shell.starts_with('/')).unwrap_or_else(own_shell)];
    }
    let path = own.path.or_else(own_path);
    let agents = client.door.agents.clone();
    blocking(move || {
        let manifest = |name: &str, cwd: &Path| agents.foreign_manifest(name, cwd);
        judged(
            spawn,
            &Asker { own: &own.project_dir, config: &config, path: path.as_deref(), manifest: &manifest },
        )
    })
    .await
}

/// What a process's spawn is judged by.
struct Asker<'a> {
    /// The project of the process.
    own: &'a ProjectDir,
    config: &'a Path,
    /// The search path of what is started.
    path: Option<&'a str>,
    /// Finds a manifest that is not built in, by its name and the agent's directory.
    manifest: &'a dyn Fn(&str, &Path) -> Option<ForeignManifest>,
}

/// Judges a process's spawn. In another project than its own it needs a person's approval for exactly that:
/// neither the trust of its own project nor that of the other one counts, and the rules of both do.
fn judged(mut spawn: Spawn, asker: &Asker<'_>) -> Result<SpawnOrder, Failure> {
    spawn.base_env = None;
    if spawn.as_me == Some(false) {
        spawn.as_me = None;
    }
    spawn.base_env_hex.clear();
    let dir = spawn.cwd.clone().unwrap_or_default();
    project_dir_of("cwd", &dir)?;
    // The judged directory is the one that is used: a link that changes meanwhile has no effect.
    let dir = project::real("cwd", Path::new(&dir))?;
    let project_dir = project_dir_of("cwd", &dir)?;
    let preset_set = PresetSet::read(&project_dir, asker.config);
    let preset = match spawn.preset.clone() {
        Some(name) => {
            refuse_words_beside(&spawn)?;
            let preset = preset_set.find(&name)?;
            apply_preset(&mut spawn, preset, &project_dir)?;
            Some(preset)
        }
        None => {
            spawn.cwd = Some(dir);
            None
        }
    };
    if spawn.kind == Kind::Terminal && spawn.argv.is_empty() {
        spawn.argv = vec![own_shell()];
    }
    let name = spawn.argv.first().map_or("", String::as_str);
    let is_agent = spawn.kind == Kind::Agent;
    let cwd = Path::new(spawn.cwd.as_deref().unwrap_or("/"));
    let manifest = if is_agent { (asker.manifest)(name, cwd) } else { None };
    let is_elsewhere = is_elsewhere(asker.own, &project_dir);
    if name.is_empty() || (spawn.is_plain_agent() && manifest.is_none() && !is_elsewhere) {
        // The engine refuses an order without a program.
        return Ok(SpawnOrder { spawn, project: project_dir.project, trust_subject: None });
    }
    let found = Found {
        project_dir: &project_dir,
        preset_set: &preset_set,
        preset,
        manifest: manifest.as_ref(),
        is_elsewhere,
    };
    let trust_subject = draw(&spawn, &found, asker)?;
    Ok(SpawnOrder { spawn, project: project_dir.project, trust_subject: Some(trust_subject) })
}

/// Returns true if a directory belongs to another project than the process's own. Below the process's own
/// project, a directory without a mark of its own is part of it.
fn is_elsewhere(own: &ProjectDir, project_dir: &ProjectDir) -> bool {
    let is_part = project_dir.dir.starts_with(&own.dir) && !project::is_marked(&project_dir.dir);
    project_dir.project.key != own.project.key && !is_part
}

/// What was found on the disk about a spawn.
struct Found<'a> {
    project_dir: &'a ProjectDir,
    preset_set: &'a PresetSet,
    preset: Option<&'a Preset>,
    manifest: Option<&'a ForeignManifest>,
    /// It is not in the asker's own project.
    is_elsewhere: bool,
}

fn draw(spawn: &Spawn, found: &Found<'_>, asker: &Asker<'_>) -> Result<TrustSubject, Failure> {
    let Found { project_dir, preset_set, preset, manifest, is_elsewhere } = *found;
    let launch_spec = LaunchSpec {
        project_dir,
        kind: spawn.kind,
        argv: &spawn.argv,
        cwd: spawn.cwd.as_deref().unwrap_or("/"),
        env: &spawn.env,
        preset,
        auto_restart: spawn.auto_restart,
        allows_on_timeout: spawn.allows_on_timeout(),
        manifest,
        from: is_elsewhere.then_some(asker.own),
    };
    let (mut trust_subject, program) = trust_subject::draw(&launch_spec, asker.path)?;
    let denies = |preset_set: &PresetSet| preset_set.policy.free == CommandRule::Deny;
    let is_free = preset.is_none() && !spawn.is_plain_agent();
    if is_free && (denies(preset_set) || (is_elsewhere && denies(&PresetSet::read(asker.own, asker.config))))
    {
        trust_subject.rule = Rule::Deny;
    }
    let is_listed =
        !is_elsewhere && program.is_some_and(|program| preset_set.policy.covers(&launch_spec, &program));
    // The engine knows whether a person trusts the list as it is.
    trust_subject.listed = is_listed.then(|| preset_set.policy.digest(project_dir, asker.path));
    Ok(trust_subject)
}

/// Refuses changes to a preset that a process starts: a person trusted exactly the preset.
fn refuse_words_beside(spawn: &Spawn) -> Result<(), Failure> {
    let agent = &spawn.agent;
    let given = [
        ("kind", spawn.kind != Kind::Command),
        ("argv", !spawn.argv.is_empty()),
        ("env", !spawn.env.is_empty()),
        ("auto_restart", spawn.auto_restart),
        ("restore", spawn.restore),
        ("ready", spawn.ready.is_some()),
        ("idle_timeout_ms", spawn.idle_timeout_ms.is_some()),
        ("task", spawn.task.is_some()),
        ("workspace", spawn.workspace.is_some()),
        ("agent", agent.prompt.is_some() || agent.session.is_some() || agent.permissions.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((field, _)) => Err(Failure::invalid(field, "a process may start a preset only as it is")
            .hint("give a name and nothing else, or start a command of your own")),
        None => Ok(()),
    }
}

/// Returns the shell of a terminal without a command, when the caller's shell is unknown.
fn own_shell() -> String {
    std::env::var("SHELL").ok().filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".to_owned())
}

#[cfg(test)]
mod tests;
