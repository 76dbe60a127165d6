//! What every machine of the engine works with: the process table, the outbox and the daemon's settings.

use crate::Config;
use crate::input::Ticket;
use crate::outbox::Outbox;
use crate::process::Processes;

/// The part of the engine that is passed to each machine.
pub(crate) struct Context {
    pub(crate) config: Config,
    pub(crate) processes: Processes,
    pub(crate) out: Outbox,
    /// Callers of `shutdown --kill` that return when everything has ended.
    pub(crate) shutdown: Option<Vec<Ticket>>,
    /// Everything is to end: nothing starts again.
    pub(crate) ends_all: bool,
}

impl Context {
    /// No processes, and nothing to do.
    pub(crate) fn new(config: Config) -> Self {
        let out = Outbox::new(config.seed);
        Self { config, processes: Processes::default(), out, shutdown: None, ends_all: false }
    }
}
