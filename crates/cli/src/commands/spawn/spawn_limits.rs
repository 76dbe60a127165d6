//! The conditions of a spawn: preset, key, readiness, budget. The daemon enforces them.

use clap::Args;
use proto::Kind;
use proto::process::Ready;
use proto::request::Spawn;
use proto::rights::Budget;

use crate::errors::CliError;

/// Milliseconds of a minute.
const MINUTE_MS: u64 = 60_000;
const BUDGET: &str = "spawns=N,live=N,depth=N,minutes=N, one of them at least";

#[derive(Debug, Default, Args)]
pub(crate) struct SpawnLimits {
    /// A stored command of the project; other options override it. `qd presets` lists them
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,

    /// A second spawn with the same key starts nothing and returns the first process
    #[arg(long)]
    key: Option<String>,

    /// Start it again after a reboot; commands only
    #[arg(long)]
    restore: bool,

    /// It is ready when it prints something that matches this regular expression; `qd wait --ready` waits for that
    #[arg(long, value_name = "RE", conflicts_with = "ready_port")]
    ready_pattern: Option<String>,

    /// It is ready when it listens on this port
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    ready_port: Option<u16>,

    /// What the processes below it may use: spawns=N,live=N,depth=N,minutes=N
    #[arg(long, value_name = "LIMITS", value_parser = budget)]
    budget: Option<Budget>,
    /// Give `qd` inside it your rights, as in a terminal that you opened; not for agents
    #[arg(long)]
    as_me: bool,
}

impl SpawnLimits {
    /// Checks that they fit the kind.
    pub(super) fn check(&self, kind: Kind) -> Result<(), CliError> {
        match (kind, &self.preset) {
            (Kind::Agent, Some(_)) => Err(CliError::usage("--preset is for commands and terminals")),
            (Kind::Agent, _) if self.as_me => {
                Err(CliError::usage("--as-me is for commands and terminals: an agent never acts for you"))
            }
            (Kind::Agent | Kind::Terminal, _) if self.restore => {
                Err(CliError::usage("--restore is for commands"))
            }
            _ => Ok(()),
        }
    }

    /// Applies them to the spawn.
    pub(super) fn applied_to(self, spawn: Spawn) -> Spawn {
        let ready = self.ready_pattern.map(Ready::Pattern).or(self.ready_port.map(Ready::Port));
        let Self { preset, key, restore, budget, as_me, .. } = self;
        Spawn { preset, key, restore, ready, budget, as_me: as_me.then_some(true), ..spawn }
    }
}

/// Parses `spawns=10,minutes=30` as limits.
fn budget(text: &str) -> Result<Budget, String> {
    let mut limits = Budget::default();
    for part in text.split(',') {
        let (name, value) = part.split_once('=').ok_or_else(|| BUDGET.to_owned())?;
        let (name, value) = (name.trim(), value.trim());
        let is_twice = match name {
            "spawns" => limits.spawns.replace(count(name, value)?).is_some(),
            "live" => limits.live.replace(count(name, value)?).is_some(),
            "depth" => limits.depth.replace(count(name, value)?).is_some(),
            "minutes" => limits.wall_ms.replace(minutes(value)?).is_some(),
            other => return Err(format!("{}: no such limit; {BUDGET}", proto::Printable(other))),
        };
        if is_twice {
            return Err(format!("{name} is given twice"));
        }
    }
    Ok(limits)
}

fn count(name: &str, value: &str) -> Result<u32, String> {
    value.parse().map_err(|_| format!("{name}: a whole number from 0 to {}", u32::MAX))
}

fn minutes(value: &str) -> Result<u64, String> {
    let minutes: Option<u64> = value.parse().ok();
    minutes
        .and_then(|minutes| minutes.checked_mul(MINUTE_MS))
        .ok_or_else(|| "minutes: a whole number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_names_its_limits() {
        let whole = Budget { spawns: Some(10), live: Some(3), depth: Some(2), wall_ms: Some(1_800_000) };
        assert_eq!(budget("spawns=10,live=3,depth=2,minutes=30"), Ok(whole));
        assert_eq!(budget(" live = 0 "), Ok(Budget { live: Some(0), ..Budget::default() }));
    }

    #[test]
    fn a_budget_that_makes_no_sense_is_told_by_its_word() {
        for (text, word) in [
            ("", "spawns=N"),
            ("10", "spawns=N"),
            ("spawns", "spawns=N"),
            ("spawns=", "spawns:"),
            ("spawns=-1", "spawns:"),
            ("live=1.5", "live:"),
            ("depth=99999999999", "depth:"),
            ("minutes=99999999999999999999", "minutes:"),
            ("minutes=18446744073709551615", "minutes:"),
            ("hours=1", "hours"),
            ("live=1,live=2", "twice"),
            ("live=1,", "spawns=N"),
        ] {
            let error = budget(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn terms_are_for_what_they_fit() {
        let preset = SpawnLimits { preset: Some("dev".into()), ..SpawnLimits::default() };
        let restore = SpawnLimits { restore: true, ..SpawnLimits::default() };
        assert!(preset.check(Kind::Command).is_ok() && preset.check(Kind::Terminal).is_ok());
        assert!(preset.check(Kind::Agent).unwrap_err().to_string().starts_with("--preset"));
        assert!(restore.check(Kind::Command).is_ok());
        assert!(restore.check(Kind::Terminal).unwrap_err().to_string().starts_with("--restore"));
    }

    #[test]
    fn a_spawn_carries_its_terms() {
        let spawn_limits = SpawnLimits {
            preset: Some("dev".into()),
            key: Some("k".into()),
            restore: true,
            ready_port: Some(80),
            ..SpawnLimits::default()
        };
        let spawn = spawn_limits.applied_to(Spawn { name: Some("web".into()), ..Spawn::default() });
        assert_eq!((spawn.name.as_deref(), spawn.preset.as_deref()), (Some("web"), Some("dev")));
        assert_eq!((spawn.key.as_deref(), spawn.restore), (Some("k"), true));
        assert_eq!((spawn.ready, spawn.budget), (Some(Ready::Port(80)), None));
    }
}
