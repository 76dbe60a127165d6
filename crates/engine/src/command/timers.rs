//! `set_timer`, `timers`, `change_timer`: wake-ups.

use super::Verdict;
use crate::Engine;
use crate::input::Caller;

impl Engine {
    pub(super) fn set_timer(&mut self, _caller: Caller, _wish: proto::request::SetTimer) -> Verdict {
        Err(proto::Failure::new(proto::ErrorCode::Internal, "not served"))
    }

    pub(super) fn timers(&mut self, _caller: Caller) -> Verdict {
        Err(proto::Failure::new(proto::ErrorCode::Internal, "not served"))
    }

    pub(super) fn change_timer(&mut self, _caller: Caller, _wish: proto::request::ChangeTimer) -> Verdict {
        Err(proto::Failure::new(proto::ErrorCode::Internal, "not served"))
    }
}
