//! Counts refusals that repeat: each kind is written singly at first and counted from then on, so that a
//! program that calls in a loop does not fill the disk.
//!
//! A count becomes a row when its time is over, when the log is read and when the daemon ends; only a killed
//! daemon loses the counts of its last minute. Successful calls, and calls that differ in anything but their
//! time, are always rows of their own.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use store::{AuditRow, Change};

/// The decision of a call that was allowed.
const ALLOWED: &str = "allowed";
/// Equal refusals that are written singly before they are counted.
const SINGLY: u32 = 16;
/// How long they are counted before the count is written.
const WINDOW: Duration = Duration::from_secs(60);
/// The most kinds that are remembered; others are written singly.
const MAX_KINDS: usize = 1024;

/// What makes refusals equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Refusal {
    caller: String,
    verb: String,
    target: Option<String>,
    decision: String,
    detail: String,
}

#[derive(Debug)]
struct SeenRefusals {
    since: Instant,
    /// Rows written singly.
    singly: u32,
    /// Counted since the last row, and when the newest of them came.
    counted: u64,
    newest_ms: i64,
}

/// The refusals of the last minute.
#[derive(Debug, Default)]
pub(super) struct RefusalLimiter {
    seen: HashMap<Refusal, SeenRefusals>,
}

impl RefusalLimiter {
    /// Returns true if a row is to be written by itself; otherwise it was counted.
    pub(super) fn admits(&mut self, row: &AuditRow, now: Instant) -> bool {
        if row.decision == ALLOWED {
            return true;
        }
        let kind = refusal(row);
        if self.seen.len() >= MAX_KINDS && !self.seen.contains_key(&kind) {
            return true;
        }
        let new = SeenRefusals { since: now, singly: 0, counted: 0, newest_ms: 0 };
        let seen = self.seen.entry(kind).or_insert(new);
        if seen.singly < SINGLY {
            seen.singly += 1;
            return true;
        }
        seen.counted += 1;
        seen.newest_ms = row.at_ms;
        false
    }

    /// Returns when the next count is due.
    pub(super) fn due_at(&self) -> Option<Instant> {
        self.seen.values().map(|seen| seen.since + WINDOW).min()
    }

    /// Returns the counts whose time is over. A kind without new refusals is forgotten; one that continues is
    /// only counted.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Change> {
        let mut rows = Vec::new();
        self.seen.retain(|kind, seen| {
            if now < seen.since + WINDOW {
                return true;
            }
            rows.extend(counted(kind, seen, now));
            let goes_on = seen.counted > 0;
            (seen.since, seen.counted) = (now, 0);
            goes_on
        });
        rows
    }

    /// Returns every count, due or not: for a reader of the log, or the end of the daemon.
    pub(super) fn all(&mut self, now: Instant) -> Vec<Change> {
        let mut rows = Vec::new();
        for (kind, seen) in &mut self.seen {
            rows.extend(counted(kind, seen, now));
            seen.counted = 0;
        }
        rows
    }
}

fn refusal(row: &AuditRow) -> Refusal {
    let AuditRow { caller, verb, target, decision, detail, .. } = row.clone();
    Refusal { caller, verb, target, decision, detail }
}

/// Returns the row for the counted refusals.
fn counted(kind: &Refusal, seen: &SeenRefusals, now: Instant) -> Option<Change> {
    let count = seen.counted;
    (count > 0).then(|| {
        let Refusal { caller, verb, target, decision, detail } = kind.clone();
        let within = now.saturating_duration_since(seen.since).as_secs().max(1);
        let detail = format!("{detail}; {count} more of the same within {within} s");
        Change::Audit(AuditRow {
            at_ms: seen.newest_ms,
            caller,
            verb,
            target,
            decision,
            detail,
            hash: String::new(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(at_ms: i64, target: &str, decision: &str) -> AuditRow {
        AuditRow {
            at_ms,
            caller: "p_1.1".to_owned(),
            verb: "write".to_owned(),
            target: Some(target.to_owned()),
            decision: decision.to_owned(),
            detail: "not related".to_owned(),
            hash: String::new(),
        }
    }

    fn refusals(changes: &[Change]) -> Vec<(&str, i64)> {
        let rows = changes.iter().map(|change| match change {
            Change::Audit(row) => (row.detail.as_str(), row.at_ms),
            other => panic!("{other:?}"),
        });
        rows.collect()
    }

    #[test]
    fn f11_a_refusal_in_a_loop_is_a_few_rows_and_a_count_and_no_call_is_lost() {
        let (mut refusal_limiter, now) = (RefusalLimiter::default(), Instant::now());
        let singly = (0..10_000).filter(|n| refusal_limiter.admits(&row(*n, "p_2", "denied"), now)).count();
        assert_eq!(singly, SINGLY as usize);
        assert!(refusal_limiter.due(now + WINDOW / 2).is_empty(), "its time is not over");
        let rows = refusal_limiter.due(now + WINDOW);
        assert_eq!(refusals(&rows), [("not related; 9984 more of the same within 60 s", 9_999)]);
        // It continues: one row a minute.
        assert!(!refusal_limiter.admits(&row(10_000, "p_2", "denied"), now + WINDOW));
        assert_eq!(refusal_limiter.due(now + WINDOW * 2).len(), 1);
        // After a minute without refusals it is forgotten, and the next one is a row of its own again.
        assert!(refusal_limiter.due(now + WINDOW * 3).is_empty());
        assert_eq!(refusal_limiter.due_at(), None);
        assert!(refusal_limiter.admits(&row(20_000, "p_2", "denied"), now + WINDOW * 3));
    }

    #[test]
    fn f11_deeds_and_calls_that_differ_are_rows_of_their_own() {
        let (mut refusal_limiter, now) = (RefusalLimiter::default(), Instant::now());
        assert!((0..1000).all(|n| refusal_limiter.admits(&row(n, "p_2", "allowed"), now)));
        assert!((0..3000).all(|n| refusal_limiter.admits(&row(n, &format!("p_{n}"), "denied"), now)));
        assert_eq!(refusal_limiter.seen.len(), MAX_KINDS, "what is remembered is bounded");
        assert!(refusal_limiter.all(now).is_empty());
    }

    #[test]
    fn f11_whoever_looks_sees_what_was_counted_so_far_and_sees_it_once() {
        let (mut refusal_limiter, now) = (RefusalLimiter::default(), Instant::now());
        let singly = (0..20).filter(|n| refusal_limiter.admits(&row(*n, "p_2", "denied"), now)).count();
        assert_eq!(singly, 16);
        assert_eq!(refusals(&refusal_limiter.all(now)), [("not related; 4 more of the same within 1 s", 19)]);
        assert!(refusal_limiter.all(now).is_empty());
    }
}
