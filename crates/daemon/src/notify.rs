//! Notifies a person who may be looking elsewhere: by a command of their choice, and by their desktop. The
//! engine decides when; `settings` reads the table. An agent's text is made printable first.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use engine::RunKey;
use proto::Printable;
use serde::Deserialize;

use crate::agents::subprocess::{Subprocess, find};

/// The time limit of one command.
const LIMIT: Duration = Duration::from_secs(10);
/// The longest body: a notification is a hint, and the inbox has the rest.
const MAX_BODY: usize = 500;

/// Where the programs are searched: not in the user's own directories, which agents may write.
const SEARCHED: &str = "/usr/local/bin:/usr/bin:/bin";

/// The table `[notify]` of `config.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NotifyConfig {
    /// A program and its words; the title and the body follow as two more.
    command: Vec<String>,
    /// The desktop's own notifications, where there is a desktop.
    desktop: bool,
    /// The terminals of people who are attached to other processes: a bell and OSC 9.
    pub(crate) terminal: bool,
}

impl Default for NotifyConfig {
    fn default() -> Self {
        Self { command: Vec::new(), desktop: true, terminal: true }
    }
}

impl NotifyConfig {
    /// Returns the programs to be run for one notification.
    fn subprocesses(
        &self,
        env: &BTreeMap<String, String>,
        run: RunKey,
        title: &str,
        body: &str,
    ) -> Vec<Subprocess> {
        let mut env = env.clone();
        env.insert("PATH".to_owned(), SEARCHED.to_owned());
        env.insert("QD_PROCESS_ID".to_owned(), run.process.to_string());
        let subprocess =
            |argv| Subprocess { argv, env: env.clone(), cwd: "/".into(), input: String::new(), limit: LIMIT };
        let own = (!self.command.is_empty()).then(|| {
            self.command.iter().cloned().chain([title.to_owned(), body.to_owned()]).collect::<Vec<String>>()
        });
        let desktop = self.desktop.then(|| desktop(&env, title, body)).flatten();
        own.into_iter().chain(desktop).map(subprocess).collect()
    }
}

/// Returns the desktop's command, if there is a session bus and a program for it.
fn desktop(env: &BTreeMap<String, String>, title: &str, body: &str) -> Option<Vec<String>> {
    let has_bus = env.contains_key("DBUS_SESSION_BUS_ADDRESS")
        || env.get("XDG_RUNTIME_DIR").is_some_and(|dir| Path::new(dir).join("bus").exists());
    let has = |program| has_bus && find(program, env, Path::new("/")).is_some();
    if has("notify-send") {
        let words = ["notify-send", "--app-name=Quarterdeck", "--", title, body];
        return Some(words.map(str::to_owned).to_vec());
    }
    has("gdbus").then(|| {
        let service = "org.freedesktop.Notifications";
        let call = ["gdbus", "call", "--session", "--dest", service, "--object-path"];
        let method = ["/org/freedesktop/Notifications", "--method", "org.freedesktop.Notifications.Notify"];
        let words = call.into_iter().chain(method).map(str::to_owned);
        let arguments =
            ["'Quarterdeck'".to_owned(), "uint32 0".to_owned(), "''".to_owned(), quoted(title), quoted(body)];
        words.chain(arguments).chain(["@as []", "@a{sv} {}", "int32 -1"].map(str::to_owned)).collect()
    })
}

/// Returns a text as `gdbus` parses one.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Notifies; blocks as long as the slowest command takes. Returns what failed, for the log.
pub(crate) fn send_notification(
    ways: &NotifyConfig,
    env: &BTreeMap<String, String>,
    run: RunKey,
    title: &str,
    body: &str,
) -> Vec<String> {
    let title = Printable(title).to_string();
    let body: String = Printable(body).to_string().chars().take(MAX_BODY).collect();
    let failed = |subprocess: Subprocess| match subprocess.run() {
        Ok(done) if done.code == Some(0) => None,
        Ok(done) => Some(format!("{} ended with {:?}", subprocess.argv.join(" "), done.code)),
        Err(error) => Some(error.to_string()),
    };
    ways.subprocesses(env, run, &title, &body).into_iter().filter_map(failed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::{ProcessId, RunNumber};

    fn run() -> RunKey {
        RunKey::new(ProcessId::from_entropy(1), RunNumber(1))
    }

    #[test]
    fn c7_the_persons_command_gets_the_words_and_no_control_characters() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("told");
        let script = format!("printf '%s|%s|%s' \"$1\" \"$2\" \"$QD_PROCESS_ID\" > {}", out.display());
        let ways = NotifyConfig {
            command: ["sh", "-c", &script, "notify"].map(str::to_owned).to_vec(),
            desktop: false,
            terminal: false,
        };
        let env = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into();
        assert_eq!(send_notification(&ways, &env, run(), "a\x1b]0;x\x07b", "body"), Vec::<String>::new());
        let written = std::fs::read_to_string(out).unwrap();
        assert!(written.ends_with(&format!("|body|{}", run().process)), "{written}");
        assert!(!written.contains('\x1b'), "{written:?}");
    }

    #[test]
    fn a_text_for_the_bus_cannot_end_its_quotes() {
        assert_eq!(quoted(r"it's a \ day"), r"'it\'s a \\ day'");
    }

    #[test]
    fn without_a_session_bus_there_is_no_desktop() {
        let env = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into();
        assert_eq!(desktop(&env, "t", "b"), None);
    }
}
