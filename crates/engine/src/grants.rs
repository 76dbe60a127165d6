//! Rights beyond the tree, given by people.
//!
//! Owns the grants. Refuses outliving either of the two processes a grant is about.

use proto::ProcessId;
use proto::crew::Right;
use serde::{Deserialize, Serialize};

use crate::Engine;

/// One grant as it is made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRecord {
    /// Its number.
    pub grant: u64,
    /// Who may.
    pub to: ProcessId,
    /// What.
    pub right: Right,
    /// To whom.
    pub over: ProcessId,
    /// Since when, wall time.
    pub at: u64,
}

/// Every grant.
#[derive(Debug, Default)]
pub(crate) struct Grants {}

impl Engine {
    pub(crate) fn restore_grants(&mut self, _saved: Vec<GrantRecord>) {
        let Grants {} = self.grants;
    }
}
