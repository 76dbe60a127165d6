//! One typed method per verb for timers, pads, questions, grants, trust and presets. Arguments are sent as
//! they are.

use proto::Request;
use proto::crew::{
    Asked, AuditPage, GrantView, Identity, Listening, PadOutcome, PresetList, TimerView, TrustView,
};
use proto::request::{
    Ask, Attention, Audit, ChangeTimer, Distrust, Empty, Grant, Pad, Ports, Presets, Revoke, See, Select,
    SetTimer, Trust,
};

use crate::verbs::verb;
use crate::{ClientError, Connection};

impl Connection {
    verb!("Wakes a process later.", set_timer(SetTimer) => SetTimer, Timer(TimerView));
    verb!("Cancels, pauses or resumes a timer.", change_timer(ChangeTimer) => ChangeTimer, Timer(TimerView));
    verb!("Reads and writes scratchpads.", pad(Pad) => Pad, Pad(PadOutcome));
    verb!("Asks the person something.", ask(Ask) => Ask, Asked(Asked));
    verb!("Says that the person should look.", attention(Attention) => Attention, Asked(Asked));
    verb!("Which ports a process listens on.", ports(Ports) => Ports, Ports(Listening));
    verb!("Gives a process a right beyond the tree.", grant(Grant) => Grant, Granted(GrantView));
    verb!("Which presets a project has.", presets(Presets) => Presets, Presets(PresetList));
    verb!("Lets agents start something without asking.", trust(Trust) => Trust, Trust(TrustView));
    verb!("Who asked for what, and what was decided.", audit(Audit) => Audit, Audit(AuditPage));
    verb!("Whom the daemon takes the caller for.", who_am_i() => WhoAmI, Identity(Box<Identity>));
    verb!("Which timers there are.", timers() => Timers, Timers(Vec<TimerView>));
    verb!("Which rights were given.", grants() => Grants, Grants(Vec<GrantView>));
    verb!("What agents may start without asking.", trusted() => Trusted, Trusted(Vec<TrustView>));

    /// Marks what a process did as seen.
    pub fn see(&mut self, arguments: See) -> Result<(), ClientError> {
        self.done("see", Request::See(arguments))
    }

    /// Shows a process in all clients.
    pub fn select(&mut self, arguments: Select) -> Result<(), ClientError> {
        self.done("select", Request::Select(arguments))
    }

    /// Revokes a grant.
    pub fn revoke(&mut self, arguments: Revoke) -> Result<(), ClientError> {
        self.done("revoke", Request::Revoke(arguments))
    }

    /// Revokes trust: agents no longer start it without approval.
    pub fn distrust(&mut self, arguments: Distrust) -> Result<(), ClientError> {
        self.done("distrust", Request::Distrust(arguments))
    }
}
