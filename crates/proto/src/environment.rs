//! Which variables a child may start from.
//!
//! Owns the allow-list and the variables every child gets. Refuses everything else: a daemon or a shell full of
//! secrets must not hand them to whatever an agent decides to run.

/// Names a `command` or `agent` may take over from whoever starts it.
const ALLOWED: &[&str] = &[
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "HOSTNAME",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK",
    "GPG_TTY",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "NO_COLOR",
    "CLICOLOR",
];
/// Families of names that may be taken over too.
const ALLOWED_PREFIXES: &[&str] = &["LC_", "XDG_"];
/// Names that describe another terminal than the child's: never taken over, not even by terminals.
const OTHER_TERMINALS: &[&str] = &[
    "TMUX",
    "TMUX_PANE",
    "STY",
    "WINDOW",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "COLUMNS",
    "LINES",
    "TERM",
    "COLORTERM",
    "TERMCAP",
    "VTE_VERSION",
    "KITTY_WINDOW_ID",
    "WEZTERM_PANE",
    "ZELLIJ",
];

/// Whether a child of any kind may take this name over from the environment it is started from.
#[must_use]
pub fn is_allowed(name: &str) -> bool {
    ALLOWED.contains(&name) || ALLOWED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a terminal that a person opens may take this name over from that person's own shell: all but what
/// describes another terminal or another process of ours.
#[must_use]
pub fn is_inheritable(name: &str) -> bool {
    !name.is_empty() && !name.contains('=') && !name.starts_with("QD_") && !OTHER_TERMINALS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b9_secrets_are_not_on_the_list() {
        for name in
            ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DATABASE_URL", "QD_TOKEN", "SECRET", "LD_PRELOAD"]
        {
            assert!(!is_allowed(name), "{name}");
        }
        assert!(["PATH", "LC_ALL", "XDG_CONFIG_HOME"].into_iter().all(is_allowed));
    }

    #[test]
    fn a_terminal_never_inherits_another_terminals_identity() {
        for name in ["TMUX", "TERM", "QD_PROCESS_ID", "COLUMNS", "", "A=B"] {
            assert!(!is_inheritable(name), "{name}");
        }
        assert!(is_inheritable("GITHUB_TOKEN"));
    }
}
