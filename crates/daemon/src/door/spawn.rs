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
use crate::agents::ForeignManifest;
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
        spawn.cwd = Some(own.site.project.path.clone());
    }
    if spawn.kind == Kind::Terminal && spawn.argv.is_empty() {
        spawn.argv = vec![own.shell.filter(|shell| shell.starts_with('/')).unwrap_or_else(own_shell)];
    }
    let path = own.path.or_else(own_path);
    let agents = client.door.agents.clone();
    blocking(move || {
        let manifest = |name: &str, cwd: &Path| agents.foreign_manifest(name, cwd);
        judged(spawn, &Asker { own: &own.site, config: &config, path: path.as_deref(), manifest: &manifest })
    })
    .await
}

/// What a process's spawn is judged by.
struct Asker<'a> {
    /// The project of the process.
    own: &'a Site,
    config: &'a Path,
    /// The search path of what is started.
    path: Option<&'a str>,
    /// Finds a manifest that is not built in, by its name and the agent's directory.
    manifest: &'a dyn Fn(&str, &Path) -> Option<ForeignManifest>,
}

/// Judges what a process wants. In another project than its own it needs a person's word for exactly that: neither the
/// trust of its own project nor that of the other one counts, and the rules of both do.
fn judged(mut spawn: Spawn, asker: &Asker<'_>) -> Result<SpawnOrder, Failure> {
    spawn.base_env = None;
    if spawn.as_me == Some(false) {
        spawn.as_me = None;
    }
    spawn.base_env_hex.clear();
    let dir = spawn.cwd.clone().unwrap_or_default();
    site_of("cwd", &dir)?;
    // What is judged is what runs: a link that is turned elsewhere meanwhile leads nowhere new, to no other project either.
    let dir = project::real("cwd", Path::new(&dir))?;
    let site = site_of("cwd", &dir)?;
    let shelf = Shelf::read(&site, asker.config);
    let preset = match spawn.preset.clone() {
        Some(name) => {
            refuse_words_beside(&spawn)?;
            let preset = shelf.find(&name)?;
            lay_under(&mut spawn, preset, &site)?;
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
    let is_elsewhere = is_elsewhere(asker.own, &site);
    if name.is_empty() || (is_plain_agent(&spawn) && manifest.is_none() && !is_elsewhere) {
        // An order without a program is refused by the engine.
        return Ok(SpawnOrder { spawn, project: site.project, warrant: None });
    }
    let found = Found { site: &site, shelf: &shelf, preset, manifest: manifest.as_ref(), is_elsewhere };
    let warrant = draw(&spawn, &found, asker)?;
    Ok(SpawnOrder { spawn, project: site.project, warrant: Some(warrant) })
}

/// Whether a directory belongs to another project than a process's own. Below the process's own project a directory
/// without a mark of its own is part of it.
fn is_elsewhere(own: &Site, site: &Site) -> bool {
    let is_part = site.dir.starts_with(&own.dir) && !project::is_marked(&site.dir);
    site.project.key != own.project.key && !is_part
}

/// What was found on the disk about a spawn.
struct Found<'a> {
    site: &'a Site,
    shelf: &'a Shelf,
    preset: Option<&'a Preset>,
    manifest: Option<&'a ForeignManifest>,
    /// It is not in the asker's own project.
    is_elsewhere: bool,
}

fn draw(spawn: &Spawn, found: &Found<'_>, asker: &Asker<'_>) -> Result<Warrant, Failure> {
    let Found { site, shelf, preset, manifest, is_elsewhere } = *found;
    let deed = Deed {
        site,
        kind: spawn.kind,
        argv: &spawn.argv,
        cwd: spawn.cwd.as_deref().unwrap_or("/"),
        env: &spawn.env,
        preset,
        auto_restart: spawn.auto_restart,
        grants_leave: grants_leave(spawn),
        manifest,
        from: is_elsewhere.then_some(asker.own),
    };
    let (mut warrant, program) = warrant::draw(&deed, asker.path)?;
    let denies = |shelf: &Shelf| shelf.policy.free == Free::Deny;
    let is_free = preset.is_none() && !is_plain_agent(spawn);
    if is_free && (denies(shelf) || (is_elsewhere && denies(&Shelf::read(asker.own, asker.config)))) {
        warrant.rule = Rule::Deny;
    }
    let is_listed = !is_elsewhere && program.is_some_and(|program| shelf.policy.covers(&deed, &program));
    // Whether a person trusts the list as it stands, the engine knows.
    warrant.listed = is_listed.then(|| shelf.policy.digest(site, asker.path));
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

/// An agent as its manifest has it, which needs nobody's leave if that manifest is built in.
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
