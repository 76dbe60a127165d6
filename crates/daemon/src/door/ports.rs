//! `ports`: what a process's tree listens on.
//!
//! Owns the way from a name to its tree. Refuses looking on the door's time: `/proc` is read on the blocking pool.

use engine::Verb;
use proto::request::Ports;
use proto::{ErrorCode, Failure, Reply};

use super::connection::Client;
use super::dispatch::locate;
use super::read::hosted;
use crate::ports;

pub(super) async fn ports(client: &Client, wish: Ports) -> Result<Reply, Failure> {
    let located = locate(client, wish.target, Verb::Read).await?;
    let holder = hosted(client, &located)?.holder_pid;
    // A run that is over may have left background jobs, and those may listen.
    let found = tokio::task::spawn_blocking(move || ports::of_tree(holder)).await;
    found.map(Reply::Ports).map_err(|error| {
        Failure::new(ErrorCode::Internal, format!("the ports could not be looked up: {error}"))
    })
}
