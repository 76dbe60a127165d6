//! How full an agent's context is: the tokens in use and the size of the window become a percentage.

use serde::{Deserialize, Serialize};

/// How full an agent's context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// Tokens of the last turn.
    pub used: u64,
    /// The size of the window in tokens; none when it is unknown.
    pub window: Option<u64>,
    /// Input and output tokens of the session.
    #[serde(default)]
    pub total: u64,
}

impl Context {
    /// Returns how full, from 0 to 100.
    #[must_use]
    pub fn percent(&self) -> Option<u8> {
        let window = self.window.filter(|window| *window > 0)?;
        let percent = self.used.saturating_mul(100).saturating_add(window / 2) / window;
        u8::try_from(percent.min(100)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_rounded_and_never_above_a_hundred() {
        let context = |used, window| Context { used, window: Some(window), total: 0 }.percent();
        assert_eq!(context(60_000, 200_000), Some(30));
        assert_eq!(context(60_020, 258_400), Some(23));
        assert_eq!(context(300, 200), Some(100));
        assert_eq!(Context { used: 1, window: Some(0), total: 0 }.percent(), None);
    }
}
