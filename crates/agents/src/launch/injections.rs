//! Collects the injections of one launch and joins documents that go to the same file or variable. The daemon
//! writes them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::overrides::overrides;
use super::{LaunchInput, PlanError, ServerPlace};
use crate::inject::Injection;
use crate::template::{Lookup, Placeholder, Template, Unfilled};

/// Words, variables and documents, collected in order.
pub(super) struct Injections<'a> {
    directory: &'a Path,
    lookup: Lookup<'a>,
    words: Vec<String>,
    env: BTreeMap<String, String>,
    files: BTreeMap<String, Value>,
    documents: BTreeMap<String, Value>,
}

/// What a plan gets from the injections.
pub(super) struct Contents {
    pub(super) env: Vec<(String, String)>,
    pub(super) files: Vec<(PathBuf, String)>,
    pub(super) notes: Vec<String>,
}

impl<'a> Injections<'a> {
    pub(super) fn new(directory: &'a Path, lookup: Lookup<'a>) -> Self {
        Self {
            directory,
            lookup,
            words: Vec::new(),
            env: BTreeMap::new(),
            files: BTreeMap::new(),
            documents: BTreeMap::new(),
        }
    }

    /// Sets a variable.
    pub(super) fn set(&mut self, name: &str, value: String) {
        self.env.insert(name.to_owned(), value);
    }

    /// Adds words.
    pub(super) fn add_words(&mut self, words: &[Template]) -> Result<(), Unfilled> {
        self.words.extend(words.iter().map(|word| word.fill(self.lookup)).collect::<Result<Vec<_>, _>>()?);
        Ok(())
    }

    /// Adds a document in the way that an injection describes.
    pub(super) fn put(
        &mut self,
        injection: &Injection,
        document: Value,
        extra: &[Template],
    ) -> Result<(), PlanError> {
        match injection {
            Injection::Flag { argument, file } => {
                let json = document.to_string();
                let path = file.as_ref().map(|file| self.write(file, document)).transpose()?;
                self.say_with(argument, path.as_deref(), &json)?;
            }
            Injection::ConfigFile { file, argument, env } => {
                let json = document.to_string();
                let path = self.write(file, document)?;
                self.say_with(argument, Some(&path), &json)?;
                for (name, value) in env {
                    let value = value.fill(&|place| self.with(place, Some(&path), &json))?;
                    self.set(name, value);
                }
            }
            Injection::EnvVar { variable } => {
                join(self.documents.entry(variable.clone()).or_insert(Value::Null), document)
            }
            Injection::CliOverride { flag } => {
                self.words.extend(overrides(&document).into_iter().flat_map(|pair| [flag.clone(), pair]));
            }
            Injection::ConfigEnv { variable, file } => {
                let path = self.write(file, document)?;
                self.set(variable, path);
            }
        }
        Ok(self.add_words(extra)?)
    }

    /// Adds the port and the password of the vendor's server.
    pub(super) fn serve(&mut self, input: &LaunchInput<'_>) -> Result<Option<ServerPlace>, Unfilled> {
        let (Some(server), Some(port)) = (&input.manifest.server, input.port) else { return Ok(None) };
        self.add_words(&server.args)?;
        for (name, value) in &server.env {
            let value = value.fill(self.lookup)?;
            self.set(name, value);
        }
        Ok(Some(ServerPlace { port, secret: input.secret.to_owned() }))
    }

    /// Returns the words so far and empties the list.
    pub(super) fn take_words(&mut self) -> Vec<String> {
        std::mem::take(&mut self.words)
    }

    /// Returns everything else. A document for a variable that the user has set is merged over the user's.
    pub(super) fn contents(self, inherited: &dyn Fn(&str) -> Option<String>) -> Contents {
        let (mut env, mut notes) = (self.env, Vec::new());
        for (variable, document) in self.documents {
            let Some(users) = inherited(&variable).filter(|text| !text.trim().is_empty()) else {
                env.insert(variable, document.to_string());
                continue;
            };
            match serde_json::from_str::<Value>(&users) {
                Ok(mut whole) if whole.is_object() => {
                    join(&mut whole, document);
                    env.insert(variable, whole.to_string());
                }
                Ok(_) | Err(_) => notes
                    .push(format!("{variable} is set and is no plain JSON object: nothing was added to it")),
            }
        }
        let files =
            self.files.into_iter().map(|(file, document)| (PathBuf::from(file), pretty(&document))).collect();
        Contents { env: env.into_iter().collect(), files, notes }
    }

    /// Adds a document to a file and returns the file's path.
    fn write(&mut self, file: &str, document: Value) -> Result<String, PlanError> {
        join(self.files.entry(file.to_owned()).or_insert(Value::Null), document);
        let path = self.directory.join(file);
        path.to_str().map(str::to_owned).ok_or(PlanError::Path(path))
    }

    /// Adds words about a file; equal words are added once.
    fn say_with(&mut self, words: &[Template], path: Option<&str>, json: &str) -> Result<(), Unfilled> {
        let filled: Vec<String> = words
            .iter()
            .map(|word| word.fill(&|place| self.with(place, path, json)))
            .collect::<Result<_, _>>()?;
        if !self.words.windows(filled.len().max(1)).any(|said| said == filled.as_slice()) {
            self.words.extend(filled);
        }
        Ok(())
    }

    fn with(&self, place: Placeholder, path: Option<&str>, json: &str) -> Option<Value> {
        match place {
            Placeholder::File => path.map(Value::from),
            Placeholder::Json => Some(json.into()),
            other => (self.lookup)(other),
        }
    }
}

/// Merges one document over another: tables key by key, everything else is replaced.
fn join(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                join(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}

fn pretty(document: &Value) -> String {
    format!("{document:#}\n")
}
