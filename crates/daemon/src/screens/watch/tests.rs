//! What is new to whom.

use term::{Limits, Size};

use super::*;

/// A run's screen, its watches and a clock that only these tests move.
struct Scene {
    screen: Screen,
    watches: Watches,
    now: Instant,
}

impl Scene {
    fn new(cols: u32, rows: u32) -> Self {
        let screen = Screen::new(Size::clamped(cols, rows), Limits::default());
        Self { screen, watches: Watches::default(), now: Instant::now() }
    }

    fn showing(text: &str) -> Self {
        let mut scene = Self::new(40, 6);
        scene.screen.feed(text.as_bytes());
        scene
    }

    fn wait(&mut self, number: u64, pattern: &str) {
        let pattern = LinePattern::compile(pattern).unwrap();
        self.watches.begin(WaitId(number), pattern, true, &self.screen);
    }

    /// What matched once this was printed and looked at.
    fn print(&mut self, text: &str) -> Vec<(u64, String)> {
        self.screen.feed(text.as_bytes());
        self.look()
    }

    fn look(&mut self) -> Vec<(u64, String)> {
        self.now += LOOK;
        let hits = self.watches.changed(&self.screen, self.now, false);
        hits.into_iter().map(|hit| (hit.wait.0, hit.text)).collect()
    }

    /// As a run does it.
    fn resize(&mut self, cols: u32, rows: u32) -> Vec<(u64, String)> {
        let hits = self.watches.changed(&self.screen, self.now, true);
        self.screen.resize(Size::clamped(cols, rows));
        self.watches.resized(&self.screen);
        hits.into_iter().map(|hit| (hit.wait.0, hit.text)).collect()
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
    let pattern = LinePattern::compile("needle").unwrap();
    scene.watches.begin(WaitId(2), pattern, false, &scene.screen);
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
