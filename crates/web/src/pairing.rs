//! Pairing codes: one at a time, for two minutes, burnt after five wrong tries.
//!
//! `qd web` and `qd pair` put the digest of a code into a file, and `qd web` takes it out when somebody shows the code.
//! The number of tries counts in all, not by address: behind a tunnel every caller has the same one.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::{MINUTE, now_ms};
use crate::identity::Scope;
use crate::private_file::{read_private, write_private};
use crate::secrets::{Secret, SecretDigest, normal_code};

/// How long a code lives.
const LIFE: u64 = 2 * MINUTE;
/// The wrong tries that burn a code.
const MOST_WRONG: u32 = 5;
/// The most tries in a minute that were refused. A right one does not count: a person at the machine asked for its code.
const MOST_TRIES: usize = 10;

/// What a code is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodePurpose {
    /// A new device with this scope.
    Pair(Scope),
    /// Proof that a person at the machine confirms what a device is about to do.
    Confirm,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredCode {
    digest: SecretDigest,
    expires: u64,
    purpose: CodePurpose,
}

/// Why a code was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeRefusal {
    /// No code is open: it was used, burnt or is too old, or there was none.
    NoCode,
    /// It is another one.
    Wrong,
    /// Too many wrong tries in this minute.
    TooOften,
}

#[derive(Debug, Default)]
struct Tries {
    wrong: u32,
    recent: VecDeque<u64>,
}

/// The codes of one server.
#[derive(Debug)]
pub struct Pairing {
    path: PathBuf,
    tries: Mutex<Tries>,
}

impl Pairing {
    /// Returns the codes that are kept in `directory`.
    #[must_use]
    pub fn open(directory: &Path) -> Self {
        Self { path: directory.join("code.json"), tries: Mutex::default() }
    }

    /// Makes a new code; an earlier one is void.
    pub fn issue(&self, purpose: CodePurpose) -> io::Result<Secret> {
        let code = Secret::code()?;
        let open = StoredCode { digest: code.digest(), expires: now_ms() + LIFE, purpose };
        write_private(&self.path, &serde_json::to_vec(&open)?)?;
        Ok(code)
    }

    /// Takes a code that somebody shows; it cannot be used again.
    pub fn redeem(&self, shown: &str) -> Result<CodePurpose, CodeRefusal> {
        let taken = self.redeem_at(shown, now_ms());
        tracing::trace!(is_good = taken.is_ok(), "a code was shown");
        taken
    }

    fn redeem_at(&self, shown: &str, now: u64) -> Result<CodePurpose, CodeRefusal> {
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        tries.recent.retain(|at| now.saturating_sub(*at) < MINUTE);
        if tries.recent.len() >= MOST_TRIES {
            return Err(CodeRefusal::TooOften);
        }
        tries.recent.push_back(now);
        let open = self.read().filter(|open| open.expires > now).ok_or(CodeRefusal::NoCode)?;
        if open.digest.matches(&SecretDigest::of(&normal_code(shown))) {
            tries.wrong = 0;
            tries.recent.pop_back();
            // If it cannot be removed, it must not be used either.
            return fs::remove_file(&self.path).map(|()| open.purpose).map_err(|_| CodeRefusal::NoCode);
        }
        tries.wrong += 1;
        if tries.wrong >= MOST_WRONG {
            tries.wrong = 0;
            drop(fs::remove_file(&self.path));
        }
        Err(CodeRefusal::Wrong)
    }

    /// Returns how long a code is still good for; none if it was used or burnt, or if there is another one.
    pub(crate) fn life_left(&self, code: &Secret) -> Option<Duration> {
        let open = self.read().filter(|open| open.digest.matches(&code.digest()))?;
        Some(Duration::from_millis(open.expires.saturating_sub(now_ms())))
    }

    fn read(&self) -> Option<StoredCode> {
        serde_json::from_slice(&read_private(&self.path).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::Role;

    fn pairing() -> (tempfile::TempDir, Pairing) {
        let root = tempfile::tempdir().unwrap();
        let pairing = Pairing::open(root.path());
        (root, pairing)
    }

    fn purpose() -> CodePurpose {
        CodePurpose::Pair(Scope { role: Role::Type, ..Scope::default() })
    }

    #[test]
    fn w7_a_code_works_once_and_the_newest_alone() {
        let (_root, pairing) = pairing();
        let old = pairing.issue(purpose()).unwrap();
        let code = pairing.issue(purpose()).unwrap();
        assert_eq!(pairing.redeem(old.expose()), Err(CodeRefusal::Wrong));
        assert_eq!(pairing.redeem(code.expose()), Ok(purpose()));
        assert_eq!(pairing.redeem(code.expose()), Err(CodeRefusal::NoCode));
    }

    #[test]
    fn w7_five_wrong_tries_burn_the_code() {
        let (_root, pairing) = pairing();
        let code = pairing.issue(purpose()).unwrap();
        for _ in 0..MOST_WRONG {
            assert_eq!(pairing.redeem("00000000"), Err(CodeRefusal::Wrong));
        }
        assert_eq!(pairing.redeem(code.expose()), Err(CodeRefusal::NoCode));
    }

    #[test]
    fn w7_a_code_is_void_after_two_minutes() {
        let (_root, pairing) = pairing();
        let code = pairing.issue(purpose()).unwrap();
        assert_eq!(pairing.redeem_at(code.expose(), now_ms() + LIFE + 1), Err(CodeRefusal::NoCode));
    }

    #[test]
    fn w7_right_codes_may_be_used_as_often_as_a_person_makes_them() {
        let (_root, pairing) = pairing();
        let now = now_ms();
        for _ in 0..=MOST_TRIES {
            let code = pairing.issue(purpose()).unwrap();
            assert_eq!(pairing.redeem_at(code.expose(), now), Ok(purpose()));
        }
    }

    #[test]
    fn w7_there_are_ten_wrong_tries_a_minute_in_all() {
        let (_root, pairing) = pairing();
        let now = now_ms();
        (0..MOST_TRIES).for_each(|_| assert_eq!(pairing.redeem_at("x", now), Err(CodeRefusal::NoCode)));
        let code = pairing.issue(purpose()).unwrap();
        assert_eq!(pairing.redeem_at(code.expose(), now), Err(CodeRefusal::TooOften));
        assert_eq!(pairing.redeem_at(code.expose(), now + MINUTE), Ok(purpose()));
    }
}
