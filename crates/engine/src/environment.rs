//! The environment a child gets: an allow-list, what was declared, and who it is.
//!
//! Owns the composition. Refuses reading anybody's environment: the caller brings it.

use std::collections::BTreeMap;

use proto::environment::{is_allowed, is_inheritable};
use proto::{Failure, Kind, Printable};

use crate::input::Caller;
use crate::process::Process;

/// Longest value of one variable; the kernel's own limit for one string is 128 KiB.
const MAX_VALUE: usize = 96 * 1024;

/// What a new process starts from: the caller's environment cut down to what its kind may take over.
pub(crate) fn base(
    kind: Kind,
    caller: Caller,
    offered: Option<BTreeMap<String, String>>,
    own: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let is_persons_terminal = kind == Kind::Terminal && caller == Caller::Human;
    let keeps = |name: &String| if is_persons_terminal { is_inheritable(name) } else { is_allowed(name) };
    offered.unwrap_or_else(|| own.clone()).into_iter().filter(|(name, _)| keeps(name)).collect()
}

/// Whether variables may be declared like this.
pub(crate) fn check_declared(declared: &BTreeMap<String, String>) -> Result<(), Failure> {
    for (name, value) in declared {
        let field = || format!("env.{}", Printable(name));
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Failure::invalid("env", format!("\"{}\" is not a variable's name", Printable(name))));
        }
        if name.starts_with("QD_") {
            return Err(Failure::invalid(&field(), "names that begin with QD_ are Quarterdeck's own"));
        }
        if value.contains('\0') || value.len() > MAX_VALUE {
            return Err(Failure::invalid(
                &field(),
                format!("a value has no NUL and at most {MAX_VALUE} bytes"),
            ));
        }
    }
    Ok(())
}

/// The whole environment of a run.
pub(crate) fn compose(process: &Process, session: Option<&str>) -> Vec<(String, String)> {
    let mut env = process.env.clone();
    let mut set = |name: &str, value: &str| env.insert(name.to_owned(), value.to_owned());
    set("TERM", "xterm-256color");
    set("COLORTERM", "truecolor");
    set("QD_PROCESS_ID", &process.id.to_string());
    set("QD_WORKSPACE_ID", &process.workspace);
    set("QD_TASK_ID", process.task.as_deref().unwrap_or_default());
    set("QD_SESSION_ID", session.unwrap_or_default());
    set("QD_RUN_TOKEN", &process.run_token);
    make_utf8(&mut env);
    env.into_iter().collect()
}

/// Makes the effective character set UTF-8 and changes nothing else of the locale.
fn make_utf8(env: &mut BTreeMap<String, String>) {
    let is_utf8 = |value: &String| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    };
    let effective =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find(|name| env.get(*name).is_some_and(|v| !v.is_empty()));
    match effective {
        Some(name) if is_utf8(&env[name]) => {}
        Some("LC_ALL") => {
            env.insert("LC_ALL".to_owned(), "C.UTF-8".to_owned());
        }
        Some(_) => {
            env.insert("LC_CTYPE".to_owned(), "C.UTF-8".to_owned());
        }
        None => {
            env.insert("LANG".to_owned(), "C.UTF-8".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn b9_a_command_takes_over_only_the_allow_list() {
        let canaries: BTreeMap<_, _> =
            (0..50).map(|n| (format!("CANARY_{n}"), "secret".to_owned())).collect();
        let mut offered = canaries.clone();
        offered.extend(map(&[("PATH", "/bin"), ("QD_RUN_TOKEN", "x")]));
        assert_eq!(
            base(Kind::Command, Caller::Human, Some(offered.clone()), &map(&[])),
            map(&[("PATH", "/bin")])
        );
        assert_eq!(base(Kind::Terminal, Caller::Nobody, None, &offered), map(&[("PATH", "/bin")]));
        assert_eq!(base(Kind::Terminal, Caller::Human, Some(offered), &map(&[])).len(), 51);
    }

    #[test]
    fn h9_the_character_set_is_utf8_whatever_came_in() {
        let made = |pairs: &[(&str, &str)]| {
            let mut env = map(pairs);
            make_utf8(&mut env);
            env
        };
        assert_eq!(made(&[])["LANG"], "C.UTF-8");
        assert_eq!(made(&[("LC_ALL", "C")])["LC_ALL"], "C.UTF-8");
        assert_eq!(made(&[("LANG", "de_DE")])["LC_CTYPE"], "C.UTF-8");
        assert_eq!(made(&[("LANG", "de_DE.UTF-8")]), map(&[("LANG", "de_DE.UTF-8")]));
    }

    #[test]
    fn declared_variables_may_not_pretend_to_be_ours() {
        for (name, value) in [("QD_PROCESS_ID", "x"), ("", "x"), ("A=B", "x"), ("A", "\0")] {
            assert!(check_declared(&map(&[(name, value)])).is_err(), "{name}");
        }
        assert!(check_declared(&map(&[("A", "b=c")])).is_ok());
    }
}
