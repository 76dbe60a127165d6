//! `who_am_i`: whom the caller is taken for, and what it may.

use super::Verdict;
use crate::Engine;
use crate::input::Caller;

impl Engine {
    pub(super) fn who_am_i(&mut self, _caller: Caller) -> Verdict {
        Err(proto::Failure::new(proto::ErrorCode::Internal, "not served"))
    }
}
