//! The handlers that are not one verb of the daemon.

pub(crate) mod access;
pub(crate) mod log;
pub(crate) mod processes;
pub(crate) mod service;
pub(crate) mod tickets;
