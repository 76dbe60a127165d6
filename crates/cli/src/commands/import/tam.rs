//! The files of tam: its ledger, one event in JSON on each line, and its settings.
//!
//! | event | fields |
//! |---|---|
//! | `task_created` | `name`, `dir`, `owned`, `timestamp` |
//! | `agent_run_started` | `task`, `provider`, `session_id` if it is known, `timestamp` |
//! | `agent_run_ended` | `task`, `exit_code`, `timestamp` |
//! | `worktree_deleted`, `task_dropped` | `task`, `timestamp` |
//!
//! Times are seconds since 1970. tam passes over lines that do not read; so do we.

use proto::request::{ImportTask, ImportedRun};
use serde::Deserialize;

/// One line of the ledger.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum LedgerEvent {
    TaskCreated { name: String, dir: String, owned: bool, timestamp: u64 },
    AgentRunStarted { task: String, provider: String, session_id: Option<String>, timestamp: u64 },
    AgentRunEnded { task: String, exit_code: i32, timestamp: u64 },
    WorktreeDeleted {},
    TaskDropped { task: String },
}

/// What a ledger says.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Tasks that were not dropped, in the order in which they were created.
    pub(super) tasks: Vec<TamTask>,
    /// Lines that do not read.
    pub(super) unreadable: usize,
}

/// A task that was not dropped.
#[derive(Debug)]
pub(super) struct TamTask {
    name: String,
    directory: String,
    owned: bool,
    created_at: u64,
    runs: Vec<(String, ImportedRun)>,
}

impl Ledger {
    pub(super) fn parse(text: &str) -> Self {
        let mut ledger = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            match serde_json::from_str(line) {
                Ok(event) => ledger.apply(event),
                Err(_) => ledger.unreadable += 1,
            }
        }
        ledger
    }

    fn apply(&mut self, event: LedgerEvent) {
        match event {
            LedgerEvent::TaskCreated { name, dir, owned, timestamp } => {
                self.tasks.retain(|task| task.name != name);
                let (created_at, runs) = (milliseconds(timestamp), Vec::new());
                self.tasks.push(TamTask { name, directory: dir, owned, created_at, runs });
            }
            LedgerEvent::AgentRunStarted { task, provider, session_id, timestamp } => {
                let run = ImportedRun {
                    session: session_id.filter(|session| !session.is_empty()),
                    started_at: milliseconds(timestamp),
                    ended_at: None,
                    code: None,
                };
                self.find(&task).into_iter().for_each(|task| task.runs.push((provider.clone(), run.clone())));
            }
            LedgerEvent::AgentRunEnded { task, exit_code, timestamp } => {
                let last = self.find(&task).and_then(|task| task.runs.last_mut());
                if let Some((_, run)) = last.filter(|(_, run)| run.ended_at.is_none()) {
                    (run.ended_at, run.code) = (Some(milliseconds(timestamp)), Some(exit_code));
                }
            }
            LedgerEvent::WorktreeDeleted {} => {}
            LedgerEvent::TaskDropped { task } => self.tasks.retain(|known| known.name != task),
        }
    }

    fn find(&mut self, name: &str) -> Option<&mut TamTask> {
        self.tasks.iter_mut().find(|task| task.name == name)
    }
}

impl TamTask {
    pub(super) fn name(self) -> String {
        self.name
    }

    /// The agent of its newest run.
    pub(super) fn agent(&self) -> Option<String> {
        self.runs.last().map(|(agent, _)| agent.clone())
    }

    pub(super) fn request(self, agent: Option<String>, dry_run: bool) -> ImportTask {
        ImportTask {
            name: self.name,
            directory: self.directory,
            owned: self.owned,
            agent,
            created_at: self.created_at,
            runs: self.runs.into_iter().map(|(_, run)| run).collect(),
            dry_run,
        }
    }
}

fn milliseconds(seconds: u64) -> u64 {
    seconds.saturating_mul(1000)
}

/// What of tam's settings has a meaning here.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TamSettings {
    /// The agent of a task that never ran one.
    pub(super) agent: Option<String>,
    /// Tables for config.toml, each ended by an empty line.
    pub(super) settings: String,
    /// What was left out, and why.
    pub(super) notes: Vec<String>,
}

impl TamSettings {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
        let at = |table_name: &str, key: &str| table.get(table_name).and_then(|inner| inner.get(key));
        let text_at = |table_name, key| at(table_name, key).and_then(toml::Value::as_str).map(str::to_owned);
        let agent = text_at("spawn", "default_agent").or_else(|| text_at("spawn", "agent"));
        let mut found = Self { agent, ..Self::default() };
        let root = text_at("worktree", "root");
        let root = root.filter(|root| found.is_usable_root(root));
        let tasks = [("root", root), ("agent", found.agent.clone())];
        let tasks =
            tasks.into_iter().filter_map(|(key, value)| Some(format!("{key} = {}\n", quoted(&value?))));
        let depth = at("discovery", "max_depth").and_then(toml::Value::as_integer);
        let depth = depth.map(|depth| format!("depth = {}\n", depth.clamp(0, 255)));
        let ignore =
            at("discovery", "ignore").and_then(toml::Value::as_array).map(|list| found.ignored(list));
        let tables =
            [("tasks", tasks.collect::<String>()), ("projects", depth.into_iter().chain(ignore).collect())];
        let filled = tables.iter().filter(|(_, lines)| !lines.is_empty());
        let filled: Vec<String> = filled.map(|(name, lines)| format!("[{name}]\n{lines}")).collect();
        found.settings = filled.join("\n");
        for (name, key) in
            [("daemon", "scrollback"), ("notify", "command"), ("session", "finder"), ("tui", "commands")]
        {
            if at(name, key).is_some() {
                found.notes.push(format!("{key} of tam's [{name}] has no counterpart and was left out"));
            }
        }
        Ok(found)
    }

    fn is_usable_root(&mut self, root: &str) -> bool {
        let is_usable = root.starts_with('/') || root.starts_with("~/") || root == "~";
        if !is_usable {
            self.notes.push("root of tam's [worktree] is relative and was left out".to_owned());
        }
        is_usable
    }

    /// The list of directories that are not searched; a pattern with a star that is not at its end has no counterpart.
    fn ignored(&mut self, list: &[toml::Value]) -> String {
        let names = list.iter().filter_map(toml::Value::as_str);
        let (kept, left): (Vec<&str>, Vec<&str>) = names.partition(|name| {
            let beginning = name.strip_suffix('*').unwrap_or(name);
            !beginning.contains(['*', '?', '[', '/'])
        });
        for name in left {
            self.notes.push(format!("`{name}` of tam's ignore list has no counterpart and was left out"));
        }
        let quoted: Vec<String> = kept.into_iter().map(quoted).collect();
        format!("ignore = [{}]\n", quoted.join(", "))
    }
}

/// A text as TOML has it, which quotes as JSON does.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEDGER: &str = r#"
{"type":"task_created","name":"old","dir":"/w/app--old","owned":true,"timestamp":50}
{"type":"task_dropped","task":"old","timestamp":60}
{"type":"task_created","name":"feat","dir":"/w/app--feat","owned":true,"timestamp":100}
{"type":"agent_run_started","task":"feat","provider":"one","session_id":"s1","timestamp":200}
{"type":"agent_run_ended","task":"feat","exit_code":0,"timestamp":300}
{"type":"agent_run_started","task":"feat","provider":"two","timestamp":400}
{"type":"worktree_deleted","task":"old","timestamp":410}
not json
{"type":"something_newer","task":"feat"}
{"type":"task_created","name":"notes","dir":"/home/me/notes","owned":false,"timestamp":500}
{"type":"task_created","name":"old","dir":"/w/app--old","owned":true,"timestamp":600}
"#;

    #[test]
    fn k11_a_ledger_is_read_as_its_live_tasks_with_their_runs() {
        let ledger = Ledger::parse(LEDGER);
        assert_eq!(ledger.unreadable, 2);
        let names: Vec<&str> = ledger.tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["feat", "notes", "old"], "a name that was used again is a new task");
        let mut tasks = ledger.tasks.into_iter();
        let feat = tasks.next().unwrap();
        assert_eq!(feat.agent().as_deref(), Some("two"));
        let request = feat.request(None, true);
        let first = ImportedRun {
            session: Some("s1".to_owned()),
            started_at: 200_000,
            ended_at: Some(300_000),
            code: Some(0),
        };
        let second = ImportedRun { started_at: 400_000, ..ImportedRun::default() };
        assert_eq!(request.runs, [first, second]);
        assert_eq!((request.owned, request.created_at, request.dry_run), (true, 100_000, true));
        let notes = tasks.next().unwrap().request(Some("a".to_owned()), false);
        assert_eq!((notes.owned, notes.agent.as_deref(), notes.dry_run), (false, Some("a"), false));
    }

    #[test]
    fn k11_settings_with_a_counterpart_become_tables_and_the_rest_is_named() {
        let text = "[spawn]\ndefault_agent = 'one'\n[worktree]\nroot = '~/worktrees'\nauto_init = true\n\
                    [discovery]\nmax_depth = 5\nignore = ['.*', 'node_modules', '**/out']\n[session]\nfinder = 'f'\n";
        let found = TamSettings::parse(text).unwrap();
        let wanted = "[tasks]\nroot = \"~/worktrees\"\nagent = \"one\"\n\n[projects]\ndepth = 5\n\
                      ignore = [\".*\", \"node_modules\"]\n";
        assert_eq!(found.settings, wanted);
        assert_eq!(daemon::check_settings(&found.settings), Ok(()));
        assert_eq!(found.notes.len(), 2, "{:?}", found.notes);
        assert_eq!(TamSettings::parse("").unwrap(), TamSettings::default());
        assert!(TamSettings::parse("[").is_err());
    }
}
