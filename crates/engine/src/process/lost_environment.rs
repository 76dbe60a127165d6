//! An environment that is lost, as after a reboot: what stands in for it, and the warning about that.
//!
//! A person who has a process started again offers the environment of that moment. It is used only if the process's own
//! is lost, and what a holder kept replaces it.

use std::collections::BTreeMap;

use proto::request::Offer;
use proto::{Kind, ProcessId};

use super::spec::StandIn;
use super::{Environment, Processes, environment};
use crate::Config;
use crate::input::Caller;
use crate::tasks::Tasks;

/// The warning about a process that has no environment of a person or a parent.
const DAEMONS_ENV: &str = "the environment it was first started with is lost, so it got only the harmless part \
of the daemon's (paths, locale, editor and the like); start it again from a shell of yours to give it yours: qd restart";

impl Environment {
    /// Returns true if its own variables are not known.
    pub(super) fn is_lost(&self) -> bool {
        self.env.is_empty() || self.stand_in.is_some()
    }

    fn replace(&mut self, stand_in: StandIn, text: BTreeMap<String, String>, hex: BTreeMap<String, String>) {
        self.env = environment::with_declared(text, BTreeMap::new());
        self.env_hex = hex;
        self.stand_in = Some(stand_in);
    }

    /// Returns the warning about what a run lacks because its own environment is lost.
    pub(super) fn warning(&self) -> Option<String> {
        match self.stand_in? {
            StandIn::Daemons => Some(DAEMONS_ENV.to_owned()),
            StandIn::Persons => {
                let is_missing = |name: &&String| !self.env.contains_key(*name);
                let missing: Vec<&str> =
                    self.declared.iter().filter(is_missing).map(String::as_str).collect();
                (!missing.is_empty()).then(|| {
                    let missing = missing.join(", ");
                    format!(
                        "the environment it was first started with is lost, so it got yours; what was declared for it \
                         is missing: {missing}; close it and spawn it again to declare it anew"
                    )
                })
            }
        }
    }
}

impl Processes {
    /// Keeps what the caller offers until the run starts. Only people offer; what is too large to be taken over counts
    /// as missing.
    pub(crate) fn keep_offer(&mut self, id: ProcessId, caller: Caller, offer: Offer) {
        let is_kept = caller.is_person()
            && offer.base_env.is_some()
            && environment::check_offered(offer.base_env.as_ref(), &offer.base_env_hex).is_ok();
        if let Some(process) = self.get_mut(&id).filter(|_| is_kept) {
            process.launch.offer = Some(offer);
        }
    }

    /// For an agent that a process started: the topmost process above it, which a person started.
    pub(super) fn topmost_above(&self, id: ProcessId) -> Option<ProcessId> {
        let process = self.get(&id).filter(|process| process.spec.kind == Kind::Agent)?;
        let mut topmost = process.spec.parent.filter(|parent| self.contains_key(parent))?;
        while let Some(above) = self.get(&topmost).and_then(|process| process.spec.parent)
            && self.contains_key(&above)
        {
            topmost = above;
        }
        Some(topmost)
    }

    fn take_over(&mut self, id: ProcessId, offer: &Offer) {
        let Some(process) = self.get_mut(&id).filter(|process| process.spec.environment.is_lost()) else {
            return;
        };
        let text = offer.base_env.clone().unwrap_or_default();
        // What a process spawned never had more than the allow-listed part.
        let (text, hex) = match process.spec.parent {
            None => (environment::persons(&text), offer.base_env_hex.clone()),
            Some(_) => (environment::allowed(&text), BTreeMap::new()),
        };
        process.spec.environment.replace(StandIn::Persons, text, hex);
    }

    /// Gives a process whose environment is lost the one that was offered, else the allow-listed part of the daemon's. An
    /// agent's program takes over variables from the topmost process above it, so an offer counts for that one too.
    pub(super) fn replace_lost_environment(&mut self, id: ProcessId, tasks: &Tasks, config: &Config) {
        let offer = self.get_mut(&id).and_then(|process| process.launch.offer.take());
        if let Some(offer) = offer {
            let topmost = self.topmost_above(id);
            topmost.into_iter().chain([id]).for_each(|id| self.take_over(id, &offer));
        }
        let Some(process) = self.get_mut(&id) else { return };
        if process.spec.environment.env.is_empty() {
            // Holder and daemon are gone, and it was not recorded: what every process may have is left.
            let allowed = environment::allowed(&config.base_env);
            process.spec.environment.replace(StandIn::Daemons, allowed, BTreeMap::new());
        }
        if process.spec.environment.stand_in.is_some() {
            let task = process.spec.task.as_ref().and_then(|task| tasks.find(task));
            let ports = task.map_or(&[][..], |task| &task.ports);
            environment::set_ports(&mut process.spec.environment.env, ports);
        }
    }
}
