//! What every machine of the engine works with: the process table, the outbox and the daemon's settings.

use proto::{ErrorCode, Failure, Printable, ProcessId, Role};

use crate::Config;
use crate::input::{Caller, Ticket};
use crate::outbox::Outbox;
use crate::process::{Process, Processes};

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
    /// Checks that the role of the caller's connection is enough for something, whoever asks.
    pub(crate) fn check_least_role(&self, least: Role, what: &str) -> Result<(), Failure> {
        let limit = &self.out.scope.limit;
        if limit.role >= least {
            return Ok(());
        }
        let least = least.word();
        let message =
            format!("denied: {what} needs the role {least}, and this connection is limited to {limit}");
        Err(Failure::new(ErrorCode::Denied, message).hint("use a device or a token with that role"))
    }

    /// Returns true if the limit of the caller's connection lets it know of a process.
    pub(crate) fn covers(&self, id: ProcessId) -> bool {
        let limit = &self.out.scope.limit;
        limit.workspace.is_none()
            || self.processes.get(&id).is_some_and(|process| limit.covers(&process.spec.workspace))
    }

    /// Checks that the connection may do what is about all workspaces.
    pub(crate) fn check_all_workspaces(&self) -> Result<(), Failure> {
        let Some(only) = &self.out.scope.limit.workspace else { return Ok(()) };
        let message = format!("denied: this connection is limited to workspace {}", Printable(only));
        Err(Failure::new(ErrorCode::Denied, message).hint("this needs a connection to all workspaces"))
    }

    /// Returns true if the caller may reach what belongs to a project: a process only its own project, a person those that the
    /// limit of the connection covers.
    pub(crate) fn may_reach_project(&self, caller: Caller, project: &str) -> bool {
        let is_own = match caller {
            Caller::Person | Caller::Via(_) => true,
            Caller::Process(run) => {
                let own = self.processes.get(&run.process);
                own.is_some_and(|own| own.spec.project.key == project)
            }
            Caller::Nobody => false,
        };
        is_own && self.covers_project(project)
    }

    /// Returns true if the limit of the caller's connection lets it know of a project: one in which a process of its workspace
    /// works.
    pub(crate) fn covers_project(&self, key: &str) -> bool {
        let limit = &self.out.scope.limit;
        let works_there = |process: &Process| {
            process.spec.project.key == key && limit.covers(&process.spec.workspace) && !process.is_departed()
        };
        limit.workspace.is_none() || self.processes.values().any(works_there)
    }

    /// No processes, and nothing to do.
    pub(crate) fn new(config: Config) -> Self {
        let out = Outbox::new(config.seed);
        Self { config, processes: Processes::default(), out, shutdown: None, ends_all: false }
    }
}
