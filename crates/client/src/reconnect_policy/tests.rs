//! The policy with a made-up clock and made-up errors.

use proto::request::{Empty, Interrupt, Tell};
use proto::{Failure, Target};

use super::*;

fn broken() -> ClientError {
    ClientError::gone()
}

fn failed(code: ErrorCode) -> ClientError {
    Failure::new(code, "no").into()
}

#[test]
fn a_daemon_that_was_shut_down_is_started_only_for_a_new_request() {
    use io::ErrorKind::{ConnectionRefused, NotFound, PermissionDenied};
    for (start, gone, crashed) in [
        (DaemonStart::Always, true, true),
        (DaemonStart::AfterCrash, false, true),
        (DaemonStart::Never, false, false),
    ] {
        assert_eq!(start.is_due(NotFound), gone, "{start:?}");
        assert_eq!(start.is_due(ConnectionRefused), crashed, "{start:?}");
        assert!(!start.is_due(PermissionDenied), "a daemon may listen there");
    }
    assert_eq!(DaemonStart::Always.again(), DaemonStart::AfterCrash);
    assert_eq!(DaemonStart::Never.again(), DaemonStart::Never);
}

/// Returns the pauses of attempts that take no time and always fail.
fn pauses(retry_limit: RetryLimit) -> Vec<Duration> {
    let mut now = Instant::now();
    let mut attempts = Attempts::new(retry_limit, now);
    let pauses = std::iter::from_fn(|| {
        let pause = attempts.pause_after(&broken(), now)?;
        now += pause;
        Some(pause)
    });
    pauses.take(1_000).collect()
}

#[test]
fn pauses_double_up_to_the_longest_and_end_with_the_patience() {
    let all = pauses(RetryLimit::Person);
    assert_eq!(all[..3], [20, 40, 80].map(Duration::from_millis));
    assert!(all.iter().all(|pause| *pause <= LONGEST_PAUSE));
    assert_eq!(all.iter().sum::<Duration>(), Duration::from_secs(5));
    assert_eq!(pauses(RetryLimit::None), []);
    assert_eq!(pauses(RetryLimit::Endless).len(), 1_000);
}

#[test]
fn an_attempt_ends_with_the_deadline_of_its_caller() {
    let now = Instant::now();
    let soon = now + Duration::from_secs(1);
    let attempts = Attempts::new(RetryLimit::Stream, now).before(Some(soon));
    assert_eq!((attempts.give_up(), attempts.attempt_deadline(now)), (Some(soon), soon));
    let endless = Attempts::new(RetryLimit::Endless, now);
    assert_eq!(endless.attempt_deadline(now), now + LONGEST_ATTEMPT);
    let receipt = Attempts::new(RetryLimit::Typing, now).at_least(Some(now + Duration::from_secs(3600)), now);
    assert_eq!(receipt.give_up(), Some(now + Duration::from_secs(60)), "at most as long as a stream");
}

#[test]
fn what_another_attempt_cannot_change_ends_the_attempts() {
    let now = Instant::now();
    let mut attempts = Attempts::new(RetryLimit::Stream, now);
    assert_eq!(attempts.pause_after(&ClientError::Version { ours: 1, theirs: 2 }, now), None);
    assert_eq!(attempts.pause_after(&failed(ErrorCode::Denied), now), None);
    assert!(attempts.pause_after(&failed(ErrorCode::ShuttingDown), now).is_some());
    assert!(attempts.pause_after(&ClientError::Silent(LONGEST_PAUSE), now).is_some());
}

fn interrupt() -> Request {
    Request::Interrupt(Interrupt { target: Target("a".to_owned()) })
}

fn tell() -> Request {
    let (target, text) = (Target("a".to_owned()), "hi".to_owned());
    Request::Tell(Tell { target, text, key: None, wait_ms: None, expires_ms: None })
}

fn begun(mut request: Request, now: Instant) -> CallAttempts {
    CallAttempts::new(&mut request, RetryLimit::Call, DaemonStart::Always, now)
}

#[test]
fn a_call_that_may_be_done_twice_is_not_sent_again() {
    let now = Instant::now();
    let mut call = begun(interrupt(), now);
    assert!(call.pause_after(broken(), false, now).is_ok(), "it was not sent");
    assert!(call.pause_after(failed(ErrorCode::Busy), false, now).is_ok(), "a full daemon refuses the hello");
    assert!(matches!(call.pause_after(broken(), true, now), Err(CallError::UnknownOutcome)));
    let silent = ClientError::Silent(LONGEST_PAUSE);
    assert!(matches!(call.pause_after(silent, true, now), Err(CallError::UnknownOutcome)));
    let ending = failed(ErrorCode::ShuttingDown);
    assert!(matches!(call.pause_after(ending, true, now), Err(CallError::Refused(_))));
    assert!(matches!(call.unanswered(true), CallError::UnknownOutcome));
}

#[test]
fn a_keyed_call_is_sent_again_and_its_outcome_is_unknown_when_no_daemon_comes() {
    let now = Instant::now();
    let mut request = tell();
    let mut call = CallAttempts::new(&mut request, RetryLimit::Call, DaemonStart::Always, now);
    assert!(matches!(&request, Request::Tell(tell) if tell.key.is_some()), "it got a key");
    assert!(call.pause_after(broken(), true, now).is_ok());
    assert_eq!(call.start(), DaemonStart::AfterCrash);
    let late = now + Duration::from_secs(15);
    assert!(matches!(call.pause_after(broken(), false, late), Err(CallError::UnknownOutcome)));
}

#[test]
fn a_call_that_only_reads_is_sent_again_and_then_unreachable() {
    let now = Instant::now();
    let mut call = begun(Request::List(Empty {}), now);
    assert!(call.pause_after(broken(), true, now).is_ok());
    assert!(call.pause_after(failed(ErrorCode::ShuttingDown), true, now).is_ok());
    let refused = call.pause_after(failed(ErrorCode::Denied), true, now);
    assert!(matches!(refused, Err(CallError::Refused(failure)) if failure.code == ErrorCode::Denied));
    let late = now + Duration::from_secs(15);
    assert!(matches!(call.pause_after(broken(), true, late), Err(CallError::Unreachable(_))));
    assert!(matches!(call.unanswered(true), CallError::Unreachable(_)));
}

#[test]
fn no_two_keys_are_the_same() {
    assert_ne!(fresh_key(), fresh_key());
}
