//! `ports`: the ports on which a process's tree listens, and the web addresses that it has printed. `/proc`
//! and the screen are read on a thread that may block.

use engine::Verb;
use proto::ports::Listening;
use proto::request::Ports;
use proto::{ErrorCode, Failure, Reply};

use super::connection::Client;
use super::dispatch::locate;
use super::read::{catch_up, hosted};
use crate::{ports, urls};

pub(super) async fn ports(client: &Client, request: Ports) -> Result<Reply, Failure> {
    let located = locate(client, request.target, Verb::Read).await?;
    let handle = hosted(client, &located)?;
    catch_up(&*handle).await;
    let look = move || {
        let shown = urls::candidate_lines(&handle.screen());
        // A run that is over may have left background jobs that listen.
        Listening { ports: ports::of_tree(handle.holder_pid), urls: urls::addresses(&shown) }
    };
    crate::threads::run(look).await.map(Reply::Ports).map_err(|error| {
        Failure::new(ErrorCode::Internal, format!("the ports could not be looked up: {error}"))
    })
}
