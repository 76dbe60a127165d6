//! What a tree of processes may use up.
//!
//! A process spends from its own budget and from every budget above it.

use proto::rights::{Budget, BudgetUse};
use proto::{ErrorCode, Failure, Name, ProcessId};

use crate::Config;
use crate::outbox::Outbox;
use crate::process::Process;
use crate::process::Processes;

/// A budget in force: whose it is, and what of it is used.
#[derive(Clone, Debug)]
pub(crate) struct ActiveBudget {
    pub(crate) name: Name,
    pub(crate) usage: BudgetUse,
}

impl ActiveBudget {
    /// How much is left of the scarcest of its limits, in thousandths.
    fn slack(&self) -> u64 {
        let BudgetUse { limits, spawns, live, depth, wall_ms } = self.usage;
        let left = |limit: u64, used: u64| limit.saturating_sub(used).saturating_mul(1000) / limit.max(1);
        let counts = [(limits.spawns, spawns), (limits.live, live), (limits.depth, depth)];
        let counts = counts.into_iter().filter_map(|(limit, used)| Some(left(limit?.into(), used.into())));
        counts.chain(limits.wall_ms.map(|limit| left(limit, wall_ms))).min().unwrap_or(u64::MAX)
    }

    fn check_spawn(&self) -> Result<(), Failure> {
        let BudgetUse { limits, spawns, live, depth, .. } = self.usage;
        let counts =
            [("spawns", limits.spawns, spawns), ("live", limits.live, live), ("depth", limits.depth, depth)];
        for (what, limit, used) in counts {
            if let Some(limit) = limit.filter(|limit| used >= *limit) {
                return Err(self.exceeded(&format!("{what} {used} of {limit} used")));
            }
        }
        self.check_wall()
    }

    fn check_wall(&self) -> Result<(), Failure> {
        let used = self.usage.wall_ms;
        match self.usage.limits.wall_ms.filter(|limit| used >= *limit) {
            Some(limit) => Err(self.exceeded(&format!("wall_ms {used} of {limit} used"))),
            None => Ok(()),
        }
    }

    fn exceeded(&self, what: &str) -> Failure {
        let message = format!("budget_exceeded: {what}, the budget of {}", self.name);
        Failure::new(ErrorCode::BudgetExceeded, message)
            .hint("close processes that are done, or ask a person for a process with a larger budget")
    }
}

impl Processes {
    /// One more process was spawned by this one: everything above it pays.
    pub(crate) fn spend_spawn(&mut self, spawner: ProcessId, out: &mut Outbox) {
        let line: Vec<ProcessId> = self.line(spawner).map(|process| process.id).collect();
        for id in line {
            if let Some(process) = self.get_mut(&id) {
                process.usage.spawns = process.usage.spawns.saturating_add(1);
                out.mark_durable(id);
            }
        }
    }

    /// Every budget that a process spends from: its own, and that of everything above it.
    pub(crate) fn active_budgets(
        &self,
        spender: ProcessId,
        config: &Config,
        out: &Outbox,
    ) -> Vec<ActiveBudget> {
        let line = self.line(spender).zip(1u32..);
        line.filter_map(|(holder, depth)| Some((holder, depth, limits_of(holder, config)?)))
            .map(|(holder, depth, limits)| ActiveBudget {
                name: holder.name.clone(),
                usage: BudgetUse {
                    limits,
                    spawns: holder.usage.spawns,
                    live: live_below(self, holder.id),
                    depth,
                    wall_ms: age(holder, out),
                },
            })
            .collect()
    }

    /// The budget that gives out first.
    pub(crate) fn tightest(&self, spender: ProcessId, config: &Config, out: &Outbox) -> Option<BudgetUse> {
        let depth = u32::try_from(self.depth(spender)).unwrap_or(u32::MAX);
        let budget = self.active_budgets(spender, config, out).into_iter().min_by_key(ActiveBudget::slack)?;
        Some(BudgetUse { depth, ..budget.usage })
    }

    /// Checks that this process may spawn one more.
    pub(crate) fn check_budget(
        &self,
        spawner: ProcessId,
        config: &Config,
        out: &Outbox,
    ) -> Result<(), Failure> {
        self.active_budgets(spawner, config, out).iter().try_for_each(ActiveBudget::check_spawn)
    }

    /// Checks that the time of every budget of this process lasts.
    pub(crate) fn check_time(&self, id: ProcessId, config: &Config, out: &Outbox) -> Result<(), Failure> {
        self.active_budgets(id, config, out).iter().try_for_each(ActiveBudget::check_wall)
    }
}

fn live_below(processes: &Processes, root: ProcessId) -> u32 {
    let below = processes.descendants(root);
    let live = below.iter().filter_map(|id| processes.get(id)).filter(|process| process.is_live());
    u32::try_from(live.count()).unwrap_or(u32::MAX)
}

/// The limits an entry sets: what a person gave it, else the default for a process without a parent.
fn limits_of(process: &Process, config: &Config) -> Option<Budget> {
    let default = config.budget;
    let given = process.spec.budget.or_else(|| process.spec.parent.is_none().then_some(default))?;
    Some(Budget {
        spawns: given.spawns.or(default.spawns),
        live: given.live.or(default.live),
        depth: given.depth.or(default.depth),
        wall_ms: given.wall_ms.or(default.wall_ms),
    })
}

/// For how long an entry has been there. The clock begins anew with the machine: then at least that much has passed.
fn age(process: &Process, out: &Outbox) -> u64 {
    let now = out.now.uptime_ms;
    now.checked_sub(process.usage.born_ms).unwrap_or(now)
}
