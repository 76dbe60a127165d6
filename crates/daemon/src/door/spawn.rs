//! `spawn`: from what was asked to an order with everything in it that only the disk knows.
//!
//! Owns putting a preset's words into a spawn, the project it is for, and the warrant for what a process wants started.
//! Refuses an environment that a process brings along: what it wants to be different it declares, where a person sees it.

use std::path::{Path, PathBuf};

use engine::{Answer, Caller, Command, Rule, SpawnOrder, Warrant};
use proto::crew::Project;
use proto::environment::from_hex;
use proto::request::{OnTimeout, Spawn};
use proto::{Failure, Kind, Reply};

use super::connection::Client;
use super::dispatch::unexpected;
use super::trust::{blocking, own_home, own_path, own_standing, site_of};
use crate::policy::Free;
use crate::presets::{Preset, Shelf};
use crate::project::{self, Site};
use crate::settings::SpawnSettings;
use crate::warrant::{self, Deed};

/// Starts a process.
pub(super) async fn spawn(client: &Client, spawn: Spawn) -> Result<Reply, Failure> {
    let config = client.door.places.config.clone();
    let order = match client.caller {
        // The engine refuses it.
        Caller::Nobody => SpawnOrder::from(spawn),
        Caller::Human | Caller::Via(_) => {
            let (places, agents) = (std::sync::Arc::clone(&client.door.places), client.door.agents.clone());
            let own = move |spawn| without_dropped(own_rights(spawn, &places), &agents.settings().spawn);
            blocking(move || persons(own(spawn), &config)).await?
        }
        Caller::Process(_) => processes(client, spawn, config).await?,
    };
    match client.door.desk.ask(client.caller, Command::Spawn(Box::new(order))).await? {
        Answer::Reply(reply) => Ok(reply),
        Answer::Located(_) | Answer::Hook(_) | Answer::Standing(_) | Answer::Listed { .. } => {
            Err(unexpected("spawn"))
        }
    }
}

/// What the person's settings say of terminals that say nothing themselves.
fn own_rights(mut spawn: Spawn, places: &proto::Places) -> Spawn {
    if spawn.kind == Kind::Terminal && spawn.as_me.is_none() {
        spawn.as_me = Some(crate::settings::terminals_act_for_people(places));
    }
    spawn
}

/// Leaves out what the user's settings keep from every process.
fn without_dropped(mut spawn: Spawn, settings: &SpawnSettings) -> Spawn {
    if let Some(env) = &mut spawn.base_env {
        env.retain(|name, _| !settings.drops(name));
    }
    let is_dropped = |name: &str| from_hex(name).is_none_or(|name| settings.drops(&name.to_string_lossy()));
    spawn.base_env_hex.retain(|name, _| !is_dropped(name));
    spawn
}

/// What a person wants started. Their word needs no warrant, and what they say beside a preset wins over it.
fn persons(mut spawn: Spawn, config: &Path) -> Result<SpawnOrder, Failure> {
    let dir = spawn.cwd.clone().unwrap_or_else(own_home);
    let Some(name) = spawn.preset.clone() else {
        // A directory that is not there is told by whoever starts the child, in the words it has always had.
        let project = Site::of(Path::new(&dir)).map_or_else(|_| Project::default(), |site| site.project);
        return Ok(SpawnOrder { spawn, project, warrant: None });
    };
    if spawn.kind == Kind::Agent {
        return Err(Failure::invalid("preset", "a preset is a command: leave kind out"));
    }
    let site = site_of("cwd", &dir)?;
    let shelf = Shelf::read(&site, config);
    lay_under(&mut spawn, shelf.find(&name)?, &site)?;
    Ok(SpawnOrder { spawn, project: site.project, warrant: None })
}

/// Puts a preset's words where the spawn has none. Where the caller stands only says which project is meant.
fn lay_under(spawn: &mut Spawn, preset: &Preset, site: &Site) -> Result<(), Failure> {
    if spawn.argv.is_empty() {
        spawn.argv.clone_from(&preset.argv);
    }
    for (name, value) in &preset.env {
        spawn.env.entry(name.clone()).or_insert_with(|| value.clone());
    }
    spawn.cwd = Some(preset.directory(site)?);
    let is_command = spawn.kind == Kind::Command;
    spawn.auto_restart |= preset.auto_restart && is_command;
    spawn.restore |= preset.restore && is_command;
    spawn.ready = spawn.ready.take().or_else(|| preset.ready.clone());
    spawn.stop = spawn.stop.or(preset.stop);
    Ok(())
}

/// What a process wants started.
async fn processes(client: &Client, mut spawn: Spawn, config: PathBuf) -> Result<SpawnOrder, Failure> {
    let own = own_standing(client, "spawn").await?;
    if spawn.cwd.is_none() {
        if spawn.task.is_some() {
            return Err(Failure::invalid("cwd", "a process says where a task's command runs"));
        }
        spawn.cwd = Some(own.site.project.path);
    }
    if spawn.kind == Kind::Terminal && spawn.argv.is_empty() {
        spawn.argv = vec![own.shell.filter(|shell| shell.starts_with('/')).unwrap_or_else(own_shell)];
    }
    let path = own.path.or_else(own_path);
    blocking(move || judged(spawn, &config, path.as_deref())).await
}

/// Judges what a process wants; `path` is the search path of what is started.
fn judged(mut spawn: Spawn, config: &Path, path: Option<&str>) -> Result<SpawnOrder, Failure> {
    spawn.base_env = None;
    if spawn.as_me == Some(false) {
        spawn.as_me = None;
    }
    spawn.base_env_hex.clear();
    let dir = spawn.cwd.clone().unwrap_or_default();
    let site = site_of("cwd", &dir)?;
    let shelf = Shelf::read(&site, config);
    let preset = match spawn.preset.clone() {
        Some(name) => {
            refuse_words_beside(&spawn)?;
            let preset = shelf.find(&name)?;
            lay_under(&mut spawn, preset, &site)?;
            Some(preset)
        }
        None => {
            // What is judged is what runs: a link that is turned elsewhere meanwhile leads nowhere new.
            spawn.cwd = Some(project::real("cwd", Path::new(&dir))?);
            None
        }
    };
    if spawn.kind == Kind::Terminal && spawn.argv.is_empty() {
        spawn.argv = vec![own_shell()];
    }
    let is_bare = spawn.argv.first().is_none_or(String::is_empty);
    if is_bare || is_plain_agent(&spawn) {
        // An order without a program is refused by the engine.
        return Ok(SpawnOrder { spawn, project: site.project, warrant: None });
    }
    let warrant = draw(&spawn, preset, (&site, &shelf), path)?;
    Ok(SpawnOrder { spawn, project: site.project, warrant: Some(warrant) })
}

fn draw(
    spawn: &Spawn,
    preset: Option<&Preset>,
    (site, shelf): (&Site, &Shelf),
    path: Option<&str>,
) -> Result<Warrant, Failure> {
    let deed = Deed {
        site,
        kind: spawn.kind,
        argv: &spawn.argv,
        cwd: spawn.cwd.as_deref().unwrap_or("/"),
        env: &spawn.env,
        preset,
        auto_restart: spawn.auto_restart,
        grants_leave: grants_leave(spawn),
    };
    let (mut warrant, program) = warrant::draw(&deed, path)?;
    if preset.is_none() && shelf.policy.free == Free::Deny {
        warrant.rule = Rule::Deny;
    }
    let is_listed = program.is_some_and(|program| shelf.policy.covers(&deed, &program));
    // Whether a person trusts the list as it stands, the engine knows.
    warrant.listed = is_listed.then(|| shelf.policy.digest(site, path));
    Ok(warrant)
}

/// A preset that a process starts is started as it is: a person trusted exactly that.
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
        Some((field, _)) => Err(Failure::invalid(field, "a process starts a preset as it is")
            .hint("give name only, or start a command of your own")),
        None => Ok(()),
    }
}

/// An agent as its manifest has it, which needs nobody's leave.
fn is_plain_agent(spawn: &Spawn) -> bool {
    spawn.kind == Kind::Agent && spawn.argv.len() == 1 && spawn.env.is_empty() && !grants_leave(spawn)
}

/// Whether requests for leave of an agent are granted when nobody answers them.
fn grants_leave(spawn: &Spawn) -> bool {
    spawn.agent.permissions.is_some_and(|desk| desk.on_timeout == OnTimeout::Allow)
}

/// What a terminal runs that names nothing, when nobody knows the caller's shell.
fn own_shell() -> String {
    std::env::var("SHELL").ok().filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".to_owned())
}

#[cfg(test)]
mod tests;
