//! What a client ordered before it left.

use std::time::Duration;

use tokio::task::JoinHandle;

/// How long orders may wait for a child after their client has gone.
const LAST_ORDERS: Duration = Duration::from_secs(10);

/// A task that carries out orders. When it is dropped, what was ordered before is still done if the child takes it soon;
/// then the connection ends, so that a child that reads nothing has no viewer that has gone.
#[derive(Debug)]
pub(crate) struct LastOrders(Option<JoinHandle<()>>);

impl LastOrders {
    pub(crate) fn of(task: JoinHandle<()>) -> Self {
        Self(Some(task))
    }

    /// Ends it at once.
    pub(crate) fn abandon(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
        }
    }
}

impl Drop for LastOrders {
    fn drop(&mut self) {
        let Some(task) = self.0.take() else { return };
        let stop = task.abort_handle();
        tokio::spawn(async move {
            if tokio::time::timeout(LAST_ORDERS, task).await.is_err() {
                stop.abort();
            }
        });
    }
}
