//! `attach`: moves a connection from the door to the data plane, where it becomes a viewer. From then on keys
//! and frames go directly between worker and client.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use engine::{Caller, Command, CommandAnswer, Located};
use proto::reply::{Answer as Line, Attached, Outcome, ServerLine};
use proto::request::Attach;
use proto::{Failure, Reply};

use super::ViewerPermit;
use super::caller_limits::CallPermit;
use super::connection::{Client, encode};
use super::dispatch::unexpected;
use super::read::hosted;
use crate::screens::{NewViewer, Order, ScreenHandle, ViewOptions};

/// The run that a viewer is attached to.
pub(super) struct AttachTarget {
    pub(super) located: Located,
    handle: Arc<ScreenHandle>,
}

/// Finds the run, if the caller may attach and it can be shown.
pub(super) async fn locate(client: &Client, request: &Attach) -> Result<AttachTarget, Failure> {
    match client.ask(Command::Attach(request.clone())).await? {
        CommandAnswer::Located(located) => {
            let handle = hosted(client, &located)?;
            handle.ready().await;
            Ok(AttachTarget { located, handle })
        }
        CommandAnswer::Reply(_)
        | CommandAnswer::Hook(_)
        | CommandAnswer::CallerIdentity(_)
        | CommandAnswer::Tasks(_)
        | CommandAnswer::Listed { .. } => Err(unexpected("attach")),
    }
}

/// Reserves a place for the viewer, unless the process would then show itself.
pub(super) fn permit(
    client: &Client,
    request: &Attach,
    target: &AttachTarget,
    place: CallPermit,
) -> Result<ViewerPermit, Failure> {
    let (viewer_limits, process) = (&client.door.viewer_limits, target.located.run.process);
    let permit = match client.caller() {
        Caller::Process(run) | Caller::Via(run) => {
            viewer_limits.acquire_within(run.process, process, request.take_over)
        }
        Caller::Person | Caller::Nobody => viewer_limits.acquire(process, request.take_over),
    };
    permit.map(|permit| permit.counted_as(place))
}

/// The stream of a connection that becomes a viewer.
pub(super) struct LeavingStream {
    pub(super) socket: UnixStream,
    /// Input that the door has read and not parsed.
    pub(super) unread: Vec<u8>,
    /// Output that the door has not sent.
    pub(super) unsent: Vec<u8>,
}

/// Gives the stream to the worker that hosts the run.
pub(super) fn move_to_worker(
    client: &Client,
    leaving: LeavingStream,
    id: u64,
    request: &Attach,
    target: AttachTarget,
    permit: ViewerPermit,
) {
    let AttachTarget { located, handle } = target;
    let LeavingStream { socket, unread, unsent: mut greeting } = leaving;
    let stream = 1;
    let options = ViewOptions::of(request, located.run.run);
    let attached = Attached {
        id: located.run.process,
        name: located.name,
        run: located.run.run,
        size: located.size,
        stream,
        takes_terminal: options.takes_terminal(),
        takes_answers: true,
        receipts: options.receipts,
    };
    let reply = ServerLine::Reply(Line { id, outcome: Outcome::Ok(Reply::Attached(attached)) });
    greeting.extend_from_slice(&encode(&reply));
    let viewer = NewViewer {
        run: located.run,
        handle,
        viewer: client.door.next_viewer(),
        socket,
        unread,
        greeting,
        stream,
        size: request.size.or(located.size),
        read_only: request.read_only,
        take_over: request.take_over,
        principal: client.principal.clone(),
        options,
        permit,
    };
    if !client.door.screens.order(located.run, Order::Attach(Box::new(viewer))) {
        tracing::debug!(run = ?located.run, "a run went while a viewer was handed over");
    }
}
