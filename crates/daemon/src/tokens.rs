//! The tokens of agents' runs: a second proof of who a caller is, beside its lineage.
//!
//! Owns their digests, their end and the patience with wrong ones. Refuses keeping a token (its SHA-256 is enough), and
//! refuses letting one be the only proof: outside of its run's tree it opens nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::{Caller, RunKey};
use sha2::{Digest as _, Sha256};

/// The file of a launch's directory that holds the token.
pub(crate) const FILE: &str = "token";
/// The variable that names that file to whatever lives in the run.
pub(crate) const VARIABLE: &str = "QD_TOKEN_FILE";
/// Longest text that is looked at; ours have 64 characters.
const LONGEST: usize = 1024;
/// Wrong tokens of one process after which no more are looked at.
const PATIENCE: u32 = 5;
/// How long a process must bring no wrong token to be listened to again.
const REST: Duration = Duration::from_secs(60);
/// Processes remembered for having brought wrong tokens. Full: the one that was quiet for longest is forgotten.
const REMEMBERED: usize = 256;

/// The SHA-256 of a token. It has no equality: the one comparison takes the same time wherever two differ.
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

/// A process of the system: its pid and when it started, so that a recycled pid is somebody else.
pub(crate) type PidIdentity = (i32, u64);

/// What a token is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenCheck {
    /// It is the token of the very run its bearer lives in.
    Own,
    /// It is another living run's, brought from outside of it.
    Stolen(RunKey),
    /// It is no living run's.
    Unknown,
    /// Its bearer has brought too many wrong ones: it was not looked at.
    PendingHolders,
}

/// All tokens that open something. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Tokens(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    runs: HashMap<RunKey, Digest>,
    wrong: HashMap<PidIdentity, Wrong>,
}

/// What a process has brought that was wrong.
struct Wrong {
    count: u32,
    last: Instant,
}

impl Tokens {
    /// From now on this token is this run's.
    pub(crate) fn admit(&self, run: RunKey, token: &str) {
        self.lock().runs.insert(run, Digest::of(token));
    }

    /// The run is over: its token opens nothing any more.
    pub(crate) fn revoke(&self, run: RunKey) {
        self.lock().runs.remove(&run);
    }

    /// Judges a token by where it was brought from.
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
            return TokenCheck::PendingHolders;
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

    /// Whether this process has just used up our patience, so that it is told about once.
    pub(crate) fn has_just_tired(&self, bearer: PidIdentity) -> bool {
        self.lock().wrong.get(&bearer).is_some_and(|wrong| wrong.count == PATIENCE)
    }

    /// A short lock: digests are compared under it, nothing is waited for.
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn is_tried(&self, bearer: PidIdentity, now: Instant) -> bool {
        let is_recent = |wrong: &&Wrong| now.duration_since(wrong.last) < REST;
        self.wrong.get(&bearer).filter(is_recent).is_some_and(|wrong| wrong.count >= PATIENCE)
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
        assert_eq!(judge(&tokens, 3, Caller::Human, "one"), TokenCheck::Stolen(run(1, 1)));
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
        for n in 1..=PATIENCE {
            assert_eq!(tokens.judge((7, 1), inside, "wrong", start), TokenCheck::Unknown);
            assert_eq!(tokens.has_just_tired((7, 1)), n == PATIENCE);
        }
        assert_eq!(tokens.judge((7, 1), inside, "right", start), TokenCheck::PendingHolders);
        assert!(!tokens.has_just_tired((7, 1)), "told once");
        assert_eq!(
            tokens.judge((7, 2), inside, "right", start),
            TokenCheck::Own,
            "a recycled pid is another"
        );
        let later = start + REST - Duration::from_secs(1);
        assert_eq!(
            tokens.judge((7, 1), inside, "right", later),
            TokenCheck::PendingHolders,
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
                Caller::Human,
                "x",
                start + Duration::from_millis(pid.unsigned_abs().into()),
            );
        }
        let known = tokens.lock();
        assert_eq!(known.wrong.len(), REMEMBERED);
        assert!(!known.wrong.contains_key(&(0, 1)) && known.wrong.contains_key(&(1, 1)));
    }
}
