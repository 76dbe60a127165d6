//! Rights beyond the tree, given by people.
//!
//! A grant ends with either of the two processes that it is about.

use proto::ProcessId;
use proto::rights::{GrantRecord, GrantView, Right};

use crate::context::Context;
use crate::effect::Effect;
use crate::input::Caller;
use crate::record::Record;
use crate::rights::Granted;
use crate::undo::UndoMap;

/// Every grant, by number.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    pub(crate) given: UndoMap<u64, GrantRecord>,
}

impl Grants {
    pub(crate) fn len(&self) -> usize {
        self.given.len()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &GrantRecord> {
        self.given.values()
    }

    /// The grant that says the same already.
    pub(crate) fn find_grant(&self, to: ProcessId, right: Right, over: ProcessId) -> Option<GrantRecord> {
        let is_same = |grant: &&GrantRecord| (grant.to, grant.right, grant.over) == (to, right, over);
        self.all().find(is_same).copied()
    }
}

impl Grants {
    /// What people granted a caller over an entry.
    pub(crate) fn granted(&self, caller: Caller, over: ProcessId) -> Granted {
        let Caller::Process(run) = caller else { return Granted::default() };
        let between = |grant: &&GrantRecord| grant.to == run.process && grant.over == over;
        let rights = self.all().filter(between).map(|grant| grant.right);
        rights.fold(Granted::default(), Granted::with)
    }

    /// Writes a new grant down.
    pub(crate) fn put_grant(
        &mut self,
        to: ProcessId,
        right: Right,
        over: ProcessId,
        ctx: &mut Context,
    ) -> GrantRecord {
        let grant = GrantRecord {
            grant: ctx.out.numbers.counters.next_grant,
            to,
            right,
            over,
            at: ctx.out.now.wall_ms,
        };
        ctx.out.numbers.counters.next_grant += 1;
        ctx.out.push(Effect::Record(Record::Counters(ctx.out.numbers.counters)));
        ctx.out.push(Effect::Record(Record::PutGrant(grant)));
        self.given.insert(grant.grant, grant);
        grant
    }

    /// Revokes a grant; returns false if there was none.
    pub(crate) fn drop_grant(&mut self, grant: u64, ctx: &mut Context) -> bool {
        let was_there = self.given.remove(&grant).is_some();
        if was_there {
            ctx.out.push(Effect::Record(Record::RemoveGrant(grant)));
        }
        was_there
    }

    /// An entry goes, and with it what was granted to it and over it.
    pub(crate) fn drop_grants_of(&mut self, id: ProcessId, ctx: &mut Context) {
        let gone: Vec<u64> =
            self.all().filter(|grant| is_about(grant, id)).map(|grant| grant.grant).collect();
        for grant in gone {
            self.drop_grant(grant, ctx);
        }
    }

    /// A grant as it is shown, while both of its processes are there.
    pub(crate) fn grant_view(&self, grant: &GrantRecord, ctx: &Context) -> Option<GrantView> {
        let name = |id: ProcessId| ctx.processes.get(&id).map(|process| process.name.clone());
        Some(GrantView { grant: *grant, to_name: name(grant.to)?, over_name: name(grant.over)? })
    }

    /// The grants a caller may know of: a person all of them, a process its own.
    pub(crate) fn grants_seen_by(&self, caller: Caller, ctx: &Context) -> Vec<GrantView> {
        let is_seen = |grant: &&GrantRecord| match caller {
            Caller::Person | Caller::Via(_) => true,
            Caller::Process(run) => grant.to == run.process,
            Caller::Nobody => false,
        };
        let is_covered = |grant: &&GrantRecord| ctx.covers(grant.to) && ctx.covers(grant.over);
        self.all()
            .filter(is_seen)
            .filter(is_covered)
            .filter_map(|grant| self.grant_view(grant, ctx))
            .collect()
    }

    pub(crate) fn restore_grants(&mut self, saved: Vec<GrantRecord>, ctx: &mut Context) {
        for grant in saved {
            ctx.out.numbers.counters.next_grant =
                ctx.out.numbers.counters.next_grant.max(grant.grant.saturating_add(1));
            self.given.insert(grant.grant, grant);
        }
        // A record that did not read takes what was granted about it with it.
        let is_whole = |id: ProcessId| ctx.processes.contains_key(&id);
        let broken = |grant: &&GrantRecord| !is_whole(grant.to) || !is_whole(grant.over);
        let broken: Vec<u64> = self.all().filter(broken).map(|grant| grant.grant).collect();
        for grant in broken {
            self.drop_grant(grant, ctx);
        }
    }
}

fn is_about(grant: &GrantRecord, id: ProcessId) -> bool {
    grant.to == id || grant.over == id
}
