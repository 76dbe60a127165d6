//! Decides how a worker waits for its next look at a flood: it yields the processor, or it sleeps.
//!
//! With two processors a sleeping worker leaves one idle, and the kernel then moves the terminal's own thread there and
//! back for every 4 KiB. A worker that yields instead keeps child, terminal and holder together on the other one, which
//! makes a flood up to half as fast again (docs/design/0005). With more processors there is always an idle one, so yielding
//! would cost energy and gain nothing.

use std::time::{Duration, Instant};

/// With more processors than this a worker always sleeps.
const FEW_PROCESSORS: usize = 2;
/// A yield that took longer went to a program that computes: somebody else needs the processor.
const LONG_YIELD: Duration = Duration::from_millis(1);
/// How long the worker sleeps between its looks after the first long yield. It doubles with every further one.
const FIRST_REST: Duration = Duration::from_millis(100);
/// The longest rest, so that a flood is soon fast again after the other program has ended.
const LONGEST_REST: Duration = Duration::from_millis(1600);
/// So many short yields in a row show that nobody else needs the processor.
const SHORT_YIELDS: u32 = 64;

/// How one worker waits during floods.
#[derive(Debug)]
pub(super) struct FloodWait {
    has_few_processors: bool,
    resting_until: Option<Instant>,
    rest: Duration,
    short_yields: u32,
}

impl FloodWait {
    /// Makes one for this machine.
    pub(super) fn new() -> Self {
        Self::with_processors(std::thread::available_parallelism().map_or(1, usize::from))
    }

    fn with_processors(count: usize) -> Self {
        let has_few_processors = count <= FEW_PROCESSORS;
        Self { has_few_processors, resting_until: None, rest: FIRST_REST, short_yields: 0 }
    }

    /// Returns true if the worker may yield now instead of sleeping.
    pub(super) fn may_yield(&self, now: Instant) -> bool {
        self.has_few_processors && self.resting_until.is_none_or(|until| until <= now)
    }

    /// Records how long a yield took that began at `start`.
    pub(super) fn yielded(&mut self, start: Instant, end: Instant) {
        if end.duration_since(start) > LONG_YIELD {
            self.resting_until = Some(end + self.rest);
            self.rest = (self.rest * 2).min(LONGEST_REST);
            self.short_yields = 0;
            return;
        }
        self.short_yields += 1;
        if self.short_yields >= SHORT_YIELDS {
            self.short_yields = 0;
            self.rest = FIRST_REST;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(30);
    const LONG: Duration = Duration::from_millis(3);

    /// A clock that yields move on.
    struct Yields(FloodWait, Instant);

    impl Yields {
        fn take(&mut self, took: Duration, count: u32) -> &mut Self {
            for _ in 0..count {
                self.0.yielded(self.1, self.1 + took);
                self.1 += took;
            }
            self
        }

        /// Returns for how long the worker sleeps from now on.
        fn rest(&self) -> Duration {
            self.0.resting_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(self.1))
        }
    }

    fn on(processors: usize) -> Yields {
        Yields(FloodWait::with_processors(processors), Instant::now())
    }

    #[test]
    fn a_worker_yields_only_where_there_are_two_processors_or_fewer() {
        let now = Instant::now();
        let may = |processors| FloodWait::with_processors(processors).may_yield(now);
        assert_eq!([1, 2, 3, 64].map(may), [true, true, false, false]);
    }

    #[test]
    fn a_worker_whose_processor_others_need_rests_longer_each_time() {
        let mut yields = on(2);
        yields.take(SHORT, 5);
        assert!(yields.0.may_yield(yields.1));
        let rests: Vec<_> = (0..7).map(|_| yields.take(LONG, 1).rest().as_millis()).collect();
        assert_eq!(rests, [100, 200, 400, 800, 1600, 1600, 1600]);
        assert!(!yields.0.may_yield(yields.1) && yields.0.may_yield(yields.1 + LONGEST_REST));
    }

    #[test]
    fn many_short_yields_make_the_next_rest_short_again() {
        let mut yields = on(2);
        yields.take(LONG, 5);
        assert_eq!(yields.take(SHORT, SHORT_YIELDS - 1).take(LONG, 1).rest(), LONGEST_REST);
        assert_eq!(yields.take(SHORT, SHORT_YIELDS).take(LONG, 1).rest(), FIRST_REST);
    }
}
