//! `hook`, `agents`, `check_manifest` and `sample`: requests of agents and of people who write manifests.
//!
//! A lifecycle event is accepted only from a process inside an agent's own run: a stray one would make
//! another agent look busy.

use engine::input::HookNotice;
use engine::{Caller, Command, CommandAnswer, Input, RunFact, Verb};
use proto::observed::HookMoment;
use proto::reply::{HookAnswer, ManifestChecked, SampleTaken};
use proto::request::{AskAgents, CheckManifest, Hook, Sample};
use proto::{ErrorCode, Failure, Reply};

use ::agents::hook;

use super::connection::Client;
use super::dispatch::{locate, unexpected};
use super::read::hosted;
use super::trust::{own_project, path_of};
use crate::log::RateLimited;

/// Largest manifest that is checked.
const MAX_MANIFEST: usize = 256 * 1024;
/// Rate-limits warnings that any caller can cause in a loop.
static OUTSIDE: RateLimited = RateLimited::new();
static NO_AGENT: RateLimited = RateLimited::new();

/// Passes a lifecycle event to the engine and answers with what the agent is to do. A permission request that
/// waits for a person is answered when that person has answered.
pub(super) async fn hook(client: &Client, request: Hook) -> Result<Reply, Failure> {
    let Caller::Process(run) = client.caller() else {
        if let Some(more) = OUTSIDE.is_due() {
            tracing::warn!(caller = ?client.caller(), more, "a hook from outside of every agent was refused");
        }
        return Err(refused());
    };
    let Some(agent_run) = client.door.agents.find(run) else {
        if let Some(more) = NO_AGENT.is_due() {
            tracing::warn!(?run, more, "a hook from a process that is no agent was refused");
        }
        return Err(refused());
    };
    let manifest = agent_run.manifest();
    let reading = hook::read(&manifest, request.event.as_deref(), &request.payload);
    // A subagent's permission request waits for the same person as the agent's own; its other events do not
    // concern the agent.
    if reading.is_child && !matches!(reading.moment, HookMoment::PermissionAsked { .. }) {
        return Ok(nothing());
    }
    let session = reading.session.as_deref().filter(|session| agent_run.pin_session(session));
    if let Some(session) = session {
        let fact = RunFact::Session(session.to_owned());
        // The receiver is gone only when the daemon is ending.
        drop(client.door.engine.facts.send(Input::Fact { run, fact }).await);
    }
    client.door.agents.hook_reported(&agent_run, &reading, session.is_some());
    let notice = HookNotice { evidence: reading.evidence.clone(), moment: reading.moment.clone() };
    let decision = match client.ask(Command::Hook(Box::new(notice))).await? {
        CommandAnswer::Hook(decision) => decision,
        CommandAnswer::Reply(_)
        | CommandAnswer::Located(_)
        | CommandAnswer::CallerIdentity(_)
        | CommandAnswer::Tasks(_)
        | CommandAnswer::Listed { .. } => {
            return Err(unexpected("hook"));
        }
    };
    let output = hook::answer(&manifest, &reading, &decision);
    Ok(Reply::HookAnswer(HookAnswer { output }))
}

fn nothing() -> Reply {
    Reply::HookAnswer(HookAnswer::default())
}

fn refused() -> Failure {
    Failure::new(ErrorCode::Denied, "denied: only the program of a running agent may call a hook")
}

/// Lists the agents.
pub(super) async fn agents(client: &Client, request: AskAgents) -> Result<Reply, Failure> {
    let own = match client.caller() {
        Caller::Process(_) => own_project(client, "agents").await?.path,
        Caller::Person | Caller::Via(_) | Caller::Nobody => None,
    };
    let path = path_of(client, own, request.path);
    Ok(Reply::Agents(client.door.agents.list(path).await))
}

/// Checks a manifest.
pub(super) async fn check_manifest(request: CheckManifest) -> Result<Reply, Failure> {
    if request.text.len() > MAX_MANIFEST {
        return Err(Failure::invalid("text", format!("a manifest has at most {} KiB", MAX_MANIFEST / 1024)));
    }
    // Compiling patterns takes time, so it does not run on the async thread.
    let checked = crate::threads::run(move || check_with_recordings(&request)).await;
    let checked =
        checked.map_err(|error| Failure::new(ErrorCode::Internal, format!("checking failed: {error}")))?;
    Ok(Reply::Manifest(checked))
}

/// Checks a manifest for faults, and tries one without faults on the recordings that came with it.
fn check_with_recordings(request: &CheckManifest) -> ManifestChecked {
    let faults = ::agents::check(&request.name, &request.text);
    let files = vec![(request.name.clone(), request.text.clone())];
    let (catalogue, _) = ::agents::Catalogue::merged(&[::agents::Layer { origin: String::new(), files }]);
    let try_recordings = match catalogue.get(&request.name) {
        Some(manifest) if faults.is_empty() => {
            let recordings: Vec<(&str, &str)> =
                request.recordings.iter().map(|one| (one.name.as_str(), one.text.as_str())).collect();
            ::agents::try_recordings::try_on(manifest, &recordings)
        }
        Some(_) | None => ::agents::try_recordings::Trial::default(),
    };
    ManifestChecked { faults, disagreements: try_recordings.disagreements, unused: try_recordings.unused }
}

/// Records an agent's screen, masked, with the result of its manifest's rules.
pub(super) async fn sample(client: &Client, request: Sample) -> Result<Reply, Failure> {
    let located = locate(client, request.target, Verb::Read).await?;
    let handle = hosted(client, &located)?;
    handle.ready().await;
    let Some(agent_run) = client.door.agents.find(located.run) else {
        let message = format!("{} is no agent: only an agent's screen has rules", located.name);
        return Err(Failure::new(ErrorCode::WrongKind, message));
    };
    let internal = |why: String| Failure::new(ErrorCode::Internal, format!("nothing was recorded: {why}"));
    let recorded = crate::threads::run(move || {
        let (manifest, version) = (agent_run.manifest(), agent_run.version().unwrap_or_default());
        let screen = handle.screen();
        let recorded = ::agents::sample::RecordedScreen::record(&manifest, &version, &screen, request.state);
        recorded.map(|(sample, masked)| (manifest.name.clone(), sample, masked))
    })
    .await;
    let (name, sample, masked) = recorded
        .map_err(|error| internal(error.to_string()))?
        .map_err(|error| internal(error.to_string()))?;
    let file = format!("{name}-{}.sample", sample.header.expect.state);
    Ok(Reply::Sample(SampleTaken { file, text: sample.to_string(), masked }))
}
