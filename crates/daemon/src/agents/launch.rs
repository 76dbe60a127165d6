//! Turns an agent's name into what is started: manifest, plan, private files. Failures are worded for a
//! person. The holder's launcher starts the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agents::Manifest;
use agents::launch::{LaunchInput, Plan, PlanError, plan};
use engine::StartRun;
use proto::error::Cause;
use proto::{Dirs, ErrorCode, Failure, Printable};

use super::agent_run::AgentRun;
use super::directory::{Directory, Note};
use super::fitting::Fitted;
use super::random;
use super::subprocess::find;
use crate::tokens::{self, Tokens};

/// What all launches share.
pub(crate) struct AgentLauncher {
    pub(crate) dirs: Arc<Dirs>,
    /// This program, which agents call back.
    pub(crate) exe: PathBuf,
    /// The tokens with which agents' runs identify themselves.
    pub(crate) tokens: Tokens,
}

impl AgentLauncher {
    /// Returns the variables with which our own programs, run by an agent, find this daemon and identify
    /// themselves. The token itself is in none of them: vendors pass variables on to every tool, and write
    /// them into files.
    fn own_env(&self, directory: &Directory) -> Vec<(String, String)> {
        let Dirs { runtime, data, config } = &*self.dirs;
        let token = directory.path().join(tokens::FILE);
        [
            ("QD_RUNTIME_DIR", runtime),
            ("QD_DATA_DIR", data),
            ("QD_CONFIG_DIR", config),
            (tokens::VARIABLE, &token),
        ]
        .map(|(name, path)| (name.to_owned(), path.display().to_string()))
        .to_vec()
    }

    /// Turns an agent's start into its program's: argv, environment and files. The files are removed with the
    /// agent's run.
    pub(crate) fn prepare(
        &self,
        start: &mut StartRun,
        directory: Directory,
        mut fitted: Fitted,
    ) -> Result<AgentRun, Failure> {
        let manifest = &fitted.manifest;
        let mut env: BTreeMap<String, String> = start.env.iter().cloned().collect();
        inherit(&mut env, manifest, &start.person_env);
        // The next daemon finds them in what the holder keeps.
        start
            .record
            .spec
            .environment
            .env
            .extend(manifest.inherit.iter().filter_map(|name| Some((name.clone(), env.get(name)?.clone()))));
        let (plan, mut note) = self.plan(start, manifest, &directory, &env)?;
        let env = environment(env, &plan, self.own_env(&directory));
        let cwd = PathBuf::from(&start.cwd);
        let program = plan.argv.first().map_or("", String::as_str);
        if find(program, &env, &cwd).is_none() {
            return Err(not_installed(&manifest.name, program));
        }
        fitted.shortfalls.extend(plan.notes.iter().cloned());
        for shortfall in &fitted.shortfalls {
            tracing::warn!(run = ?start.run, "{}", Printable(shortfall));
        }
        (note.version, note.shortfalls) = (fitted.version, fitted.shortfalls);
        let token = random::secret().map_err(no_randomness)?;
        write(&directory, &plan, &note, &token).inspect_err(|_| drop(directory.remove()))?;
        self.tokens.admit(start.run, &token);
        start.argv = plan.argv;
        start.env = env.clone().into_iter().collect();
        let mut agent_run = AgentRun::new(start.run, cwd, env, directory, fitted.manifest, note);
        agent_run.is_fixed = start.content.is_some() || start.needs_built_in;
        Ok(agent_run)
    }

    fn plan(
        &self,
        start: &StartRun,
        manifest: &Manifest,
        directory: &Directory,
        env: &BTreeMap<String, String>,
    ) -> Result<(Plan, Note), Failure> {
        let (fresh, secret) =
            (random::uuid().map_err(no_randomness)?, random::secret().map_err(no_randomness)?);
        let port = manifest.server.as_ref().and_then(|_| random::free_port().ok());
        let agent = start.agent.clone().unwrap_or_default();
        let socket = self.dirs.socket();
        let own_env = self.own_env(directory);
        let inherited = |name: &str| env.get(name).cloned();
        let request = LaunchInput {
            manifest,
            words: start.argv.get(1..).unwrap_or_default(),
            cwd: Path::new(&start.cwd),
            directory: directory.path(),
            qd: &self.exe,
            socket: &socket,
            own_env: &own_env,
            inherited: &inherited,
            fresh_session: &fresh,
            resume: agent.resume.as_deref(),
            continues: false,
            port,
            secret: &secret,
            permissions_wait: agent.permissions_wait,
            model: agent.model.as_deref(),
            mode: agent.mode,
        };
        let plan = plan(&request).map_err(|error| no_plan(&error))?;
        let server = plan.server.as_ref();
        let note = Note {
            manifest: manifest.name.clone(),
            session: plan.session.clone(),
            port: server.map(|server| server.port),
            secret: server.map(|server| server.secret.clone()).unwrap_or_default(),
            ..Note::default()
        };
        Ok((plan, note))
    }
}

/// Copies the variables that the manifest names from the environment of the person behind the agent that
/// asks. Variables declared for this process stay. They are not stored.
pub(super) fn inherit(
    env: &mut BTreeMap<String, String>,
    manifest: &Manifest,
    person: &BTreeMap<String, String>,
) {
    for name in &manifest.inherit {
        if !env.contains_key(name)
            && let Some(value) = person.get(name)
        {
            env.insert(name.clone(), value.clone());
        }
    }
}

/// Returns the child's environment: what it would inherit, without the variables that its vendor must not
/// see, with what is injected.
fn environment(
    mut env: BTreeMap<String, String>,
    plan: &Plan,
    own: Vec<(String, String)>,
) -> BTreeMap<String, String> {
    for name in &plan.unset {
        env.remove(name);
    }
    env.extend(plan.env.iter().cloned());
    env.extend(own);
    env
}

fn write(directory: &Directory, plan: &Plan, note: &Note, token: &str) -> Result<(), Failure> {
    let written = directory.create().and_then(|()| {
        plan.files.iter().try_for_each(|(path, text)| directory.write(path, text))?;
        directory.write(Path::new(tokens::FILE), token)?;
        directory.keep(note)
    });
    written.map_err(|error| {
        let message = format!("the launch's own files cannot be written: {error}");
        Failure::new(ErrorCode::SpawnFailed, message).cause(Cause::Other)
    })
}

fn no_randomness(error: std::io::Error) -> Failure {
    Failure::new(ErrorCode::SpawnFailed, format!("the system gives no random numbers: {error}"))
}

fn no_plan(error: &PlanError) -> Failure {
    let code = match error {
        PlanError::NoModel(_) | PlanError::NoMode { .. } => ErrorCode::InvalidArgs,
        _ => ErrorCode::SpawnFailed,
    };
    let failure = Failure::new(code, Printable(&error.to_string()).to_string());
    failure.cause(Cause::Other).hint("qd agents shows what each agent can do")
}

fn not_installed(name: &str, program: &str) -> Failure {
    let message = format!("{} is not installed: there is no program {}", Printable(name), Printable(program));
    Failure::new(ErrorCode::SpawnFailed, message)
        .cause(Cause::NotFound)
        .hint("qd agents shows what is installed; programs are found by your PATH: echo $PATH")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b9_an_agent_takes_over_what_its_manifest_names_and_what_was_declared_wins() {
        let manifest =
            Manifest { inherit: vec!["KEY".to_owned(), "HOME_OF_IT".to_owned()], ..Manifest::default() };
        let mut env: BTreeMap<String, String> = [("KEY".to_owned(), "declared".to_owned())].into();
        let person = [("KEY", "the person's"), ("HOME_OF_IT", "the person's"), ("OTHER", "x")];
        let person = person.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        inherit(&mut env, &manifest, &person);
        let expected = [("HOME_OF_IT", "the person's"), ("KEY", "declared")];
        assert_eq!(env, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    }
}
