//! What keeps the daemon from saving, a full disk above all: asked for with what else the deck learns, and again until it is over.

use proto::reply::DaemonStatus;
use proto::request::Empty;
use proto::{ErrorCode, Failure, Request};

use super::actions::call;
use crate::message::{CallFor, Command};
use crate::model::{Model, STATUS_MS};

/// How the daemon's warning begins when it cannot save.
const UNSAVED: &str = "state is not being saved: ";

/// Asks how the daemon is.
pub(super) fn ask(model: &mut Model) -> Command {
    model.daemon.status_asked = model.now.ms;
    call(CallFor::Status, Request::Status(Empty {}))
}

/// Asks when the last answer is old. Only what happens, or a trouble that stands, leads here: an idle deck asks nothing.
pub(super) fn ask_when_old(model: &mut Model) -> Option<Command> {
    let is_old = model.now.ms >= model.daemon.status_asked + STATUS_MS;
    (is_old && model.daemon.away.is_none()).then(|| ask(model))
}

/// Takes the answer.
pub(super) fn note(model: &mut Model, status: &DaemonStatus) {
    let found = status.warnings.iter().find_map(|warning| warning.strip_prefix(UNSAVED));
    let unsaved = found.map(|reason| proto::Printable(reason).to_string());
    if unsaved.is_none() && model.daemon.unsaved.is_some() {
        model.toast("the daemon saves again");
    }
    model.daemon.unsaved = unsaved;
}

/// A call that failed for want of space says so before the daemon is asked.
pub(super) fn failed(model: &mut Model, failure: &Failure) -> Option<Command> {
    if failure.code != ErrorCode::NoSpace {
        return None;
    }
    model.daemon.unsaved.get_or_insert_with(|| "the disk is full".to_owned());
    Some(ask(model))
}
