//! The verbs that give and take rights beyond the tree, with their arguments.

use serde::{Deserialize, Serialize};

use super::Target;
use crate::rights::Right;

/// Arguments of `grant`: a right beyond the tree. Only people grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Who may.
    pub to: Target,
    /// What.
    pub right: Right,
    /// The process that it covers.
    pub over: Target,
}

/// Arguments of `revoke`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revoke {
    /// Which grant.
    pub grant: u64,
}
