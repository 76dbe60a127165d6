//! The tokens of agents' runs: a second proof of a caller's identity, beside its lineage.
//!
//! Only the SHA-256 of a token is kept. A token is never the only proof: outside its run's tree it gives no
//! rights. After several wrong ones a process is ignored for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::{Caller, RunKey};
use sha2::{Digest as _, Sha256};

/// The file of a launch's directory that holds the token.
pub(crate) const FILE: &str = "token";
/// The variable that names that file to the programs in the run.
pub(crate) const VARIABLE: &str = "QD_TOKEN_FILE";
/// The longest text that is checked; ours have 64 characters.
const LONGEST: usize = 1024;
/// Wrong tokens of one process after which no more are checked.
const MAX_WRONG_TOKENS: u32 = 5;
/// How long a process must send no wrong token until it is checked again.
const REST: Duration = Duration::from_secs(60);
/// The most processes that are remembered for wrong tokens. When it is full, the one with the oldest wrong
/// token is forgotten.
const REMEMBERED: usize = 256;

/// The SHA-256 of a token. It has no equality: the one comparison takes constant time.
struct Digest([u8; 32]);

impl Digest {
    fn of(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }

    fn is(&self, other: &Self) -> bool {
        let difference = self.0.iter().zip(&other.0).fold(0, |all, (a, b)| all | (a ^ b));
        std::hint::black_box(difference) == 0
    }
}

/// A process of the system: its pid and its start time, so that a recycled pid is another process.
pub(crate) type PidIdentity = (i32, u64);

/// The result of checking a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenCheck {
    /// The token of the run in which its sender lives.
    Own,
    /// The token of another living run, sent from outside of it.
    Stolen(RunKey),
    /// It is no living run's.
    Unknown,
    /// Its sender has sent too many wrong ones: it was not checked.
    TooManyTries,
}

/// All valid tokens. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Tokens(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    runs: HashMap<RunKey, Digest>,
    wrong: HashMap<PidIdentity, Wrong>,
}

/// The wrong tokens of a process.
struct Wrong {
    count: u32,
    last: Instant,
}

impl Tokens {
    /// Registers the token of a run.
    pub(crate) fn admit(&self, run: RunKey, token: &str) {
        self.lock().runs.insert(run, Digest::of(token));
    }

    /// Removes the token of a run that is over.
    pub(crate) fn revoke(&self, run: RunKey) {
        self.lock().runs.remove(&run);
    }

    /// Checks a token against the run that it was sent from.
    pub(crate) fn judge(
        &self,
        bearer: PidIdentity,
        lineage: Caller,
        token: &str,
        now: Instant,
    ) -> TokenCheck {
        let digest = Digest::of(if token.len() <= LONGEST { token } else { "" });
        let mut known = self.lock();
        if known.is_tried(bearer, now) {
            known.remember(bearer, now);
            return TokenCheck::TooManyTries;
        }
        let owner = known.runs.iter().find(|(_, kept)| kept.is(&digest)).map(|(run, _)| *run);
        match owner {
            Some(run) if lineage == Caller::Process(run) => TokenCheck::Own,
            owner => {
                known.remember(bearer, now);
                owner.map_or(TokenCheck::Unknown, TokenCheck::Stolen)
            }
        }
    }

    /// Returns true if this process has just reached the limit, so that it is reported once.
    pub(crate) fn has_just_tired(&self, bearer: PidIdentity) -> bool {
        self.lock().wrong.get(&bearer).is_some_and(|wrong| wrong.count == MAX_WRONG_TOKENS)
    }

    /// Locks briefly: digests are compared under the lock, and nothing waits.
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn is_tried(&self, bearer: PidIdentity, now: Instant) -> bool {
        let is_recent = |wrong: &&Wrong| now.duration_since(wrong.last) < REST;
        self.wrong.get(&bearer).filter(is_recent).is_some_and(|wrong| wrong.count >= MAX_WRONG_TOKENS)
    }

    fn remember(&mut self, bearer: PidIdentity, now: Instant) {
        self.wrong.retain(|_, wrong| now.duration_since(wrong.last) < REST);
        if self.wrong.len() >= REMEMBERED && !self.wrong.contains_key(&bearer) {
            let quietest = self.wrong.iter().min_by_key(|(_, wrong)| wrong.last).map(|(bearer, _)| *bearer);
            quietest.and_then(|quietest| self.wrong.remove(&quietest));
        }
        let wrong = self.wrong.entry(bearer).or_insert(Wrong { count: 0, last: now });
        *wrong = Wrong { count: wrong.count.saturating_add(1), last: now };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::{ProcessId, RunNumber};

    fn run(process: u64, number: u32) -> RunKey {
        RunKey::new(ProcessId::from_entropy(process), RunNumber(number))
    }

    fn judge(tokens: &Tokens, pid: i32, lineage: Caller, token: &str) -> TokenCheck {
        tokens.judge((pid, 1), lineage, token, Instant::now())
    }

    #[test]
    fn b5_a_token_opens_only_its_own_living_run_and_only_from_inside() {
        let tokens = Tokens::default();
        tokens.admit(run(1, 1), "one");
        tokens.admit(run(2, 1), "two");
        let inside = Caller::Process(run(1, 1));
        assert_eq!(judge(&tokens, 1, inside, "one"), TokenCheck::Own);
        assert_eq!(judge(&tokens, 2, inside, "two"), TokenCheck::Stolen(run(2, 1)));
        assert_eq!(judge(&tokens, 3, Caller::Person, "one"), TokenCheck::Stolen(run(1, 1)));
        assert_eq!(judge(&tokens, 4, Caller::Nobody, "one"), TokenCheck::Stolen(run(1, 1)));
        for garbage in ["", "on", "one ", "ONE", &"x".repeat(LONGEST + 1)] {
            assert_eq!(judge(&tokens, 5, inside, garbage), TokenCheck::Unknown, "{garbage}");
            tokens.lock().wrong.clear();
        }
        tokens.revoke(run(1, 1));
        tokens.admit(run(1, 2), "again");
        assert_eq!(judge(&tokens, 6, inside, "one"), TokenCheck::Unknown);
        assert_eq!(judge(&tokens, 6, Caller::Process(run(1, 2)), "one"), TokenCheck::Unknown);
        assert_eq!(judge(&tokens, 6, Caller::Process(run(1, 2)), "again"), TokenCheck::Own);
    }

    #[test]
    fn b5_the_sixth_token_after_five_wrong_ones_is_not_looked_at_until_a_minute_has_passed() {
        let tokens = Tokens::default();
        let inside = Caller::Process(run(1, 1));
        tokens.admit(run(1, 1), "right");
        let start = Instant::now();
        for n in 1..=MAX_WRONG_TOKENS {
            assert_eq!(tokens.judge((7, 1), inside, "wrong", start), TokenCheck::Unknown);
            assert_eq!(tokens.has_just_tired((7, 1)), n == MAX_WRONG_TOKENS);
        }
        assert_eq!(tokens.judge((7, 1), inside, "right", start), TokenCheck::TooManyTries);
        assert!(!tokens.has_just_tired((7, 1)), "reported once");
        assert_eq!(
            tokens.judge((7, 2), inside, "right", start),
            TokenCheck::Own,
            "a recycled pid is another"
        );
        let later = start + REST - Duration::from_secs(1);
        assert_eq!(
            tokens.judge((7, 1), inside, "right", later),
            TokenCheck::TooManyTries,
            "asking prolongs it"
        );
        assert_eq!(tokens.judge((7, 1), inside, "right", later + REST), TokenCheck::Own);
    }

    #[test]
    fn b5_a_crowd_of_liars_is_forgotten_in_the_order_of_their_silence() {
        let tokens = Tokens::default();
        let start = Instant::now();
        for pid in 0..=i32::try_from(REMEMBERED).unwrap() {
            tokens.judge(
                (pid, 1),
                Caller::Person,
                "x",
                start + Duration::from_millis(pid.unsigned_abs().into()),
            );
        }
        let known = tokens.lock();
        assert_eq!(known.wrong.len(), REMEMBERED);
        assert!(!known.wrong.contains_key(&(0, 1)) && known.wrong.contains_key(&(1, 1)));
    }
}
