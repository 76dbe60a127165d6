//! A project's rules about commands that agents bring: the table `[policy]` of its file.
//!
//! The list of allowed commands counts only while a person trusts it as it is, with the programs that it
//! resolves to. Prefix rules are refused for programs that run whatever they are given.

use std::path::Path;

use proto::Kind;
use serde::Deserialize;

use crate::project::ProjectDir;
use crate::trust_subject::{Fields, LaunchSpec, Program, quote_words};

/// Stands for any further words, at the end of a rule.
const REST: &str = "*";

/// Programs that run what their words say, so that a prefix of their words guarantees nothing.
const INTERPRETERS: &[&str] = &[
    "ash",
    "awk",
    "bash",
    "bun",
    "bunx",
    "busybox",
    "chroot",
    "chrt",
    "cmake",
    "csh",
    "dash",
    "deno",
    "doas",
    "docker",
    "ed",
    "elvish",
    "emacs",
    "env",
    "eval",
    "ex",
    "exec",
    "expect",
    "find",
    "fish",
    "flock",
    "gawk",
    "gdb",
    "git",
    "go",
    "gradle",
    "guile",
    "ionice",
    "java",
    "jq",
    "just",
    "ksh",
    "ld",
    "lua",
    "luajit",
    "m4",
    "make",
    "mawk",
    "mksh",
    "mvn",
    "nawk",
    "nice",
    "ninja",
    "node",
    "nodejs",
    "nohup",
    "npm",
    "npx",
    "nsenter",
    "nu",
    "nvim",
    "osascript",
    "parallel",
    "perl",
    "php",
    "pip",
    "pipx",
    "pnpm",
    "podman",
    "poetry",
    "pwsh",
    "pypy",
    "python",
    "rake",
    "rlwrap",
    "rsync",
    "ruby",
    "rust-script",
    "rustup",
    "scp",
    "screen",
    "script",
    "sed",
    "setarch",
    "setpriv",
    "setsid",
    "sh",
    "socat",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "tar",
    "task",
    "taskset",
    "tclsh",
    "tcsh",
    "time",
    "timeout",
    "tmux",
    "toybox",
    "ts-node",
    "tsx",
    "unshare",
    "uv",
    "uvx",
    "vi",
    "vim",
    "watch",
    "xargs",
    "yarn",
    "zsh",
];

/// Programs that run, or write to any file, what one of their options names: builders, test runners, pagers,
/// downloaders, and whatever copies files.
const OPEN_ENDED: &str = "ansible ansible-playbook apt apt-get at batch bazel bundle bwrap cabal cargo cc certbot clang clang++ \
    clojure composer cp cpio crontab crystal ctest curl dd direnv dotnet dpkg elixir entr erl esbuild fakeroot firejail g++ gcc gem \
    gh ghc gpg groff groovy gulp hatch helm hg install irb jest jshell julia kotlin kubectl ldd less lldb ln logrotate ltrace mail \
    man meson mise mocha more most mount mv mysql nano nim nix nix-build nix-shell nmap nodemon numactl nx ocaml octave openssl \
    patch pdflatex pdm perf pico playwright pre-commit prlimit psql pytest racket rpm rscript run-parts rustc rustdoc sbcl sbt scala \
    scons sftp sqlite3 ssh-keygen start-stop-daemon svn swift systemctl tcpdump tee terraform tig tox tsc turbo unbuffer valgrind \
    vite vitest watchexec webpack wget xelatex xterm zathura zig zip";

/// What happens to commands that agents bring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CommandRule {
    /// A person is asked.
    #[default]
    Ask,
    /// Listed commands need no approval; for the others a person is asked.
    Allow,
    /// None is started.
    Deny,
}

/// The table as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyToml {
    #[serde(default)]
    free: CommandRule,
    #[serde(default)]
    allow: Vec<Vec<String>>,
}

/// A project's rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policy {
    pub(crate) free: CommandRule,
    rules: Vec<Vec<String>>,
    /// The part of the file that contains them.
    text: Vec<u8>,
}

impl Policy {
    /// Returns the rules, and the faults of those that are left out.
    pub(crate) fn new(wording: PolicyToml, text: Vec<u8>) -> (Self, Vec<String>) {
        let mut faults = Vec::new();
        let mut rules = wording.allow;
        rules.retain(|rule| match fault(rule) {
            Some(why) => {
                faults.push(format!("policy.allow {}: {why}", quote_words(rule)));
                false
            }
            None => true,
        });
        (Self { free: wording.free, rules, text }, faults)
    }

    /// Returns true if the list covers a command. Only plain commands of the project itself are covered: with
    /// variables, in a terminal or as an agent the same words mean something else, and an agent may have
    /// written a program in the project.
    pub(crate) fn covers(&self, launch_spec: &LaunchSpec<'_>, program: &Program) -> bool {
        let is_plain =
            launch_spec.kind == Kind::Command && launch_spec.env.is_empty() && launch_spec.preset.is_none();
        let (cwd, top) = (Path::new(launch_spec.cwd), &launch_spec.project_dir.dir);
        // The files that an interpreter is given are those at the top of the project.
        let is_here = if program.is(is_interpreter) { cwd == top } else { cwd.starts_with(top) };
        let is_safe = is_plain && is_here && !program.is_inside(launch_spec.project_dir);
        let runs_anything = program.is(runs_anything);
        let matches = |rule: &Vec<String>| match rule.split_last() {
            Some((last, head)) if last == REST => !runs_anything && launch_spec.argv.starts_with(head),
            _ => rule.as_slice() == launch_spec.argv,
        };
        self.free == CommandRule::Allow && is_safe && self.rules.iter().any(matches)
    }

    /// Returns true if it lists nothing that a person could trust.
    pub(crate) fn is_empty(&self) -> bool {
        self.free != CommandRule::Allow || self.rules.is_empty()
    }

    /// Returns what a person trusts with the list: its text, the programs that its words resolve to, and the
    /// content of those that this user may change.
    pub(crate) fn digest(&self, project_dir: &ProjectDir, path: Option<&str>) -> String {
        let mut fields = Fields::new("quarterdeck policy 2");
        fields.put("project", project_dir.project.key.as_bytes());
        fields.put("text", &self.text);
        fields.put("free", format!("{:?}", self.free).as_bytes());
        for rule in &self.rules {
            fields.list("rule", rule.iter().map(String::as_bytes));
            let program = rule.first().and_then(|word| Program::find(word, path, &project_dir.dir));
            let real =
                program.as_ref().map_or(&[][..], |program| program.real.as_os_str().as_encoded_bytes());
            fields.put("program", real);
            if let Some(program) = &program {
                program.put_content(&mut fields, rule, &project_dir.dir);
            }
        }
        fields.hex()
    }

    /// Returns the list as a person reads it.
    pub(crate) fn command(&self) -> String {
        let lines = self.rules.iter().map(|rule| match rule.split_last() {
            Some((last, head)) if last == REST => {
                format!(
                    "allow {} and any further words, also those that make it run or write",
                    quote_words(head)
                )
            }
            _ => format!("allow {}", quote_words(rule)),
        });
        std::iter::once(format!("policy of the project: {:?}", self.free).to_lowercase())
            .chain(lines)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// Returns why a rule is refused.
fn fault(rule: &[String]) -> Option<&'static str> {
    let program = rule.first().map_or("", String::as_str);
    let is_prefix = rule.len() > 1 && rule.last().is_some_and(|word| word == REST);
    let words = if is_prefix { &rule[..rule.len() - 1] } else { rule };
    let base = program.rsplit('/').next().unwrap_or_default();
    if program.is_empty() || program == REST {
        Some("it names no program")
    } else if words.iter().any(|word| word == REST) {
        Some("* may only be the last word")
    } else if is_prefix && runs_anything(base) {
        Some("this program runs or writes whatever its arguments say: list all of its arguments")
    } else {
        None
    }
}

/// Returns true if a program of this name runs what its words say; a version at the end of the name does not
/// matter.
pub(crate) fn is_interpreter(name: &str) -> bool {
    is_among(name, |name| INTERPRETERS.contains(&name))
}

/// Returns true if a prefix of its words guarantees nothing about a program of this name.
fn runs_anything(name: &str) -> bool {
    is_interpreter(name)
        || is_among(name, |name| OPEN_ENDED.split_ascii_whitespace().any(|known| known == name))
}

fn is_among(name: &str, is_known: impl Fn(&str) -> bool) -> bool {
    let name = name.to_ascii_lowercase();
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_'));
    is_known(&name) || is_known(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b7_a_prefix_of_a_program_that_runs_anything_is_a_fault() {
        for rule in [
            &["bash", "*"][..],
            &["/usr/bin/python3.12", "x.py", "*"],
            &["env", "A=b", "*"],
            &["git", "*"],
            &["Perl5.36", "*"],
            &["cargo", "build", "*"],
            &["gcc-13", "*"],
            &["/usr/bin/curl", "*"],
            &["*"],
            &[],
            &["cargo", "*", "test"],
        ] {
            let rule: Vec<String> = rule.iter().map(|word| (*word).to_owned()).collect();
            let (policy, faults) =
                Policy::new(PolicyToml { free: CommandRule::Allow, allow: vec![rule] }, Vec::new());
            assert_eq!((policy.rules.len(), faults.len()), (0, 1), "{faults:?}");
        }
    }

    #[test]
    fn the_names_are_sorted_and_said_once() {
        assert!(INTERPRETERS.windows(2).all(|pair| pair[0] < pair[1]));
        let others: Vec<&str> = OPEN_ENDED.split_ascii_whitespace().collect();
        assert!(others.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(others.iter().all(|name| !is_interpreter(name)));
    }
}
