//! Taking over what an earlier daemon left: every holder that still listens, and the loss of every one that does not.
//!
//! Owns the search. Refuses killing on doubt: a holder nobody expected becomes an entry again.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use engine::input::ChildExit;
use engine::{Fact, Input, ProcessRecord, RunKey};
use holder::{ExitStatus, Link, LinkError};
use proto::{Places, Size};

use crate::agents::Agents;
use crate::screens::{NewRun, Screens};

/// How long one holder may take to answer; it does so in microseconds unless the machine is drowning.
const ANSWER: Duration = Duration::from_secs(5);

/// Links every holder there is; what the engine is to be told.
pub(crate) fn adopt_all(
    places: &Places,
    screens: &Screens,
    agents: &Agents,
    expected: &[(RunKey, String)],
) -> Vec<Input> {
    let mut inputs = Vec::new();
    let mut found = HashSet::new();
    for path in sockets(&places.holders()) {
        match adopt_one(&path, screens, agents) {
            Ok((run, input)) => {
                found.insert(run);
                inputs.push(input);
            }
            Err(LinkError::Gone) => remove_stale(&path),
            Err(error) => tracing::warn!(%error, socket = %path.display(), "a holder could not be adopted"),
        }
    }
    for (run, token) in expected.iter().filter(|(run, _)| !found.contains(run)) {
        // Its holder is gone, so nothing pins its pids: only what carries the run's own mark is ended.
        if let Err(error) = holder::sweep_lost_run(token, 0, 0) {
            tracing::warn!(%error, ?run, "could not sweep after a lost holder");
        }
        inputs.push(Input::Fact { run: *run, fact: Fact::Lost { final_offset: 0 } });
    }
    agents.sweep();
    inputs
}

fn adopt_one(path: &Path, screens: &Screens, agents: &Agents) -> Result<(RunKey, Input), LinkError> {
    let (link, hello) = Link::connect(path, ANSWER)?;
    let mut record: ProcessRecord = serde_json::from_slice(&hello.meta)
        .map_err(|error| LinkError::Io(std::io::Error::other(format!("its meta does not read: {error}"))))?;
    // The meta is as old as the run; the size is not.
    record.size = Size { cols: hello.cols, rows: hello.rows };
    let run = RunKey::new(record.id, record.run);
    let pid = hello.child_pid;
    let exit = hello.exited.map(|exit| match exit.status {
        ExitStatus::Code(code) => (ChildExit::Code(code), exit.final_offset),
        ExitStatus::Signal(signal) => (ChildExit::Signal(signal), exit.final_offset),
    });
    let mut new = NewRun::new(run, record.run_token.clone(), link, hello, false);
    new.agent = agents.adopt(&record, pid);
    screens.host(new);
    Ok((run, Input::Adopted { record: Box::new(record), pid, exit }))
}

fn sockets(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn remove_stale(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        tracing::debug!(%error, socket = %path.display(), "a stale socket could not be removed");
    }
}
