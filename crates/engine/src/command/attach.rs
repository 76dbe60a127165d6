//! `attach`: which run a viewer means, and whose size counts from here on.

use proto::request::Attach;

use super::{Verdict, locate::located};
use crate::Engine;
use crate::effect::Answer;
use crate::input::Caller;
use crate::rights::Verb;

impl Engine {
    pub(super) fn attach(&mut self, caller: Caller, attach: &Attach) -> Verdict {
        let verb = if attach.read_only { Verb::Read } else { Verb::Drive };
        let id = self.find_id(caller, &attach.target, verb)?;
        if let (Some(policy), Some(process)) = (attach.policy, self.processes.get_mut(&id)) {
            process.policy = policy;
            self.touch(id);
        }
        let process = self.find(caller, &attach.target, verb)?;
        Ok(Some(Answer::Located(located(process))))
    }
}
