//! The names and numbers of signals, and a request to end a run: which signal, which grace.

use serde::{Deserialize, Serialize};

use crate::Failure;

/// The longest grace, in milliseconds: ten minutes.
pub const MAX_GRACE_MS: u32 = 600_000;

/// The signals that Linux has.
const NUMBERS: std::ops::RangeInclusive<i32> = 1..=64;
/// The signals that the C library keeps for itself.
const RESERVED: std::ops::RangeInclusive<i32> = 32..=33;

/// The signals that have a name, with their Linux numbers.
const NAMES: &[(&str, i32)] = &[
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("BUS", 7),
    ("FPE", 8),
    ("KILL", 9),
    ("USR1", 10),
    ("SEGV", 11),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("CHLD", 17),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("URG", 23),
    ("XCPU", 24),
    ("XFSZ", 25),
    ("VTALRM", 26),
    ("PROF", 27),
    ("WINCH", 28),
    ("IO", 29),
    ("PWR", 30),
    ("SYS", 31),
];

/// How a run is asked to end. A missing field comes from its preset, else from its kind: TERM and 5 seconds
/// for commands and agents, HUP and 1 second for terminals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// The signal that asks, by number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// How long the tree may take after that signal before it is killed; 0 kills at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u32>,
}

impl Stop {
    /// Kill at once.
    pub const NOW: Stop = Stop { signal: None, grace_ms: Some(0) };

    /// Refuses signals that cannot be sent and graces that are too long; the error names the field.
    pub fn check(self) -> Result<(), Failure> {
        if let Some(signal) = self.signal
            && !NUMBERS.contains(&signal)
        {
            return Err(Failure::invalid("signal", format!("{signal} is not between 1 and 64")));
        }
        if self.signal.is_some_and(|signal| RESERVED.contains(&signal)) {
            return Err(Failure::invalid("signal", "32 and 33 belong to the C library and cannot be sent"));
        }
        if self.grace_ms.is_some_and(|grace_ms| grace_ms > MAX_GRACE_MS) {
            let words = format!("at most {} seconds", MAX_GRACE_MS / 1000);
            return Err(Failure::invalid("grace_ms", words)
                .hint("qd kill --signal sends one signal and leaves the program its time"));
        }
        Ok(())
    }

    /// Fills missing fields from `other`.
    #[must_use]
    pub fn or(self, other: Stop) -> Stop {
        Stop { signal: self.signal.or(other.signal), grace_ms: self.grace_ms.or(other.grace_ms) }
    }
}

/// Returns the number of a signal by its name, with or without `SIG`, or by its number.
#[must_use]
pub fn signal_number(text: &str) -> Option<i32> {
    let upper = text.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    known.or_else(|| text.parse().ok().filter(|number| NUMBERS.contains(number)))
}

/// Returns `SIGTERM` for 15, `signal 40` for one without a name.
#[must_use]
pub fn signal_name(number: i32) -> String {
    let known = NAMES.iter().find(|(_, known)| *known == number);
    known.map_or_else(|| format!("signal {number}"), |(name, _)| format!("SIG{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_named_or_numbered() {
        for (text, number) in [("INT", 2), ("sigterm", 15), ("9", 9), ("64", 64)] {
            assert_eq!(signal_number(text), Some(number));
        }
        for bad in ["", "0", "65", "-1", "NOPE"] {
            assert_eq!(signal_number(bad), None, "{bad}");
        }
        assert_eq!((signal_name(15), signal_name(40)), ("SIGTERM".to_owned(), "signal 40".to_owned()));
    }

    #[test]
    fn m3a_a_grace_is_at_most_ten_minutes() {
        let grace = |grace_ms| Stop { signal: None, grace_ms: Some(grace_ms) }.check();
        assert!(grace(0).is_ok() && grace(10_000).is_ok() && grace(600_000).is_ok());
        assert!(grace(600_001).unwrap_err().message.contains("grace_ms"));
        for signal in [0, 32, 33, 65, -1] {
            assert!(Stop { signal: Some(signal), grace_ms: None }.check().is_err(), "{signal}");
        }
    }
}
