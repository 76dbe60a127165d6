//! `ask`, `attention`, `select`: what an agent wants of the person.

use super::Verdict;
use crate::Engine;
use crate::input::Caller;

impl Engine {
    pub(super) fn ask(&mut self, _caller: Caller, _wish: proto::request::Ask) -> Verdict {
        Err(proto::Failure::new(proto::ErrorCode::Internal, "not served"))
    }

    pub(super) fn attention(&mut self, _caller: Caller, _wish: proto::request::Attention) -> Verdict {
        Err(proto::Failure::new(proto::ErrorCode::Internal, "not served"))
    }

    pub(super) fn select(&mut self, _caller: Caller, _wish: &proto::request::Select) -> Verdict {
        Err(proto::Failure::new(proto::ErrorCode::Internal, "not served"))
    }
}
