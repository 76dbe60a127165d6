//! What a machine is driven with when a test drives it alone: a context with a few processes in it.

use proto::request::SizePolicy;
use proto::{Kind, Owner, ProcessId, Status, Stop};

use crate::agent::{Agent, AgentRecord};
use crate::context::Context;
use crate::input::{Launched, RunKey};
use crate::process::{Environment, Process, Spec};
use crate::{Config, Effect, Moment};

/// A context without processes, at one second after boot.
pub(crate) fn context() -> Context {
    let mut ctx = Context::new(Config::default());
    at(&mut ctx, 1_000);
    ctx
}

/// Moves the clock.
pub(crate) fn at(ctx: &mut Context, uptime_ms: u64) {
    ctx.out.now = Moment { uptime_ms, wall_ms: 1_000_000 + uptime_ms };
}

/// Adds a running process below `parent`.
pub(crate) fn add(ctx: &mut Context, name: &str, kind: Kind, parent: Option<RunKey>) -> RunKey {
    let spec = Spec {
        kind,
        parent: parent.map(|parent| parent.process),
        task: None,
        workspace: "local".to_owned(),
        argv: vec!["run".to_owned()],
        cwd: "/".to_owned(),
        environment: Environment::default(),
        policy: SizePolicy::Owner,
        auto_restart: false,
        idle_timeout_ms: None,
        project: proto::project::Project::default(),
        preset: None,
        key: None,
        restore: false,
        acts_for_person: false,
        ready: None,
        budget: None,
        stop: Stop::default(),
    };
    let number = u64::try_from(ctx.processes.len()).unwrap() + 1;
    let id = ProcessId::from_entropy(number);
    let mut process = Process::new(id, name.parse().unwrap(), Owner::User, spec);
    process.run.status = Status::Running;
    process.run.has_holder = true;
    let run = process.key();
    process.agent =
        (kind == Kind::Agent).then(|| Box::new(Agent::from_record(AgentRecord::default(), run, true, 0)));
    ctx.processes.insert(id, process);
    run
}

/// Adds a running agent that has been launched.
pub(crate) fn add_agent(ctx: &mut Context, name: &str) -> RunKey {
    let run = add(ctx, name, Kind::Agent, None);
    let agent = ctx.processes.agent_mut(run.process).unwrap();
    agent.live.launched = Some(Launched { confirms_prompts: true, ..Launched::default() });
    run
}

/// Takes the effects that were produced so far.
pub(crate) fn effects(ctx: &mut Context) -> Vec<Effect> {
    std::mem::take(&mut ctx.out.effects)
}
