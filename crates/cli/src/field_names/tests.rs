//! Checks everything that the program may print in an error: fields have their command-line names, and hints
//! name verbs and flags that exist.

use std::path::{Path, PathBuf};

use clap::CommandFactory;

use super::*;
use crate::args::Cli;

/// Fields of requests that no error about a command line can name.
const NEVER_TOLD: &[&str] = &["pace_ms"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Returns the production sources of some crates.
fn sources(names: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut directories: Vec<PathBuf> = names.iter().map(|name| crates().join(name).join("src")).collect();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" && name != "bin" {
                directories.push(path);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = std::fs::read_to_string(&path).unwrap();
                let text = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
                found.push((path, text));
            }
        }
    }
    assert!(found.len() > 20, "the sources are there");
    found
}

#[test]
fn m15_an_error_names_flags_and_no_internal_fields() {
    for (message, expected) in [
        ("grace_ms: at most 600000", "--grace: at most 600000"),
        ("from: not together with since_ms or tail", "--from: not together with --since or tail"),
        ("ready.pattern: too long", "--ready-pattern: too long"),
        ("permissions.timeout_ms: at least 1", "--permission-wait: at least 1"),
        ("timeout_ms.", "--timeout."),
        ("no process \"my_grace_ms\"", "no process \"my_grace_ms\""),
        ("owner: name the agent to wake", "--for: name the agent to wake"),
        ("target: it would show itself", "it would show itself"),
        ("line 3: expected `argv` or `working_dir`", "line 3: expected `argv` or `working_dir`"),
    ] {
        assert_eq!(with_flag_names(message), expected);
    }
}

/// Every field with an underscore that a request has or that an error names has its flag here.
#[test]
fn m15_every_field_that_an_error_may_name_has_a_command_line_name() {
    let mut fields = Vec::new();
    for (path, text) in sources(&["proto", "engine", "daemon"]) {
        let is_request =
            path.to_string_lossy().contains("proto/src/request") || path.ends_with("proto/src/stop.rs");
        if is_request {
            fields.extend(text.lines().filter_map(|line| {
                let field = line.trim().strip_prefix("pub ")?.split_once(':')?.0;
                Some(field.to_owned())
            }));
        }
        let named = text.split("Failure::invalid(").skip(1).filter_map(|rest| {
            let literal = rest.trim_start().strip_prefix('"')?;
            Some(literal.split('"').next()?.to_owned())
        });
        fields.extend(named);
    }
    assert!(fields.iter().any(|field| field == "grace_ms") && fields.len() > 50, "{fields:?}");
    let is_internal = |field: &&String| {
        field.contains('_') && field.chars().all(|c| c.is_ascii_lowercase() || "_.".contains(c))
    };
    for field in fields.iter().filter(is_internal).filter(|field| !NEVER_TOLD.contains(&field.as_str())) {
        let told = with_flag_names(&format!("{field}: wrong"));
        assert!(!told.contains('_'), "{field} is told as \"{told}\": give it a name in NAMES");
    }
}

/// Returns the words of a hint after `qd`: a verb, perhaps a second one, and flags.
fn commands_in(text: &str) -> Vec<Vec<String>> {
    let is_word = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.is_empty();
    let all = text.split("qd ").skip(1).map(|rest| {
        let words = rest.split([' ', '`', '"', ',', ';', ':', ')', '(', '\\']);
        words.take(6).map(str::to_owned).collect::<Vec<_>>()
    });
    all.filter(|words| words.first().is_some_and(|verb| is_word(verb))).collect()
}

/// The commands in a hint exist: `qd VERB`, with the flags directly after it.
#[test]
fn m15_hints_name_verbs_and_flags_that_exist() {
    let grammar = Cli::command();
    let mut seen = 0;
    for (path, text) in sources(&["proto", "engine", "daemon", "client", "cli", "agents", "store"]) {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code.filter(|line| line.contains("hint") || line.contains("\"") && line.contains("qd ")) {
            for words in commands_in(line.split_once('"').map_or("", |(_, quoted)| quoted)) {
                let Some(verb) = grammar.find_subcommand(&words[0]) else {
                    let is_prose = ["speaks", "is", "cannot", "was", "inside", "of", "and", "to"]
                        .contains(&words[0].as_str());
                    assert!(is_prose, "{}: there is no qd {}", path.display(), words[0]);
                    continue;
                };
                seen += 1;
                for flag in words[1..].iter().filter_map(|word| word.strip_prefix("--")) {
                    let nested = words.get(1).and_then(|word| verb.find_subcommand(word));
                    let known = grammar.get_arguments().chain(verb.get_arguments());
                    let known = known.chain(nested.into_iter().flat_map(clap::Command::get_arguments));
                    let has = |argument: &clap::Arg| argument.get_long() == Some(flag);
                    let is_known = flag.is_empty() || known.into_iter().any(has);
                    assert!(is_known, "{}: qd {} has no --{flag}", path.display(), words[0]);
                }
            }
        }
    }
    assert!(seen > 60, "{seen}");
}
