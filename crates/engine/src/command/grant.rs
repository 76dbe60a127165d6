//! `grant`, `revoke`, `grants`, `permit`: rights beyond the tree.

use super::Verdict;
use crate::Engine;
use crate::input::Caller;

impl Engine {
    pub(super) fn grant(&mut self, _caller: Caller, _wish: &proto::request::Grant) -> Verdict {
        Err(proto::Failure::new(proto::ErrorCode::Internal, "not served"))
    }

    pub(super) fn revoke(&mut self, _caller: Caller, _wish: proto::request::Revoke) -> Verdict {
        Err(proto::Failure::new(proto::ErrorCode::Internal, "not served"))
    }

    pub(super) fn grants(&mut self, _caller: Caller) -> Verdict {
        Err(proto::Failure::new(proto::ErrorCode::Internal, "not served"))
    }

    pub(super) fn permit(&mut self, _caller: Caller, _verb: crate::rights::Verb) -> Verdict {
        Err(proto::Failure::new(proto::ErrorCode::Internal, "not served"))
    }
}
