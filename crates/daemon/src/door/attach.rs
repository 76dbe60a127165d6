//! `attach`: a connection leaves the door and becomes a viewer on the data plane.
//!
//! Owns the hand-over. Refuses keeping anything of the connection: keys and frames go worker to client and back.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use engine::{Answer, Caller, Command, Located};
use proto::reply::{Answer as Line, Attached, Outcome, ServerLine};
use proto::request::Attach;
use proto::{Failure, Reply};

use super::Seat;
use super::connection::{Client, encode};
use super::dispatch::unexpected;
use super::quota::Slip;
use super::read::hosted;
use crate::screens::{NewViewer, Order, ScreenHandle, ViewOptions};

/// What a viewer is to be shown.
pub(super) struct Sight {
    pub(super) located: Located,
    handle: Arc<ScreenHandle>,
}

/// Which run is meant, if the caller may and it can be shown.
pub(super) async fn locate(client: &Client, wish: &Attach) -> Result<Sight, Failure> {
    match client.door.desk.ask(client.caller, Command::Attach(wish.clone())).await? {
        Answer::Located(located) => {
            let handle = hosted(client, &located)?;
            handle.ready().await;
            Ok(Sight { located, handle })
        }
        Answer::Reply(_) | Answer::Hook(_) | Answer::Standing(_) | Answer::Listed { .. } => {
            Err(unexpected("attach"))
        }
    }
}

/// A place for the viewer, unless what it is to be shown would then show itself.
pub(super) fn seat(client: &Client, wish: &Attach, sight: &Sight, place: Slip) -> Result<Seat, Failure> {
    let (gallery, process) = (&client.door.gallery, sight.located.run.process);
    let seat = match client.caller {
        Caller::Process(run) | Caller::Via(run) => gallery.sit_within(run.process, process, wish.take_over),
        Caller::Human | Caller::Nobody => gallery.sit(process, wish.take_over),
    };
    seat.map(|seat| seat.counted_as(place))
}

/// Gives the stream, with what was read and not understood and what was said and not sent, to the worker that hosts
/// the run.
pub(super) fn hand_over(
    client: &Client,
    (socket, unread, mut greeting): (UnixStream, Vec<u8>, Vec<u8>),
    id: u64,
    wish: &Attach,
    sight: Sight,
    seat: Seat,
) {
    let Sight { located, handle } = sight;
    let stream = 1;
    let options = ViewOptions::of(wish, located.run.run);
    let attached = Attached {
        id: located.run.process,
        name: located.name,
        run: located.run.run,
        size: located.size,
        stream,
        takes_terminal: options.takes_terminal(),
        takes_answers: true,
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
        size: wish.size.or(located.size),
        read_only: wish.read_only,
        take_over: wish.take_over,
        caller: client.caller,
        options,
        seat,
    };
    if !client.door.screens.order(located.run, Order::Attach(Box::new(viewer))) {
        tracing::debug!(run = ?located.run, "a run went while a viewer was handed over");
    }
}
