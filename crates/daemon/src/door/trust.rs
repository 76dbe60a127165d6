//! `presets` and `trust`: what a project keeps, and what of it agents may start.
//!
//! Owns finding the project a caller means. Refuses trusting by name: what is trusted is what the files say at that
//! moment, by its digest; and refuses a process another project than its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::{Answer, Caller, CallerStanding, Command, Warrant};
use proto::crew::{PresetList, TrustView};
use proto::request::{Presets, Trust, TrustWhat};
use proto::{ErrorCode, Failure, Kind, Printable, Reply};

use super::audit;
use super::connection::Client;
use super::dispatch::unexpected;
use crate::agents::Agents;
use crate::presets::{Preset, Shelf};
use crate::project::{self, Site};
use crate::warrant::{self, Deed};

/// Where a caller stands.
pub(super) struct Standing {
    pub(super) site: Site,
    /// What it is called.
    pub(super) name: String,
    /// The search path of its process; none for people, who say theirs.
    pub(super) path: Option<String>,
    /// The shell of its process.
    pub(super) shell: Option<String>,
}

/// The project a caller means. A process has one of its own and no other.
pub(super) async fn standing(
    client: &Client,
    verb: &'static str,
    dir: Option<String>,
) -> Result<Standing, Failure> {
    match client.caller {
        Caller::Nobody => Err(audit::turn_away(client, verb).await),
        Caller::Human | Caller::Via(_) => {
            let dir = dir.unwrap_or_else(own_home);
            let site = blocking(move || site_of("project", &dir)).await?;
            Ok(Standing { site, name: "human".to_owned(), path: None, shell: None })
        }
        Caller::Process(_) => {
            let own = own_standing(client, verb).await?;
            if let Some(dir) = dir
                && blocking(move || site_of("project", &dir)).await?.project.key != own.site.project.key
            {
                audit::refused(client, verb, ErrorCode::NotRelated, "another project").await;
                let message = format!("{verb}: a process has its own project only");
                return Err(Failure::new(ErrorCode::NotRelated, message).hint("leave project out"));
            }
            Ok(own)
        }
    }
}

/// What a process is called and which project it works in.
pub(super) async fn own_standing(client: &Client, verb: &'static str) -> Result<Standing, Failure> {
    let CallerStanding { identity, path, shell } =
        match client.door.desk.ask(client.caller, Command::Standing(verb)).await? {
            Answer::Standing(standing) => *standing,
            Answer::Reply(_) | Answer::Located(_) | Answer::Hook(_) | Answer::Listed { .. } => {
                return Err(unexpected(verb));
            }
        };
    let view = identity.process.ok_or_else(|| unexpected(verb))?;
    let name = view.name.to_string();
    if identity.project.key.is_empty() {
        // Its record is from before projects were known.
        let site = blocking(move || site_of("project", &view.cwd)).await?;
        return Ok(Standing { site, name, path, shell });
    }
    Ok(Standing { site: Site::recorded(identity.project), name, path, shell })
}

/// The project of a directory that somebody named.
pub(super) fn site_of(field: &str, dir: &str) -> Result<Site, Failure> {
    if !dir.starts_with('/') || dir.contains('\0') {
        return Err(Failure::invalid(field, "a directory is an absolute path"));
    }
    Site::of(Path::new(dir)).map_err(|error| project::gone(dir, &error))
}

/// Where the daemon's user is at home.
pub(super) fn own_home() -> String {
    std::env::var("HOME").ok().filter(|home| home.starts_with('/')).unwrap_or_else(|| "/".to_owned())
}

/// The search path of programs that nobody's own path is known for.
pub(super) fn own_path() -> Option<String> {
    std::env::var("PATH").ok()
}

/// Runs what reads the disk where waiting harms nobody.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = crate::threads::run(work).await;
    done.map_err(|error| Failure::new(ErrorCode::Internal, format!("it was not done: {error}")))?
}

/// Everything that people trust.
pub(super) async fn ledger(client: &Client) -> Result<Vec<TrustView>, Failure> {
    match client.door.desk.ask(Caller::Human, Command::Trusted).await? {
        Answer::Reply(Reply::Trusted(all)) => Ok(all),
        Answer::Reply(_)
        | Answer::Located(_)
        | Answer::Hook(_)
        | Answer::Standing(_)
        | Answer::Listed { .. } => Err(unexpected("trusted")),
    }
}

/// Which presets there are.
pub(super) async fn presets(client: &Client, wish: Presets) -> Result<Reply, Failure> {
    let Standing { site, path, .. } = standing(client, "presets", wish.project).await?;
    let path = path_of(client, path, wish.path);
    let trusted = ledger(client).await?;
    let config = client.door.places.config.clone();
    blocking(move || Ok(Reply::Presets(list(&site, &config, &trusted, path.as_deref())))).await
}

/// The search path by which a caller's programs are found: a person says theirs, a process has its own.
pub(super) fn path_of(client: &Client, own: Option<String>, said: Option<String>) -> Option<String> {
    let said = said.filter(|_| client.caller.is_person());
    said.or(own).or_else(own_path)
}

fn list(site: &Site, config: &Path, trusted: &[TrustView], path: Option<&str>) -> PresetList {
    let mut shelf = Shelf::read(site, config);
    let mut presets = Vec::new();
    for preset in shelf.presets.values() {
        let drawn = draw(preset, site, path);
        let is_known = |digest: &str| trusted.iter().any(|trust| trust.digest == digest);
        let is_trusted = drawn.as_ref().is_ok_and(|(_, warrant)| is_known(&warrant.digest));
        let cwd = match drawn {
            Ok((cwd, _)) => cwd,
            Err(failure) => {
                // It is listed all the same: it may be started once what is missing is there.
                shelf.faults.push(format!("preset {}: {}", preset.name, failure.message));
                let dir = site.dir.join(preset.working_dir.as_deref().unwrap_or("."));
                dir.display().to_string()
            }
        };
        presets.push(preset.view(cwd, is_trusted));
    }
    PresetList { project: site.project.clone(), presets, faults: shelf.faults }
}

/// Where a preset runs, and its warrant.
pub(super) fn draw(preset: &Preset, site: &Site, path: Option<&str>) -> Result<(String, Warrant), Failure> {
    let cwd = preset.directory(site)?;
    let deed = Deed {
        site,
        kind: Kind::Command,
        argv: &preset.argv,
        cwd: &cwd,
        env: &preset.env,
        preset: Some(preset),
        auto_restart: preset.auto_restart,
        grants_leave: false,
        manifest: None,
        from: None,
    };
    let (warrant, _) = warrant::draw(&deed, path)?;
    Ok((cwd, warrant))
}

/// Trusts a preset, an agent's manifest or the project's list of commands, as it is now. Only people do.
pub(super) async fn trust(client: &Client, wish: Trust) -> Result<Reply, Failure> {
    let warrant = match client.caller {
        Caller::Human | Caller::Via(_) => {
            let (config, agents) = (client.door.places.config.clone(), client.door.agents.clone());
            blocking(move || meant(wish, config, &agents)).await?
        }
        // The engine refuses it and writes that down; there is nothing in it to be trusted.
        Caller::Process(_) | Caller::Nobody => Warrant::default(),
    };
    match client.door.desk.ask(client.caller, Command::Trust(Box::new(warrant))).await? {
        Answer::Reply(reply) => Ok(reply),
        Answer::Located(_) | Answer::Hook(_) | Answer::Standing(_) | Answer::Listed { .. } => {
            Err(unexpected("trust"))
        }
    }
}

/// The manifest of an agent as a person trusts it for a project.
fn manifest_warrant(
    name: String,
    site: &Site,
    agents: &Agents,
    path: Option<&str>,
) -> Result<Warrant, Failure> {
    let Some(manifest) = agents.foreign_manifest(&name, &site.dir) else {
        let is_known = agents.shelf(Some(&site.dir)).catalogue.get(&name).is_some();
        return Err(if is_known {
            Failure::invalid("agent", "its manifest is built in: processes start it without being trusted")
        } else {
            Failure::new(ErrorCode::NotFound, format!("there is no agent {}", Printable(&name)))
                .hint("qd agents lists them")
        });
    };
    let deed = Deed {
        site,
        kind: Kind::Agent,
        argv: &[name],
        cwd: &site.project.path,
        env: &BTreeMap::new(),
        preset: None,
        auto_restart: false,
        grants_leave: false,
        manifest: Some(&manifest),
        from: None,
    };
    Ok(warrant::draw(&deed, path)?.0)
}

fn meant(wish: Trust, config: PathBuf, agents: &Agents) -> Result<Warrant, Failure> {
    let site = site_of("project", &wish.project.unwrap_or_else(own_home))?;
    let shelf = Shelf::read(&site, &config);
    let path = wish.path.or_else(own_path);
    match wish.what {
        TrustWhat::Preset(name) => Ok(draw(shelf.find(&name)?, &site, path.as_deref())?.1),
        TrustWhat::Agent(name) => manifest_warrant(name, &site, agents, path.as_deref()),
        TrustWhat::Policy(_) => {
            if shelf.policy.is_empty() {
                let failure =
                    Failure::new(ErrorCode::NotFound, "the project lists no commands to be trusted");
                return Err(match shelf.faults.first() {
                    Some(fault) => failure.hint(format!("something does not read: {fault}")),
                    None => failure.hint("[policy] free = \"allow\", allow = [[\"cargo\", \"test\"]]"),
                });
            }
            let digest = shelf.policy.digest(&site, path.as_deref());
            let (command, project) = (shelf.policy.command(), site.project);
            Ok(Warrant { digest, command, project, ..Warrant::default() })
        }
    }
}
