//! Puts a child's environment together: what its spawner brings, what was declared, and who the child is. Decides
//! how large it may be. Which variables of the spawner a child inherits is decided in `proto::inherited_variables`; what
//! stands in for an environment that is lost, in `lost_environment`.
//!
//! It reads nobody's environment, because the caller brings it. What was declared is never replaced.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proto::inherited_variables::{is_allowed, is_inheritable, size_of};
use proto::{Dirs, Failure, Printable};

use crate::process::Process;

/// Longest value of one variable; the kernel's own limit for one string is 128 KiB.
const MAX_VALUE: usize = 96 * 1024;

/// Most that a process takes over, in bytes. The kernel takes 2 MiB with the arguments; the daemon and the holder keep it.
const MAX_ENVIRONMENT: usize = 256 * 1024;

/// What a person's process starts from: all of the environment that the person brought, without what describes another
/// terminal or is ours.
pub(crate) fn persons(offered: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    offered
        .iter()
        .filter(|(name, _)| is_inheritable(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The variables that every process may have from its starter's environment.
pub(crate) fn allowed(from: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    from.iter()
        .filter(|(name, _)| is_allowed(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Checks that what a person brought can be kept and handed to a child.
pub(crate) fn check_offered(
    offered: Option<&BTreeMap<String, String>>,
    hex: &BTreeMap<String, String>,
) -> Result<(), Failure> {
    let Some(offered) = offered else { return Ok(()) };
    let hint = "--clean-env leaves most of it out; [spawn] env_drop in config.toml leaves out what it lists";
    let size = size_of(offered, hex);
    if size > MAX_ENVIRONMENT {
        let why = format!("your environment has {size} bytes; at most {MAX_ENVIRONMENT} can be taken over");
        return Err(Failure::invalid("base_env", why).hint(hint));
    }
    let is_long = |(_, value): &(&String, &String)| value.len() > MAX_VALUE || value.contains('\0');
    if let Some((name, _)) = offered.iter().find(is_long) {
        let why = format!("the value of {} has more than {MAX_VALUE} bytes or a NUL", Printable(name));
        return Err(Failure::invalid("base_env", why).hint(hint));
    }
    Ok(())
}

/// What a run of a new process starts with: what it takes over, in a character set that its terminal understands, and what
/// was declared, as it was declared.
pub(crate) fn with_declared(
    mut base: BTreeMap<String, String>,
    declared: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    base.extend(declared.clone());
    make_utf8(&mut base, &declared);
    base
}

/// Names the ports of a task: the first is `QD_PORT`, the next `QD_PORT_1`, and so on. Those of another task go.
pub(crate) fn set_ports(env: &mut BTreeMap<String, String>, ports: &[u16]) {
    env.retain(|name, _| !name.starts_with("QD_PORT"));
    for (index, port) in ports.iter().enumerate() {
        let name = if index == 0 { "QD_PORT".to_owned() } else { format!("QD_PORT_{index}") };
        env.insert(name, port.to_string());
    }
}

/// Checks whether variables may be declared like this.
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

/// The whole environment of a run of the daemon that keeps its things at `dirs`.
pub(crate) fn compose(
    process: &Process,
    session: Option<&str>,
    dirs: Option<&Dirs>,
) -> Vec<(String, String)> {
    let mut env = process.spec.environment.env.clone();
    // Nobody takes these over; one that is there was declared.
    for (name, value) in [("TERM", "xterm-256color"), ("COLORTERM", "truecolor")] {
        env.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
    let mut set = |name: &str, value: &str| env.insert(name.to_owned(), value.to_owned());
    set("QD_PROCESS_ID", &process.id.to_string());
    set("QD_WORKSPACE_ID", &process.spec.workspace);
    set("QD_TASK_ID", process.spec.task.as_deref().unwrap_or_default());
    set("QD_SESSION_ID", session.unwrap_or_default());
    set("QD_RUN_TOKEN", &process.run.token);
    if let Some(dirs) = dirs {
        lead_to(dirs, &mut env);
    }
    env.into_iter().collect()
}

/// Makes a `qd` inside a run find the daemon it belongs to. Where it would anyway nothing is set: the usual places need
/// no names, and a run sees no more of us than it must.
fn lead_to(dirs: &Dirs, env: &mut BTreeMap<String, String>) {
    let found = Dirs::find(|name| env.get(name).cloned()).ok();
    let place = |pick: fn(&Dirs) -> &PathBuf| (pick(dirs), found.as_ref().map(pick));
    for (name, (own, found)) in [
        ("QD_RUNTIME_DIR", place(|dirs| &dirs.runtime)),
        ("QD_DATA_DIR", place(|dirs| &dirs.data)),
        ("QD_CONFIG_DIR", place(|dirs| &dirs.config)),
    ] {
        if found != Some(own)
            && let Some(own) = own.to_str()
        {
            env.insert(name.to_owned(), own.to_owned());
        }
    }
}

/// Makes the effective character set UTF-8, unless another one was declared, and changes nothing else of the locale.
fn make_utf8(env: &mut BTreeMap<String, String>, declared: &BTreeMap<String, String>) {
    let is_utf8 = |value: &String| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    };
    let effective =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find(|name| env.get(*name).is_some_and(|v| !v.is_empty()));
    match effective {
        Some(name) if is_utf8(&env[name]) || declared.contains_key(name) => {}
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
    fn m11_a_person_passes_on_everything_and_others_the_allow_list() {
        let canaries: BTreeMap<_, _> =
            (0..50).map(|n| (format!("CANARY_{n}"), "secret".to_owned())).collect();
        let mut offered = canaries.clone();
        offered.extend(map(&[("PATH", "/bin"), ("QD_RUN_TOKEN", "x"), ("TERM", "dumb")]));
        assert_eq!(allowed(&offered), map(&[("PATH", "/bin")]));
        let taken = persons(&offered);
        assert_eq!(taken.len(), 51);
        assert!(!taken.contains_key("QD_RUN_TOKEN") && !taken.contains_key("TERM"));
    }

    #[test]
    fn m11_an_environment_that_is_too_large_says_what_to_do() {
        let check = |offered: &BTreeMap<String, String>| check_offered(Some(offered), &BTreeMap::new());
        let long = |length: usize| [("A".to_owned(), "x".repeat(length))].into();
        assert!(check(&long(MAX_VALUE)).is_ok());
        let failure = check(&long(MAX_VALUE + 1)).unwrap_err();
        assert!(failure.message.contains('A') && failure.hint.unwrap().contains("--clean-env"));
        let many = (0..4).map(|n| (format!("A{n}"), "x".repeat(MAX_VALUE))).collect();
        let failure = check(&many).unwrap_err();
        assert!(failure.message.contains("at most 262144"), "{failure:?}");
    }

    #[test]
    fn h9_the_character_set_is_utf8_whatever_came_in() {
        let made = |pairs: &[(&str, &str)]| {
            let mut env = map(pairs);
            make_utf8(&mut env, &map(&[]));
            env
        };
        assert_eq!(made(&[])["LANG"], "C.UTF-8");
        assert_eq!(made(&[("LC_ALL", "C")])["LC_ALL"], "C.UTF-8");
        assert_eq!(made(&[("LANG", "de_DE")])["LC_CTYPE"], "C.UTF-8");
        assert_eq!(made(&[("LANG", "de_DE.UTF-8")]), map(&[("LANG", "de_DE.UTF-8")]));
    }

    #[test]
    fn h9_a_declared_locale_stands_and_the_rest_is_made_to_fit() {
        let base = || map(&[("LANG", "de_DE"), ("PATH", "/bin")]);
        let made = |declared: &[(&str, &str)]| with_declared(base(), map(declared));
        assert_eq!(made(&[("LC_ALL", "C")])["LC_ALL"], "C");
        assert_eq!(made(&[("LANG", "C")]), map(&[("LANG", "C"), ("PATH", "/bin")]));
        // Only what decides the character set counts: this does not.
        let sorted = made(&[("LC_COLLATE", "C")]);
        assert_eq!((&*sorted["LC_CTYPE"], &*sorted["LC_COLLATE"]), ("C.UTF-8", "C"));
        assert_eq!(made(&[("LC_ALL", "")])["LC_CTYPE"], "C.UTF-8", "an empty one says nothing");
    }

    #[test]
    fn b9_a_run_is_told_of_its_daemons_places_exactly_where_it_would_find_others() {
        let led = |pairs: &[(&str, &str)], dirs: &Dirs| {
            let mut env = map(pairs);
            lead_to(dirs, &mut env);
            pairs.iter().for_each(|(name, _)| drop(env.remove(*name)));
            env
        };
        let home = [("HOME", "/h"), ("XDG_RUNTIME_DIR", "/x")];
        let usual = Dirs::find(|name| map(&home).get(name).cloned()).unwrap();
        assert_eq!(led(&home, &usual), map(&[]));
        assert_eq!(led(&home[..1], &usual), map(&[("QD_RUNTIME_DIR", "/x/quarterdeck")]));
        let own = Dirs::below(std::path::Path::new("/own"));
        let all =
            [("QD_RUNTIME_DIR", "/own/run"), ("QD_DATA_DIR", "/own/data"), ("QD_CONFIG_DIR", "/own/config")];
        assert_eq!(led(&home, &own), map(&all));
        assert_eq!(led(&[], &own), map(&all), "without a home nothing is found");
        let mixed = Dirs { config: usual.config, ..own };
        assert_eq!(led(&home, &mixed), map(&all[..2]));
    }

    #[test]
    fn declared_variables_may_not_pretend_to_be_ours() {
        for (name, value) in [("QD_PROCESS_ID", "x"), ("", "x"), ("A=B", "x"), ("A", "\0")] {
            assert!(check_declared(&map(&[(name, value)])).is_err(), "{name}");
        }
        assert!(check_declared(&map(&[("A", "b=c")])).is_ok());
    }
}
