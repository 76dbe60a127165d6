//! `viewers` and `detach`: who watches which process, and letting them go.

use proto::reply::ViewerView;
use proto::request::Detach;
use proto::request::Empty;
use proto::verb;
use proto::{ErrorCode, Failure, ProcessId, Reply, Role};

use super::{Asker, CommandResult, Decide, Needs};
use crate::Engine;
use crate::context::Context;
use crate::effect::{CommandAnswer, Effect};
use crate::input::{Caller, ViewerId};
use crate::outbox::quoted;
use crate::process::Process;
use crate::process::Processes;
use crate::rights::Verb;

impl Decide for verb::Viewers {
    type Order = Empty;
    const ROLE: Role = Role::View;
    const NEEDS: Needs = Needs::AtAll(Verb::List);

    fn decide(engine: &mut Engine, asker: Asker, _: Empty) -> CommandResult {
        let Asker { caller, .. } = asker;
        let seen = engine
            .ctx
            .processes
            .values()
            .filter(|process| engine.grants.may_do(caller, Verb::List, process, &engine.ctx));
        let mut views: Vec<ViewerView> = seen.flat_map(|process| viewers_of(process, &engine.ctx)).collect();
        views.sort_by_key(|view| (view.since, view.viewer));
        Ok(Some(CommandAnswer::Reply(Reply::Viewers(views))))
    }
}

impl Decide for verb::Detach {
    type Order = Detach;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::Checked;

    fn decide(engine: &mut Engine, asker: Asker, detach: Detach) -> CommandResult {
        let Asker { caller, .. } = asker;
        let watched =
            viewer_named(&detach.target.0).and_then(|viewer| engine.ctx.processes.watched_by(viewer));
        let watched = watched.filter(|(id, _)| engine.ctx.covers(*id));
        let (id, only) =
            match (engine.grants.find_id(caller, &detach.target, Verb::Drive, &engine.ctx), watched) {
                (Ok(id), _) => (id, None),
                (Err(failure), Some((id, viewer))) if failure.code == ErrorCode::NotFound => {
                    let target = id.to_string().as_str().into();
                    (engine.grants.find_id(caller, &target, Verb::Drive, &engine.ctx)?, Some(viewer))
                }
                (Err(failure), _) if failure.code == ErrorCode::NotFound => {
                    let message =
                        format!("no process and no viewer is called {}", proto::Printable(&detach.target.0));
                    return Err(
                        Failure::new(ErrorCode::NotFound, message).hint("qd viewers lists who watches what")
                    );
                }
                (Err(failure), _) => return Err(failure),
            };
        let process = engine.ctx.processes.find_known(id)?;
        let run = process.key();
        let mut views = viewers_of(process, &engine.ctx);
        views.retain(|view| only.is_none_or(|only| only.0 == view.viewer));
        let let_go = views.iter().map(|view| Effect::LetGo { run, viewer: ViewerId(view.viewer) });
        engine.ctx.out.effects.extend(let_go);
        Ok(Some(CommandAnswer::Reply(Reply::Viewers(views))))
    }
}

impl Processes {
    /// The process that a viewer watches.
    pub(crate) fn watched_by(&self, viewer: ViewerId) -> Option<(ProcessId, ViewerId)> {
        let watched = self.values().find(|process| process.run.viewers.attached.contains_key(&viewer))?;
        Some((watched.id, viewer))
    }
}

fn viewers_of(process: &Process, ctx: &Context) -> Vec<ViewerView> {
    let view = |(id, viewer): (&ViewerId, &crate::process::Viewer)| ViewerView {
        viewer: id.0,
        id: process.id,
        name: process.name.clone(),
        by: viewer.label.as_deref().map_or_else(|| words_for(viewer.by, ctx), remote),
        pid: viewer.pid,
        since: viewer.since,
        size: viewer.size,
        read_only: viewer.read_only,
        owns_size: process.run.viewers.size_owner == Some(*id),
    };
    process.run.viewers.attached.iter().map(view).collect()
}

/// A caller in words.
fn words_for(caller: Caller, ctx: &Context) -> String {
    let name = |id| match ctx.processes.get(&id) {
        _ if !ctx.covers(id) => "a process of another workspace".to_owned(),
        Some(known) => known.name.to_string(),
        None => id.to_string(),
    };
    match caller {
        Caller::Person => "person".to_owned(),
        Caller::Via(run) => format!("person via {}", name(run.process)),
        Caller::Process(run) => name(run.process),
        Caller::Nobody => "unknown".to_owned(),
    }
}

/// A remote person, in words.
fn remote(label: &str) -> String {
    format!("person via {}", quoted(label))
}

/// The viewer that a text such as `v7` names.
fn viewer_named(text: &str) -> Option<ViewerId> {
    text.strip_prefix('v')?.parse().ok().map(ViewerId)
}
