//! What agents may start and what they share, end to end: over the real socket, requested by a real `qd`
//! inside real runs. Each test is named after the row of the guarantee or hazard that it proves.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up has failed")]

mod content;
mod hearing;
mod inside;
mod pads;
mod presets;
mod projects;
mod script;
mod trust;

use std::path::PathBuf;

use proto::request::{Empty, GiveAnswer};
use proto::{Failure, Reply, Request};
use testkit::MarkedDaemon;

const QD: &str = env!("CARGO_BIN_EXE_qd");

/// Returns a daemon, and beside it a project with these presets.
fn project(text: &str) -> (MarkedDaemon, PathBuf) {
    let stage = MarkedDaemon::start(QD);
    let app = stage.root().canonicalize().unwrap().join("app");
    std::fs::create_dir_all(app.join("web")).unwrap();
    std::fs::write(app.join(".quarterdeck.toml"), text).unwrap();
    (stage, app)
}

/// Sends a request as a person.
fn ask(stage: &MarkedDaemon, request: Request) -> Result<Reply, Failure> {
    let told = format!("{request:?}");
    match stage.client().call(request) {
        Ok(reply) => Ok(reply),
        Err(client::ClientError::Failed(failure)) => Err(failure),
        Err(error) => stage.fail(&format!("{told}: {error}")),
    }
}

/// Answers an item as a person.
fn answer(stage: &MarkedDaemon, item: u64, choice: &str) {
    ask(stage, Request::Answer(GiveAnswer { item, choice: choice.to_owned(), ..GiveAnswer::default() }))
        .unwrap();
}

/// Returns the items that wait for a person.
fn items(stage: &MarkedDaemon) -> Vec<proto::agent::InboxItem> {
    match ask(stage, Request::Inbox(Empty {})).unwrap() {
        Reply::Inbox(items) => items,
        other => stage.fail(&format!("inbox was answered with {other:?}")),
    }
}
