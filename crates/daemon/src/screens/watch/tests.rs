//! Which lines are new to which watch.

use proto::{ProcessId, RunNumber};
use term::{GridSize, Limits};
use tokio::sync::mpsc;

use super::*;

/// A run's screen, its watches and a clock that only these tests move.
struct Scene {
    screen: Screen,
    matcher: Arc<Matcher>,
    watches: Watches,
    now: Instant,
}

impl Scene {
    fn new(cols: u32, rows: u32) -> Self {
        let screen = Screen::new(GridSize::clamped(cols, rows), Limits::default());
        let matcher = Matcher::without_threads(mpsc::channel(1).0);
        let run = RunKey { process: ProcessId::from_entropy(1), run: RunNumber(1) };
        let watches = Watches::new(run, Arc::clone(&matcher));
        Self { screen, matcher, watches, now: Instant::now() }
    }

    fn showing(text: &str) -> Self {
        let mut scene = Self::new(40, 6);
        scene.screen.feed(text.as_bytes());
        scene
    }

    fn wait(&mut self, number: u64, pattern: &str) {
        let pattern = LinePattern::compile(pattern).unwrap();
        self.watches.begin(WaitId(number), pattern, None, &self.screen);
    }

    /// Prints this, searches it, and returns what matched.
    fn print(&mut self, text: &str) -> Vec<(u64, String)> {
        self.screen.feed(text.as_bytes());
        self.look()
    }

    fn look(&mut self) -> Vec<(u64, String)> {
        self.search_screen();
        self.found()
    }

    /// Gives what is new to the searches, without running them.
    fn search_screen(&mut self) {
        self.now += LOOK;
        self.watches.changed(&self.screen, 0, self.now, false);
    }

    /// Returns what the searches find in what they were given.
    fn found(&mut self) -> Vec<(u64, String)> {
        let matched = |(_, fact)| match fact {
            RunFact::Matched { wait, text, .. } => Some((wait.0, text)),
            _ => None,
        };
        self.matcher.work_off().into_iter().filter_map(matched).collect()
    }

    /// Resizes as a run does.
    fn resize(&mut self, cols: u32, rows: u32) -> Vec<(u64, String)> {
        self.watches.changed(&self.screen, 0, self.now, true);
        self.screen.resize(GridSize::clamped(cols, rows));
        self.watches.resized(&self.screen);
        self.found()
    }
}

const NOTHING: [(u64, String); 0] = [];

fn hit(text: &str) -> [(u64, String); 1] {
    [(1, text.to_owned())]
}

#[test]
fn what_was_there_is_old_and_what_comes_or_changes_is_new() {
    let mut scene = Scene::showing("old needle\r\n$ ");
    scene.wait(1, "needle");
    assert_eq!(scene.print("something\r\n"), NOTHING);
    assert_eq!(scene.print("new needle"), hit("new needle"));
    let mut scene = Scene::showing("a needle\r\n");
    scene.wait(1, "needle");
    assert_eq!(scene.print("\x1b[1;1Hanother needle"), hit("another needle"));
}

#[test]
fn lines_beneath_an_alternate_screen_are_old_when_it_is_left() {
    let mut scene = Scene::showing("old needle\r\n$ edit\r\n\x1b[?1049h\x1b[Hneedle in the editor");
    scene.wait(1, "needle");
    assert_eq!(scene.print("\x1b[2;1Hmore text"), NOTHING);
    assert_eq!(scene.print("\x1b[?1049l"), NOTHING);
    assert_eq!(scene.print("$ "), NOTHING);
    assert_eq!(scene.print("ls needle"), hit("$ ls needle"));
}

#[test]
fn what_is_printed_around_an_alternate_screen_is_new() {
    let mut scene = Scene::showing("$ ");
    scene.wait(1, "before");
    scene.wait(2, "within");
    scene.wait(3, "behind");
    let within = "\x1b[?1049h\x1b[Hwithin";
    let found = scene.print(&format!("before\r\n{within}"));
    assert_eq!(found, [(1, "$ before".to_owned()), (2, "within".to_owned())]);
    assert_eq!(scene.print("\x1b[?1049lbehind"), [(3, "behind".to_owned())]);
}

#[test]
fn an_old_line_is_old_at_every_width_and_height() {
    let history: String =
        (0..30).map(|n| format!("line {n} with a needle that is long enough to be wrapped\r\n")).collect();
    let mut scene = Scene::showing(&history);
    scene.wait(1, "needle");
    for (cols, rows) in [(20, 6), (60, 6), (10, 3), (10, 20), (60, 24), (40, 2), (40, 40), (39, 6)] {
        assert_eq!(scene.resize(cols, rows), NOTHING, "{cols}x{rows}");
        assert_eq!(scene.look(), NOTHING, "{cols}x{rows}");
        assert_eq!(scene.print("more\r\n"), NOTHING, "{cols}x{rows}");
    }
    assert_eq!(scene.print("a needle\r\n"), hit("a needle"));
}

#[test]
fn what_comes_right_before_a_resize_is_not_lost() {
    let mut scene = Scene::showing("$ ");
    scene.wait(1, "needle");
    assert_eq!(scene.look(), NOTHING);
    scene.screen.feed(b"needle\r\n");
    assert_eq!(scene.resize(20, 6), hit("$ needle"));
}

#[test]
fn the_rest_of_an_old_line_whose_beginning_has_scrolled_away_is_old() {
    let mut scene = Scene::new(10, 4);
    scene.screen.feed(b"0123456789 and a needle\r\n");
    scene.wait(1, "needle");
    for n in 0..8 {
        assert_eq!(scene.print(&format!("line {n}\r\n")), NOTHING, "line {n}");
    }
    assert_eq!(scene.print("needle\r\n"), hit("needle"));
}

#[test]
fn what_is_replayed_is_old_to_whoever_waits_from_now_and_new_to_whoever_asked_for_it() {
    let mut scene = Scene::showing("the beginning\r\n");
    scene.wait(1, "needle");
    scene.wait(2, "needle");
    scene.watches.watches[1].is_from_now = false;
    scene.screen.feed(b"an old needle\r\n");
    scene.watches.replayed(&scene.screen);
    assert_eq!(scene.look(), [(2, "an old needle".to_owned())]);
    assert_eq!(scene.print("a new needle"), hit("a new needle"));
}

#[test]
fn lines_that_scroll_by_between_two_looks_are_all_looked_at_once_for_everybody() {
    let mut scene = Scene::showing("$ \r\n");
    (0..10).for_each(|n| scene.wait(n, &format!("^needle {n}$")));
    assert_eq!(scene.look(), NOTHING);
    let text: String = (0..3000)
        .map(|n| if n % 300 == 7 { format!("needle {}\r\n", n / 300) } else { format!("hay {n}\r\n") })
        .collect();
    let mut found = scene.print(&text);
    found.sort();
    assert_eq!(found, (0..10).map(|n| (n, format!("needle {n}"))).collect::<Vec<_>>());
    scene.search_screen();
    assert!(scene.watches.is_empty());
}

#[test]
fn a_watch_that_comes_later_does_not_see_what_an_earlier_one_has_yet_to_see() {
    let mut scene = Scene::showing("$ ");
    scene.wait(1, "needle");
    assert_eq!(scene.look(), NOTHING);
    scene.screen.feed(b"needle\r\n");
    scene.wait(2, "needle");
    assert_eq!(scene.look(), hit("$ needle"));
    assert_eq!(scene.look(), NOTHING);
}

/// Costs more than a microsecond for every byte of a text of a and b, and matches none of it.
const COSTLY: &str = "(?:a|b|c|ab|bc){700}Q";

/// Returns a row of that text.
fn costly_row(number: usize) -> String {
    let words: String =
        (0..400).map(|n| if (n * number / 7 + n / 3).is_multiple_of(3) { 'a' } else { 'b' }).collect();
    words + "\r\n"
}

#[test]
fn e7_looking_at_a_screen_gives_away_text_and_matches_nothing() {
    let mut scene = Scene::new(400, 6);
    scene.wait(1, COSTLY);
    scene.wait(2, "needle");
    scene.screen.feed(b"a needle\r\n");
    scene.search_screen();
    // No search had a slice, so no pattern has cost anything.
    assert!(scene.matcher.is_behind(scene.watches.watches[0].id));
    assert!(scene.matcher.is_behind(scene.watches.watches[1].id));
    assert_eq!(scene.found(), [(2, "a needle".to_owned())]);
}

#[test]
fn e7_a_search_that_is_behind_is_given_the_rest_when_it_no_longer_is() {
    let mut scene = Scene::showing(&"old\r\n".repeat(100));
    scene.wait(1, "needle");
    scene.screen.feed(b"first\r\n");
    scene.search_screen();
    assert!(scene.watches.due().is_none());
    scene.screen.feed(b"a needle\r\n");
    scene.search_screen();
    assert!(scene.watches.due().is_some(), "the rest is owed");
    assert_eq!(scene.found(), NOTHING, "it was given the first line only");
    assert_eq!(scene.look(), hit("a needle"));
}

#[test]
fn e7_what_scrolls_by_is_found_however_far_a_search_is_behind() {
    let mut scene = Scene::showing("$ \r\n");
    scene.wait(1, "^needle$");
    for round in 0..60 {
        let word = if round == 7 { "needle" } else { "hay" };
        let lines: String = (0..400).map(|n| format!("line {round} {n}\r\n{word}\r\n")).collect();
        scene.screen.feed(lines.as_bytes());
        scene.search_screen();
    }
    assert!(scene.screen.first_line().0 > 20_000, "the line has left the history long ago");
    assert_eq!(scene.found(), hit("needle"));
}

#[test]
fn e7_a_pattern_that_falls_too_far_behind_ends_and_is_told_while_the_others_go_on() {
    let mut scene = Scene::new(400, 6);
    scene.wait(1, COSTLY);
    scene.wait(2, "=end=");
    let slow = scene.watches.watches[0].id;
    let lines: String = (0..4_000).map(costly_row).collect();
    let mut said = Vec::new();
    for _ in 0..40 {
        scene.screen.feed(lines.as_bytes());
        scene.search_screen();
        // All searches but the slow one have their slices.
        said.extend(scene.matcher.work_off_but(slow));
    }
    said.extend(scene.print("=end=\r\n").into_iter().map(|(wait, _)| (wait, "matched")));
    assert_eq!(said, [(1, "outrun"), (2, "matched")]);
}

#[test]
fn e7_a_pattern_that_proves_costly_is_left_to_the_slow() {
    let mut scene = Scene::new(400, 6);
    // Small enough to count as light.
    scene.wait(1, "[ab]*a[ab]{400}Q");
    let id = scene.watches.watches[0].id;
    assert!(!scene.matcher.is_slow(id));
    let lines: String = (0..4_000).map(costly_row).collect();
    assert_eq!(scene.print(&lines), NOTHING);
    assert!(scene.matcher.is_slow(id));
    scene.wait(2, COSTLY);
    assert!(scene.matcher.is_slow(scene.watches.watches[1].id), "it is too large to be tried");
}

#[test]
fn e7_last_words_are_looked_at_before_the_end_unless_the_pattern_is_costly() {
    let mut scene = Scene::new(400, 6);
    scene.wait(1, "needle");
    scene.wait(2, &COSTLY.replace('Q', "x"));
    scene.screen.feed(b"a needle");
    scene.search_screen();
    let said = scene.watches.finish();
    assert!(matches!(said.as_slice(), [(_, RunFact::Matched { wait: WaitId(1), .. })]), "{said:?}");
    scene.watches.close_all();
    let said = scene.matcher.work_off();
    assert!(matches!(said.as_slice(), [(_, RunFact::Unmatched { wait: WaitId(2) })]), "{said:?}");
}

#[test]
fn a_watch_that_ends_leaves_no_search_and_no_text() {
    let mut scene = Scene::showing("$ \r\n");
    for number in 0..10 {
        scene.wait(number, "needle");
    }
    scene.screen.feed(b"more\r\n");
    scene.search_screen();
    assert!(scene.matcher.held().load(Ordering::Relaxed) > 0);
    scene.watches.end(WaitId(3));
    drop(std::mem::replace(&mut scene.watches, Scene::new(40, 6).watches));
    assert_eq!(scene.matcher.held().load(Ordering::Relaxed), 0);
    assert_eq!(scene.found(), NOTHING);
}
