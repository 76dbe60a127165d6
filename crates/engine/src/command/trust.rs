//! `trust`, `distrust`, `trusted`: what agents may start without asking.

use super::Verdict;
use crate::Engine;
use crate::input::Caller;

impl Engine {
    pub(super) fn trust(&mut self, _caller: Caller, _warrant: crate::input::Warrant) -> Verdict {
        Err(proto::Failure::new(proto::ErrorCode::Internal, "not served"))
    }

    pub(super) fn distrust(&mut self, _caller: Caller, _wish: &proto::request::Distrust) -> Verdict {
        Err(proto::Failure::new(proto::ErrorCode::Internal, "not served"))
    }

    pub(super) fn trusted(&mut self, _caller: Caller) -> Verdict {
        Err(proto::Failure::new(proto::ErrorCode::Internal, "not served"))
    }
}
