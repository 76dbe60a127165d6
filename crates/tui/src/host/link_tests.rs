//! Facts about the link, on simulated ones: a clock that goes in steps, a rate, a latency, and buffers without end.

use super::*;

/// Bytes of a picture in which every row has changed.
const PICTURE: usize = 3_300;
/// Least time between two pictures of a flood.
const FRAME_MS: u64 = 16;

/// A terminal at the end of a link, and the deck's side of it.
struct Simulation {
    link: Link,
    start: Instant,
    now: Duration,
    /// Bytes per second.
    rate: f64,
    /// There and back.
    latency: Duration,
    /// When everything that was written has left the buffers.
    busy_until: Duration,
    /// When each answer is there.
    answers: VecDeque<Duration>,
    answers_questions: bool,
}

impl Simulation {
    /// A link whose terminal has answered the question of the start.
    fn new(rate: f64, latency_ms: u64) -> Self {
        let latency = Duration::from_millis(latency_ms);
        let mut simulation = Self {
            link: Link::default(),
            start: Instant::now(),
            now: Duration::ZERO,
            rate,
            latency,
            busy_until: Duration::ZERO,
            answers: VecDeque::new(),
            answers_questions: true,
        };
        simulation.link.asked_first(200);
        simulation.write(200, true);
        while !simulation.answers.is_empty() {
            simulation.step();
        }
        simulation
    }

    fn at(&self) -> Instant {
        self.start + self.now
    }

    /// Lets a millisecond pass.
    fn step(&mut self) {
        self.now += Duration::from_millis(1);
        while self.answers.pop_front_if(|answer| *answer <= self.now).is_some() {
            self.link.answered(self.at());
        }
    }

    fn write(&mut self, bytes: usize, has_question: bool) {
        self.link.wrote(bytes, self.at());
        let carried = Duration::from_secs_f64(bytes as f64 / self.rate);
        self.busy_until = self.busy_until.max(self.now) + carried;
        if has_question && self.answers_questions {
            self.answers.push_back(self.busy_until + self.latency);
        }
    }

    /// Composes a picture of so many bytes.
    fn draw(&mut self, bytes: usize) {
        let mut output = vec![b'x'; bytes];
        self.link.ask_behind(0, &mut output, self.at());
        self.write(output.len(), output.len() > bytes);
    }

    /// Draws whenever the link and the pace of a flood admit it; returns how many pictures were drawn.
    fn flood(&mut self, seconds: u64) -> usize {
        let end = self.now + Duration::from_secs(seconds);
        let (mut drawn, mut next) = (0, self.now);
        while self.now < end {
            if self.now >= next && self.link.admits(false, self.at()) {
                self.draw(PICTURE);
                (drawn, next) = (drawn + 1, self.now + Duration::from_millis(FRAME_MS));
            }
            self.step();
        }
        drawn
    }

    /// How long from now until a change is on the screen of the terminal that happens now.
    fn time_of_last_change(&mut self) -> Duration {
        let begun = self.now;
        while !self.link.admits(false, self.at()) {
            self.step();
        }
        self.draw(PICTURE);
        self.busy_until + self.latency / 2 - begun
    }
}

#[test]
fn u4_on_a_slow_link_the_last_change_is_there_in_time_whenever_the_key_is_released() {
    for latency in [0, 1, 5, 20] {
        let mut simulation = Simulation::new(50_000.0, latency);
        for _ in 0..50 {
            assert!(simulation.flood(1) >= 10, "the link is idle");
            // Not always at the same moment of a picture.
            (0..7).for_each(|_| simulation.step());
            let late = simulation.time_of_last_change();
            assert!(late <= Duration::from_millis(180), "{late:?} with a latency of {latency} ms");
        }
    }
}

#[test]
fn u4_a_fast_link_is_never_held_back_by_its_latency() {
    for latency in [1, 30, 100, 250] {
        let mut simulation = Simulation::new(2_000_000.0, latency);
        // The first round trips measure the link.
        simulation.flood(2);
        let drawn = simulation.flood(5);
        assert!(drawn >= 5 * 60, "{drawn} pictures in 5 s with a latency of {latency} ms");
    }
}

#[test]
fn u4_a_link_that_becomes_slow_is_noticed() {
    let mut simulation = Simulation::new(2_000_000.0, 20);
    simulation.flood(2);
    simulation.rate = 50_000.0;
    simulation.flood(3);
    let late = simulation.time_of_last_change();
    assert!(late <= Duration::from_millis(300), "{late:?}");
}

#[test]
fn u4_without_an_answer_the_pacing_ends_after_two_seconds_and_begins_again_with_the_answer() {
    let mut simulation = Simulation::new(50_000.0, 1);
    simulation.answers_questions = false;
    simulation.draw(PICTURE);
    let asked_at = simulation.at();
    assert!(!simulation.link.admits(false, asked_at));
    assert!(simulation.link.is_asking(asked_at));
    assert_eq!(simulation.link.overdue_at(), Some(asked_at + TIMEOUT));
    let later = asked_at + TIMEOUT;
    assert!(simulation.link.admits(false, later) && !simulation.link.is_asking(later));
    let mut picture = vec![b'x'; PICTURE];
    simulation.link.ask_behind(0, &mut picture, later);
    assert_eq!(picture.len(), PICTURE, "it is not asked again before it has answered");
    simulation.link.wrote(PICTURE, later);
    simulation.link.answered(later + Duration::from_secs(1));
    simulation.link.ask_behind(0, &mut picture, later + Duration::from_secs(1));
    assert_eq!(picture.len(), PICTURE + QUESTION.len());
}

#[test]
fn u4_a_terminal_that_never_answered_is_neither_asked_nor_paced() {
    let now = Instant::now();
    let mut link = Link::default();
    link.asked_first(200);
    link.wrote(200, now);
    for _ in 0..10 {
        let mut picture = vec![b'x'; PICTURE];
        assert!(link.admits(false, now));
        link.ask_behind(0, &mut picture, now);
        assert_eq!(picture.len(), PICTURE);
        link.wrote(picture.len(), now);
    }
    assert!(link.is_asking(now) && !link.is_asking(now + TIMEOUT));
}

#[test]
fn u1_the_echo_of_a_key_is_drawn_while_an_answer_is_awaited_and_asks_nothing_by_itself() {
    let mut simulation = Simulation::new(1_000_000.0, 100);
    // A hundred keys, one every 30 ms: the terminal is asked once for some fifty of them, and none waits.
    let mut asked = 0;
    for _ in 0..100 {
        assert!(simulation.link.admits(true, simulation.at()));
        let before = simulation.answers.len();
        simulation.draw(60);
        asked += simulation.answers.len() - before;
        (0..30).for_each(|_| simulation.step());
    }
    assert!((1..=3).contains(&asked), "{asked}");
}

#[test]
fn u4_an_answer_that_nobody_waits_for_changes_nothing() {
    let mut simulation = Simulation::new(50_000.0, 1);
    simulation.draw(PICTURE);
    simulation.link.forget_questions();
    assert!(simulation.link.admits(false, simulation.at()) && !simulation.link.is_asking(simulation.at()));
    simulation.link.answered(simulation.at());
    assert!(simulation.link.admits(false, simulation.at()));
}
