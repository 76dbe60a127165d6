//! What clears, fills or scrolls the screen allocates nothing, once the history is full. Valgrind counts: an allocator that
//! counts would need unsafe code. This file is a program of its own, which it runs under valgrind.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::hint::black_box;
use std::ops::Range;
use std::process::Command;

use term::{GridSize, Limits, Screen};

/// Says to the program under valgrind what to do: the first case, the case after the last one, and a number of rounds.
const ORDER: &str = "QD_TEST_ALLOCATIONS";
/// Rounds in which whatever is kept is allocated: the history is full afterwards.
const WARM_UP: usize = 40;
const HISTORY: usize = 30;
const ROUNDS: usize = 40;

/// What is fed first, and what in each round.
const CASES: &[(&str, &str, &str)] = &[
    ("one letter and erase all", "", "x\x1b[2J"),
    ("text and erase all", "", "\x1b[H one\r\n two\r\n three\x1b[2J"),
    ("erase in colour", "", "\x1b[41mx\x1b[2J\x1b[m\x1b[2J"),
    ("erase above and below", "", "\x1b[30;30Hx\x1b[1J\x1b[J"),
    ("erase all on the other screen", "\x1b[?1049h", "x\x1b[2J"),
    ("alignment pattern", "", "\x1b#8"),
    ("alignment pattern and erase all", "", "\x1b#8\x1b[2J"),
    ("scroll up", "", "\x1b[Hx\x1b[7S"),
    ("scroll down", "", "\x1b[Hx\x1b[7T"),
    ("scroll a region", "\x1b[5;20r", "x\x1b[3S\x1b[3T"),
    ("line feeds", "\x1b[60H", "x\n\n\n"),
    ("reverse line feeds", "", "\x1b[Hx\x1bM\x1bM"),
    // The counter-proof: the other screen is made when it is entered.
    ("entering the other screen", "", "\x1b[?1049h\x1b[?1049l"),
];
const COUNTER_PROOF: usize = CASES.len() - 1;

fn feed(case: usize, rounds: usize) {
    let mut screen = Screen::new(GridSize::clamped(200, 60), Limits { history_lines: HISTORY });
    let (_, first, each) = CASES[case];
    screen.feed(first.as_bytes());
    for _ in 0..WARM_UP + rounds {
        screen.feed(black_box(each.as_bytes()));
    }
    black_box(screen.version());
}

/// Does nothing unless it runs under valgrind.
#[test]
fn rounds_of_some_cases() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let numbers: Vec<usize> = order.split(' ').map(|number| number.parse().unwrap()).collect();
    (numbers[0]..numbers[1]).for_each(|case| feed(case, numbers[2]));
}

/// Returns how many blocks this program allocates with so many rounds of these cases.
fn blocks(cases: &Range<usize>, rounds: usize) -> u64 {
    let mut command = Command::new("valgrind");
    command.args(["--tool=dhat", "--dhat-out-file=/dev/null"]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "rounds_of_some_cases", "--test-threads=1"]);
    command.env(ORDER, format!("{} {} {rounds}", cases.start, cases.end));
    let output = command.output().expect("valgrind is there: cargo xtask setup installs it");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    // ==1234== Total:     1,234,567 bytes in 8,901 blocks
    let total = told.lines().find(|line| line.contains("Total:")).expect("valgrind counts");
    let digits = total.split(" bytes in ").nth(1).unwrap().chars().filter(char::is_ascii_digit);
    digits.collect::<String>().parse().unwrap()
}

/// Returns how many more blocks it is with more rounds.
fn more(cases: &Range<usize>) -> u64 {
    blocks(cases, ROUNDS).abs_diff(blocks(cases, 0))
}

#[test]
fn m5e_what_clears_fills_or_scrolls_the_screen_allocates_nothing() {
    let (all, proof) = (more(&(0..COUNTER_PROOF)), more(&(COUNTER_PROOF..CASES.len())));
    println!("{all} blocks in {ROUNDS} rounds of all cases, {proof} in those of the counter-proof");
    assert!(proof >= ROUNDS as u64, "what allocates is not counted: {proof}");
    // The test program itself is not quite steady. One block in each round of one case would be too many.
    if all >= ROUNDS as u64 / 2 {
        let each: Vec<(&str, u64)> =
            CASES.iter().enumerate().map(|(number, case)| (case.0, more(&(number..number + 1)))).collect();
        panic!("{all} blocks in {ROUNDS} rounds: {each:?}");
    }
}
