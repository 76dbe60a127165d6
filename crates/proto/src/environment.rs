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
    "WINDOWID",
    "GPG_TTY",
    "SSH_TTY",
    "INSIDE_EMACS",
    "NVIM",
    "NVIM_LISTEN_ADDRESS",
    "VIM_TERMINAL",
    "TERM_SESSION_ID",
    "LC_TERMINAL",
    "LC_TERMINAL_VERSION",
    "TERMINAL_EMULATOR",
    "TERMINATOR_UUID",
    "TILIX_ID",
    "WT_SESSION",
    "WT_PROFILE_ID",
];
/// Families of such names: a terminal's own, by which programs know it or talk to it.
const OTHER_TERMINALS_PREFIXES: &[&str] = &[
    "ALACRITTY_",
    "GHOSTTY_",
    "GNOME_TERMINAL_",
    "ITERM_",
    "KITTY_",
    "KONSOLE_",
    "WEZTERM_",
    "XTERM_",
    "ZELLIJ",
];

/// Whether this name tells of the terminal of whoever starts a child, which is not the child's.
fn is_of_another_terminal(name: &str) -> bool {
    OTHER_TERMINALS.contains(&name) || OTHER_TERMINALS_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a child of any kind may take this name over from the environment it is started from.
#[must_use]
pub fn is_allowed(name: &str) -> bool {
    let is_listed = ALLOWED.contains(&name) || ALLOWED_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    is_listed && !is_of_another_terminal(name)
}

/// Whether a terminal that a person opens may take this name over from that person's own shell: all but what
/// describes another terminal or another process of ours.
#[must_use]
pub fn is_inheritable(name: &str) -> bool {
    !name.is_empty() && !name.contains('=') && !name.starts_with("QD_") && !is_of_another_terminal(name)
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
        let others = [
            "GPG_TTY",
            "SSH_TTY",
            "WINDOWID",
            "INSIDE_EMACS",
            "NVIM",
            "VIM_TERMINAL",
            "KITTY_PID",
            "ITERM_SESSION_ID",
            "WT_SESSION",
            "KONSOLE_VERSION",
            "LC_TERMINAL",
        ];
        for name in others {
            assert!(!is_inheritable(name) && !is_allowed(name), "{name}");
        }
        for name in ["GITHUB_TOKEN", "SSH_AUTH_SOCK", "SSH_CONNECTION", "VIMRUNTIME", "LC_TIME"] {
            assert!(is_inheritable(name), "{name}");
        }
    }
}
