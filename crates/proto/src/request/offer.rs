//! The environment that a person's request brings along for what it may start: the caller's own at this moment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Request, TaskAct};
use crate::inherited_variables::Variables;

/// An environment that is used only if the one of the first start is lost, as after a reboot. Only people offer one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// What is text; left out: nothing is offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_env: Option<BTreeMap<String, String>>,
    /// Variables that are not text: name and value in hexadecimal digits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub base_env_hex: BTreeMap<String, String>,
}

impl From<Variables> for Offer {
    fn from(own: Variables) -> Self {
        Self { base_env: Some(own.text), base_env_hex: own.hex }
    }
}

impl Offer {
    /// Returns true if nothing is offered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.base_env.is_none() && self.base_env_hex.is_empty()
    }

    fn fill(&mut self, own: &Variables) {
        if self.base_env.is_none() {
            *self = own.clone().into();
        }
    }
}

impl Request {
    /// Adds the caller's environment, or its search path, to a request that has a use for it and brings none.
    pub fn offer(&mut self, own: &Variables) {
        let text = || own.text.clone();
        let path = || own.text.get("PATH").cloned();
        match self {
            Self::Spawn(spawn) if spawn.base_env.is_none() => {
                (spawn.base_env, spawn.base_env_hex) = (Some(text()), own.hex.clone());
            }
            Self::Restart(restart) => restart.offer.fill(own),
            Self::Resume(resume) => resume.offer.fill(own),
            Self::Answer(answer) => answer.offer.fill(own),
            Self::Agents(agents) => agents.path = agents.path.take().or_else(path),
            Self::Presets(presets) => presets.path = presets.path.take().or_else(path),
            Self::Trust(trust) => trust.path = trust.path.take().or_else(path),
            Self::Task(task) => match &mut task.act {
                TaskAct::Create(create) => create.base_env = create.base_env.take().or_else(|| Some(text())),
                TaskAct::Land(land) => land.base_env = land.base_env.take().or_else(|| Some(text())),
                _ => {}
            },
            _ => {}
        }
    }

    /// Returns the environment that is offered with it.
    pub fn offered(&mut self) -> Option<&mut Offer> {
        match self {
            Self::Restart(restart) => Some(&mut restart.offer),
            Self::Resume(resume) => Some(&mut resume.offer),
            Self::Answer(answer) => Some(&mut answer.offer),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{AskAgents, Restart, Spawn};

    #[test]
    fn m11_a_request_that_brings_its_own_environment_keeps_it() {
        let variables = |value: &str| Variables {
            text: [("PATH".to_owned(), value.to_owned())].into(),
            ..Variables::default()
        };
        let mut spawn = Spawn { base_env: Some(variables("/mine").text), ..Spawn::default() };
        spawn.base_env_hex.insert("41".to_owned(), "ff".to_owned());
        let requests = [
            Request::Spawn(Box::new(spawn)),
            Request::Restart(Restart { offer: variables("/mine").into(), ..Restart::default() }),
            Request::Agents(AskAgents { path: Some("/mine".to_owned()) }),
        ];
        for request in requests {
            let mut offered = request.clone();
            offered.offer(&variables("/other"));
            assert_eq!(offered, request);
        }
        let mut bare = Request::Restart(Restart::default());
        bare.offer(&variables("/other"));
        assert_eq!(bare.offered().unwrap().base_env.as_ref().unwrap()["PATH"], "/other");
    }
}
