//! The lease of a terminal's size: a viewer that asks for it has the process at its own size for a while.
//!
//! A second viewer of the same caller owns the size meanwhile, so that anybody who types at another viewer gets the size
//! back at once. When the lease ends otherwise, the old size returns.

use client::ClientError;
use proto::request::{Attach, Empty, Resize, SizeRequest, View};
use proto::{Request, Size, Target};
use tokio::task::JoinHandle;

use crate::api::processes;
use crate::door::DoorConnection;
use crate::gateway::Shared;
use crate::identity::AccessIdentity;

/// The second viewer draws nothing: it gets one repaint a minute, the least that the daemon sends.
const SELDOM_MS: u32 = 60_000;

/// A size that is leased. Dropping it gives the old one back.
#[derive(Debug)]
pub(super) struct Lease {
    gateway: Shared,
    identity: AccessIdentity,
    process: String,
    size: Size,
    before: Size,
    viewer: JoinHandle<()>,
    /// The process has had the leased size.
    is_effective: bool,
    is_over: bool,
}

impl Lease {
    /// Gives the process this size; `before` is what returns.
    pub(super) async fn begin(
        gateway: Shared,
        identity: AccessIdentity,
        process: String,
        size: Size,
        before: Size,
    ) -> Result<Self, ClientError> {
        let mut connection = gateway.door.connect(&identity).await?;
        let attach = Attach {
            target: Target(process.clone()),
            size: size.into(),
            pace_ms: Some(SELDOM_MS),
            ..Attach::default()
        };
        connection.call(Request::Attach(attach)).await?;
        connection.writer.send(Request::View(View::OwnSize(Empty {}))).await?;
        let viewer = tokio::spawn(drain(connection));
        Ok(Self { gateway, identity, process, size, before, viewer, is_effective: false, is_over: false })
    }

    /// Notes the process's size; returns true if the lease is lost because somebody typed elsewhere or asked for another
    /// size. A size from before the lease took effect does not count.
    pub(super) fn is_lost(&mut self, size: Size) -> bool {
        let was_effective = self.is_effective;
        self.is_effective |= size == self.size;
        was_effective && size != self.size
    }

    /// Returns the size that returns.
    pub(super) fn before(&self) -> Size {
        self.before
    }

    /// Ends it without giving the old size back: the process has another one already.
    pub(super) fn forfeit(mut self) {
        self.is_over = true;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.viewer.abort();
        if self.is_over {
            return;
        }
        let (gateway, identity) = (self.gateway.clone(), self.identity.clone());
        let (process, leased, before) = (self.process.clone(), self.size, self.before);
        tokio::spawn(async move {
            // Only a size that is still ours goes back.
            let view = processes::find(&gateway, &identity, &process).await;
            if view.is_ok_and(|view| view.terminal.size == leased) {
                let resize = Resize { target: Target(process), size: SizeRequest::from(before) };
                drop(gateway.door.ask(&identity, Request::Resize(resize)).await);
            }
        });
    }
}

/// Reads what the daemon sends to the second viewer, so that its connection stays.
async fn drain(mut connection: DoorConnection) {
    while let Ok(Some(_)) = connection.reader.receive().await {}
}
