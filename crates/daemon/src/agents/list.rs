//! Answers `agents`: which agents there are, and what of each works on this machine.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use agents::catalogue::BUILT_IN;
use proto::agent::AgentOffer;

use super::Agents;
use super::fitting::Fitted;
use super::manifest_cache::ManifestSet;
use super::subprocess::find;

impl Agents {
    /// Returns every enabled manifest, with its program as `path` finds it. Asks all installed programs for
    /// their versions at once.
    pub(crate) async fn list(&self, path: Option<String>) -> Vec<AgentOffer> {
        let agents = self.clone();
        let manifest_set = match crate::threads::run(move || agents.manifest_set(None)).await {
            Ok(manifest_set) => manifest_set,
            Err(error) => {
                tracing::error!(%error, "the manifests cannot be read");
                return Vec::new();
            }
        };
        let mut env = self.shared.env.clone();
        env.extend(path.map(|path| ("PATH".to_owned(), path)));
        let env = Arc::new(env);
        let mut asked = Vec::new();
        let names: Vec<String> = manifest_set.catalogue.names().map(str::to_owned).collect();
        for name in names {
            let (agents, manifest_set, env) = (self.clone(), Arc::clone(&manifest_set), Arc::clone(&env));
            asked.push(crate::threads::run(move || agents.offer(&manifest_set, &name, &env)));
        }
        let mut list = Vec::new();
        for offer in asked {
            list.extend(offer.await.ok().flatten());
        }
        list.extend(manifest_set.only_faulty().into_iter().map(|(name, file)| AgentOffer {
            problems: manifest_set.problems_of(&name),
            name,
            program: None,
            version: None,
            origin: vec![file],
            abilities: Vec::new(),
            is_faulty: true,
        }));
        list
    }

    fn offer(
        &self,
        manifest_set: &ManifestSet,
        name: &str,
        env: &BTreeMap<String, String>,
    ) -> Option<AgentOffer> {
        let manifest = manifest_set.catalogue.get(name)?;
        let origin = manifest_set.catalogue.origin(name).to_vec();
        let mut problems = manifest_set.problems_of(name);
        let program = manifest.argv.first().map(|program| find(program, env, Path::new("/")));
        let is_own = origin.iter().any(|file| file != BUILT_IN);
        // That a program which we know is not installed is no problem; that the program of a person's own manifest
        // is missing is one.
        if let (Some(None), Some(program), true) = (&program, manifest.argv.first(), is_own) {
            problems.push(format!("{program} is not on the search path"));
        }
        let program = program.flatten();
        let version = program.as_ref().and_then(|_| self.shared.versions.ask(&manifest.version_argv, env));
        let launches = self.shared.launcher.dirs.launches();
        let fitted = Fitted::find(&manifest_set.catalogue, name, version.clone(), &launches)?;
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
            is_faulty: false,
        })
    }

    /// Returns the environment that programs run by this daemon inherit.
    pub(crate) fn env(&self) -> &BTreeMap<String, String> {
        &self.shared.env
    }
}
