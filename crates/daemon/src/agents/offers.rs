//! To `agents`: which there are, and what of each works on this machine.
//!
//! Owns putting an offer together. Refuses promising: a program that is not there is shown as not there.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use agents::Manifest;
use agents::deliver::Channel;
use proto::agent::AgentOffer;

use super::Agents;
use super::errand::find;

impl Agents {
    /// Every manifest that is offered, with its program as `path` finds it. Asks each installed program for its version, all at once.
    pub(crate) async fn offers(&self, path: Option<String>) -> Vec<AgentOffer> {
        let agents = self.clone();
        let shelf = match crate::threads::run(move || agents.shelf(None)).await {
            Ok(shelf) => shelf,
            Err(error) => {
                tracing::error!(%error, "the manifests cannot be read");
                return Vec::new();
            }
        };
        let mut env = self.shared.env.clone();
        env.extend(path.map(|path| ("PATH".to_owned(), path)));
        let env = Arc::new(env);
        let mut asked = Vec::new();
        for name in shelf.catalogue.names() {
            let Some(manifest) = shelf.catalogue.get(name).cloned() else { continue };
            let origin = shelf.catalogue.origin(name).to_vec();
            let is_about = |problem: &&String| origin.iter().any(|file| problem.starts_with(file.as_str()));
            let problems = shelf.problems.iter().filter(is_about).cloned().collect();
            let (agents, env) = (self.clone(), Arc::clone(&env));
            asked.push(crate::threads::run(move || agents.offer(&manifest, &env, origin, problems)));
        }
        let mut offers = Vec::new();
        for offer in asked {
            offers.extend(offer.await.ok());
        }
        offers
    }

    fn offer(
        &self,
        manifest: &Manifest,
        env: &BTreeMap<String, String>,
        origin: Vec<String>,
        mut problems: Vec<String>,
    ) -> AgentOffer {
        let program = manifest.argv.first().map(|program| find(program, env, Path::new("/")));
        if let (Some(None), Some(program)) = (&program, manifest.argv.first()) {
            problems.push(format!("{program} is not on the search path"));
        }
        let program = program.flatten();
        let version = program.as_ref().and_then(|_| self.shared.versions.ask(&manifest.version_argv, env));
        AgentOffer {
            name: manifest.name.clone(),
            program: program.map(|program| program.display().to_string()),
            version,
            origin,
            abilities: abilities(manifest).into_iter().map(str::to_owned).collect(),
            problems,
        }
    }

    /// What this daemon's own environment gives to programs it runs.
    pub(crate) fn env(&self) -> &BTreeMap<String, String> {
        &self.shared.env
    }
}

fn abilities(manifest: &Manifest) -> Vec<&'static str> {
    let all = [
        ("mcp", manifest.mcp.is_some()),
        ("hooks", manifest.hooks.is_some()),
        ("resume", !manifest.session.resume.is_empty()),
        ("native_delivery", manifest.deliver.channel != Channel::None || manifest.hands_over_at_turn_end()),
        ("context", manifest.transcript.is_some() || manifest.server.is_some()),
        ("quota", !manifest.quota.is_empty()),
        ("dialogs", !manifest.dialog.is_empty()),
    ];
    all.into_iter().filter(|(_, has)| *has).map(|(word, _)| word).collect()
}
