//! Which variables a child inherits, and how an environment is sent.
//!
//! A process that a person spawns inherits that person's environment. A process that an agent spawns inherits
//! only an allow-list: a shell full of secrets must not pass them to a program that an agent chose.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Names that a process inherits when an agent spawns it, or a person with `--clean-env`.
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
/// Prefixes of names that are inherited too.
const ALLOWED_PREFIXES: &[&str] = &["LC_", "XDG_"];
/// Names that describe another terminal than the child's; never inherited, not even by terminals.
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
/// Prefixes of such names: a terminal's own variables, by which programs recognise it or talk to it.
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

/// Returns true if this name describes the terminal of the caller, which is not the child's.
fn is_of_another_terminal(name: &str) -> bool {
    OTHER_TERMINALS.contains(&name) || OTHER_TERMINALS_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns true if a process that an agent spawns may inherit this name.
#[must_use]
pub fn is_allowed(name: &str) -> bool {
    let is_listed = ALLOWED.contains(&name) || ALLOWED_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    is_listed && !is_of_another_terminal(name)
}

/// Returns true if a process that a person spawns may inherit this name from that person's shell: all names
/// except those that describe another terminal or another process of ours.
#[must_use]
pub fn is_inheritable(name: &str) -> bool {
    !name.is_empty() && !name.contains('=') && !name.starts_with("QD_") && !is_of_another_terminal(name)
}

/// The environment of a person's shell. Its values are secrets, so its debug text has none.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables {
    /// What is text.
    pub text: BTreeMap<String, String>,
    /// Variables that are not text: name and value in hexadecimal digits.
    pub hex: BTreeMap<String, String>,
}

impl std::fmt::Debug for Variables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Variables({} text, {} others)", self.text.len(), self.hex.len())
    }
}

impl Variables {
    /// Copies the variables that `keeps` accepts.
    #[must_use]
    pub fn of(all: impl Iterator<Item = (OsString, OsString)>, keeps: impl Fn(&str) -> bool) -> Self {
        let mut taken = Self::default();
        for (name, value) in all.filter(|(name, _)| keeps(&name.to_string_lossy())) {
            match (name.into_string(), value.into_string()) {
                (Ok(name), Ok(value)) => {
                    taken.text.insert(name, value);
                }
                (name, value) => {
                    let name = name.map_or_else(|odd| odd, OsString::from);
                    let value = value.map_or_else(|odd| odd, OsString::from);
                    taken.hex.insert(to_hex(name.as_bytes()), to_hex(value.as_bytes()));
                }
            }
        }
        taken
    }
}

/// Returns how many bytes these variables take in a child.
#[must_use]
pub fn size_of(text: &BTreeMap<String, String>, hex: &BTreeMap<String, String>) -> usize {
    let text: usize = text.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    let hex: usize = hex.iter().map(|(name, value)| (name.len() + value.len()) / 2 + 2).sum();
    text + hex
}

fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 0xf)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// Decodes what [`Variables::of`] wrote; `None` for anything else.
#[must_use]
pub fn from_hex(text: &str) -> Option<OsString> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    let byte = |pair: &[u32]| u8::try_from(pair[0] * 16 + pair[1]).ok();
    Some(OsString::from_vec(digits.chunks(2).map(byte).collect::<Option<_>>()?))
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
    fn m11_what_is_not_text_travels_unchanged() {
        let odd = OsString::from_vec(vec![b'/', 0xff, 0x01]);
        let all = [("PATH".into(), "/bin".into()), ("ODD".into(), odd.clone()), ("QD_X".into(), "1".into())];
        let taken = Variables::of(all.into_iter(), is_inheritable);
        assert_eq!(taken.text, [("PATH".to_owned(), "/bin".to_owned())].into());
        let back: Vec<_> = taken.hex.iter().map(|(name, value)| (from_hex(name), from_hex(value))).collect();
        assert_eq!(back, [(Some("ODD".into()), Some(odd))]);
        assert_eq!(size_of(&taken.text, &taken.hex), "PATH=/bin0".len() + "ODD=---0".len());
        assert_eq!((from_hex("0"), from_hex("0g")), (None, None));
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
