//! `presets` and `trust`: a project's presets, and what agents may start.
//!
//! What is trusted is the content of the files at that moment, by its digest, never a name. A process may use
//! only its own project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::{Caller, CallerIdentity, Command, CommandAnswer, Principal, TrustSubject};
use proto::presets::PresetList;
use proto::request::{Presets, Trust, TrustWhat};
use proto::rights::PERSON;
use proto::trust::TrustView;
use proto::{ErrorCode, Failure, Kind, Printable, Reply, Role};

use super::audit;
use super::connection::Client;
use super::dispatch::unexpected;
use crate::agents::Agents;
use crate::presets::{Preset, PresetSet};
use crate::project::{self, ProjectDir};
use crate::trust_subject::{self, LaunchSpec};

/// A caller's project.
pub(super) struct CallerProject {
    pub(super) project_dir: ProjectDir,
    /// The caller's name.
    pub(super) name: String,
    /// The search path of its process; `None` for people, who send theirs.
    pub(super) path: Option<String>,
    /// The shell of its process.
    pub(super) shell: Option<String>,
}

/// Returns the project that a caller means. A process has only its own.
pub(super) async fn caller_project(
    client: &Client,
    verb: &'static str,
    dir: Option<String>,
    role: Role,
) -> Result<CallerProject, Failure> {
    match client.caller() {
        Caller::Nobody => Err(audit::turn_away(client, verb).await),
        Caller::Person | Caller::Via(_) => {
            let dir = dir.unwrap_or_else(own_home);
            permit_project(client, None, role, verb).await?;
            let project_dir = blocking(move || project_dir_of("project", &dir)).await?;
            permit_project(client, Some(&project_dir), role, verb).await?;
            Ok(CallerProject { project_dir, name: PERSON.to_owned(), path: None, shell: None })
        }
        Caller::Process(_) => {
            let own = own_project(client, verb).await?;
            if let Some(dir) = dir
                && blocking(move || project_dir_of("project", &dir)).await?.project.key
                    != own.project_dir.project.key
            {
                audit::refused(client, verb, ErrorCode::NotRelated, "another project").await;
                let message = format!("{verb}: a process may use only its own project");
                return Err(Failure::new(ErrorCode::NotRelated, message)
                    .hint("leave the project out: then it is your own"));
            }
            Ok(own)
        }
    }
}

/// Checks that a limited connection has a role, and that it may reach a project. Before it is known which
/// project that is, the role alone is checked, so that nothing is read for a connection that may not.
async fn permit_project(
    client: &Client,
    project_dir: Option<&ProjectDir>,
    role: Role,
    word: &'static str,
) -> Result<(), Failure> {
    if client.principal.limit.is_none() {
        return Ok(());
    }
    let project = project_dir.map(|project_dir| project_dir.project.key.clone());
    client.ask(Command::Project { project, role, word }).await.map(drop)
}

/// Returns a process's name and project.
pub(super) async fn own_project(client: &Client, verb: &'static str) -> Result<CallerProject, Failure> {
    let CallerIdentity { identity, path, shell } = match client.ask(Command::CallerIdentity(verb)).await? {
        CommandAnswer::CallerIdentity(found) => *found,
        CommandAnswer::Reply(_)
        | CommandAnswer::Located(_)
        | CommandAnswer::Hook(_)
        | CommandAnswer::Tasks(_)
        | CommandAnswer::Listed { .. } => {
            return Err(unexpected(verb));
        }
    };
    let view = identity.process.ok_or_else(|| unexpected(verb))?;
    let name = view.name.to_string();
    if identity.project.key.is_empty() {
        // Its record is from before projects were known.
        let project_dir = blocking(move || project_dir_of("project", &view.program.cwd)).await?;
        return Ok(CallerProject { project_dir, name, path, shell });
    }
    Ok(CallerProject { project_dir: ProjectDir::recorded(identity.project), name, path, shell })
}

/// Returns the project of a directory that a caller named.
pub(super) fn project_dir_of(field: &str, dir: &str) -> Result<ProjectDir, Failure> {
    if !dir.starts_with('/') || dir.contains('\0') {
        return Err(Failure::invalid(field, "a directory is an absolute path"));
    }
    ProjectDir::of(Path::new(dir)).map_err(|error| project::gone(dir, &error))
}

/// Returns the home directory of the daemon's user.
pub(super) fn own_home() -> String {
    std::env::var("HOME").ok().filter(|home| home.starts_with('/')).unwrap_or_else(|| "/".to_owned())
}

/// Returns the search path for callers whose own path is unknown.
pub(super) fn own_path() -> Option<String> {
    std::env::var("PATH").ok()
}

/// Runs work that reads the disk on a thread that may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = crate::threads::run(work).await;
    done.map_err(|error| Failure::new(ErrorCode::Internal, format!("it was not done: {error}")))?
}

/// Returns everything that people trust.
pub(super) async fn ledger(client: &Client) -> Result<Vec<TrustView>, Failure> {
    match client.door.engine.ask(Principal::unlimited(Caller::Person), Command::Trusted).await? {
        CommandAnswer::Reply(Reply::Trusted(all)) => Ok(all),
        CommandAnswer::Reply(_)
        | CommandAnswer::Located(_)
        | CommandAnswer::Hook(_)
        | CommandAnswer::CallerIdentity(_)
        | CommandAnswer::Tasks(_)
        | CommandAnswer::Listed { .. } => Err(unexpected("trusted")),
    }
}

/// Lists the presets.
pub(super) async fn presets(client: &Client, request: Presets) -> Result<Reply, Failure> {
    let CallerProject { project_dir, path, .. } =
        caller_project(client, "presets", request.project, Role::View).await?;
    let path = path_of(client, path, request.path);
    let trusted = ledger(client).await?;
    let config = client.door.dirs.config.clone();
    blocking(move || Ok(Reply::Presets(list(&project_dir, &config, &trusted, path.as_deref())))).await
}

/// Returns the search path for a caller's programs: a person sends theirs, a process has its own.
pub(super) fn path_of(client: &Client, own: Option<String>, requested: Option<String>) -> Option<String> {
    // A program of that path may be run to ask for its version, which is more than to look.
    let may_run = client.caller().is_person() && client.principal.limit.role >= Role::Type;
    requested.filter(|_| may_run).or(own).or_else(own_path)
}

fn list(project_dir: &ProjectDir, config: &Path, trusted: &[TrustView], path: Option<&str>) -> PresetList {
    let mut preset_set = PresetSet::read(project_dir, config);
    let mut presets = Vec::new();
    for preset in preset_set.presets.values() {
        let drawn = draw(preset, project_dir, path);
        let is_known = |digest: &str| trusted.iter().any(|trust| trust.digest == digest);
        let is_trusted = drawn.as_ref().is_ok_and(|(_, trust_subject)| is_known(&trust_subject.digest));
        let cwd = match drawn {
            Ok((cwd, _)) => cwd,
            Err(failure) => {
                // It is listed all the same: it can be started once what is missing is there.
                preset_set.faults.push(format!("preset {}: {}", preset.name, failure.message));
                let dir = project_dir.dir.join(preset.working_dir.as_deref().unwrap_or("."));
                dir.display().to_string()
            }
        };
        presets.push(preset.view(cwd, is_trusted));
    }
    PresetList { project: project_dir.project.clone(), presets, faults: preset_set.faults }
}

/// Returns the directory of a preset, and its trust subject.
pub(super) fn draw(
    preset: &Preset,
    project_dir: &ProjectDir,
    path: Option<&str>,
) -> Result<(String, TrustSubject), Failure> {
    let cwd = preset.directory(project_dir)?;
    let launch_spec = LaunchSpec {
        project_dir,
        kind: Kind::Command,
        argv: &preset.command.argv,
        cwd: &cwd,
        env: &preset.command.env,
        preset: Some(preset),
        auto_restart: preset.command.auto_restart,
        allows_on_timeout: false,
        manifest: None,
        from: None,
    };
    let (trust_subject, _) = trust_subject::draw(&launch_spec, path)?;
    Ok((cwd, trust_subject))
}

/// Trusts a preset, an agent's manifest or the project's list of commands, as it is now. Only people may.
pub(super) async fn trust(client: &Client, request: Trust) -> Result<Reply, Failure> {
    let trust_subject = match client.caller() {
        Caller::Person | Caller::Via(_) => {
            permit_project(client, None, Role::Admin, "trust").await?;
            let (config, agents) = (client.door.dirs.config.clone(), client.door.agents.clone());
            blocking(move || meant(request, config, &agents)).await?
        }
        // The engine refuses and audits it, so the subject is empty.
        Caller::Process(_) | Caller::Nobody => TrustSubject::default(),
    };
    match client.ask(Command::Trust(Box::new(trust_subject))).await? {
        CommandAnswer::Reply(reply) => Ok(reply),
        CommandAnswer::Located(_)
        | CommandAnswer::Hook(_)
        | CommandAnswer::CallerIdentity(_)
        | CommandAnswer::Tasks(_)
        | CommandAnswer::Listed { .. } => Err(unexpected("trust")),
    }
}

/// Returns the trust subject of an agent's manifest for a project.
fn manifest_subject(
    name: String,
    project_dir: &ProjectDir,
    agents: &Agents,
    path: Option<&str>,
) -> Result<TrustSubject, Failure> {
    let Some(manifest) = agents.foreign_manifest(&name, &project_dir.dir) else {
        let is_known = agents.manifest_set(Some(&project_dir.dir)).catalogue.get(&name).is_some();
        return Err(if is_known {
            Failure::invalid("agent", "its manifest is built in: processes may start it without your trust")
        } else {
            Failure::new(ErrorCode::NotFound, format!("there is no agent {}", Printable(&name)))
                .hint("qd agents lists them")
        });
    };
    let launch_spec = LaunchSpec {
        project_dir,
        kind: Kind::Agent,
        argv: &[name],
        cwd: &project_dir.project.path,
        env: &BTreeMap::new(),
        preset: None,
        auto_restart: false,
        allows_on_timeout: false,
        manifest: Some(&manifest),
        from: None,
    };
    Ok(trust_subject::draw(&launch_spec, path)?.0)
}

fn meant(request: Trust, config: PathBuf, agents: &Agents) -> Result<TrustSubject, Failure> {
    let project_dir = project_dir_of("project", &request.project.unwrap_or_else(own_home))?;
    let preset_set = PresetSet::read(&project_dir, &config);
    let path = request.path.or_else(own_path);
    match request.what {
        TrustWhat::Preset(name) => Ok(draw(preset_set.find(&name)?, &project_dir, path.as_deref())?.1),
        TrustWhat::Agent(name) => manifest_subject(name, &project_dir, agents, path.as_deref()),
        TrustWhat::Policy(_) => {
            if preset_set.policy.is_empty() {
                let failure =
                    Failure::new(ErrorCode::NotFound, "the project lists no commands to be trusted");
                return Err(match preset_set.faults.first() {
                    Some(fault) => failure.hint(format!("a file has a fault: {fault}")),
                    None => failure.hint("[policy] free = \"allow\", allow = [[\"cargo\", \"test\"]]"),
                });
            }
            let digest = preset_set.policy.digest(&project_dir, path.as_deref());
            let (command, project) = (preset_set.policy.command(), project_dir.project);
            Ok(TrustSubject { digest, command, project, ..TrustSubject::default() })
        }
    }
}
