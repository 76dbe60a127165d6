//! To `agents`: which there are, and what of each works on this machine.
//!
//! Owns putting an offer together. Refuses promising: a program that is not there is shown as not there.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proto::agent::AgentOffer;

use super::Agents;
use super::catalogue::Shelf;
use super::errand::find;
use super::fitting::Fitted;

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
        let names: Vec<String> = shelf.catalogue.names().map(str::to_owned).collect();
        for name in names {
            let (agents, shelf, env) = (self.clone(), Arc::clone(&shelf), Arc::clone(&env));
            asked.push(crate::threads::run(move || agents.offer(&shelf, &name, &env)));
        }
        let mut offers = Vec::new();
        for offer in asked {
            offers.extend(offer.await.ok().flatten());
        }
        offers
    }

    fn offer(&self, shelf: &Shelf, name: &str, env: &BTreeMap<String, String>) -> Option<AgentOffer> {
        let manifest = shelf.catalogue.get(name)?;
        let origin = shelf.catalogue.origin(name).to_vec();
        let is_about = |problem: &&String| origin.iter().any(|file| problem.starts_with(file.as_str()));
        let mut problems: Vec<String> = shelf.problems.iter().filter(is_about).cloned().collect();
        let program = manifest.argv.first().map(|program| find(program, env, Path::new("/")));
        if let (Some(None), Some(program)) = (&program, manifest.argv.first()) {
            problems.push(format!("{program} is not on the search path"));
        }
        let program = program.flatten();
        let version = program.as_ref().and_then(|_| self.shared.versions.ask(&manifest.version_argv, env));
        let launches = self.shared.yard.places.launches();
        let fitted = Fitted::find(&shelf.catalogue, name, version.clone(), &launches)?;
        if program.is_some() {
            problems.extend(fitted.shortfalls);
        }
        Some(AgentOffer {
            name: name.to_owned(),
            program: program.map(|program| program.display().to_string()),
            version,
            origin,
            abilities: fitted.manifest.abilities().into_iter().map(str::to_owned).collect(),
            problems,
        })
    }

    /// What this daemon's own environment gives to programs it runs.
    pub(crate) fn env(&self) -> &BTreeMap<String, String> {
        &self.shared.env
    }
}
