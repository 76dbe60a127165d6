//! Conformance: what a terminal of our kind does with every sequence that programs send, taken from the
//! standards (ECMA-48, the VT510 manual, xterm's control sequences) and never from what our screen does.
//!
//! Each case runs in one piece and byte by byte. A case that the screen does not meet is in `gaps` with what
//! happens instead, so that any change fails a test. The share of cases that are met may not fall below the
//! goal.

mod beyond;
mod case;
mod charsets;
mod cursor;
mod edit;
mod erase;
mod gaps;
mod looks;
mod parsing;
mod reflow;
mod region;
mod reports;
mod resets;
mod tabs;
mod wide;
mod wrap;

use std::collections::BTreeSet;

use case::Case;
use gaps::NOT_UNDERSTOOD;

/// Share of cases that must be met.
const LIMIT: f64 = 0.95;

const FAMILIES: [(&str, &[Case]); 14] = [
    ("cursor", cursor::CASES),
    ("wrap", wrap::CASES),
    ("region", region::CASES),
    ("edit", edit::CASES),
    ("erase", erase::CASES),
    ("tabs", tabs::CASES),
    ("resets", resets::CASES),
    ("charsets", charsets::CASES),
    ("looks", looks::CASES),
    ("wide", wide::CASES),
    ("reflow", reflow::CASES),
    ("reports", reports::CASES),
    ("parsing", parsing::CASES),
    ("beyond", beyond::CASES),
];

fn cases() -> impl Iterator<Item = (&'static str, &'static Case)> {
    FAMILIES.into_iter().flat_map(|(family, cases)| cases.iter().map(move |case| (family, case)))
}

/// Returns what happens instead, for a case that is not met.
fn gap(case: &Case) -> Option<&'static str> {
    NOT_UNDERSTOOD.iter().find(|(name, _)| *name == case.name).map(|(_, seen)| *seen)
}

#[test]
fn g33_every_case_is_met_or_is_a_known_gap() {
    let mut faults = Vec::new();
    for (family, case) in cases() {
        let (expected, seen) = (case.expected(), case.seen(usize::MAX));
        match gap(case) {
            None if seen == expected => {}
            None => faults.push(format!("{family}: {}\n  must be {expected}\n  but is  {seen}", case.name)),
            Some(_) if seen == expected => {
                faults.push(format!("{family}: {} is met now; take it off the list of gaps", case.name));
            }
            Some(instead) if seen.to_string() == instead => {}
            Some(instead) => {
                faults
                    .push(format!("{family}: {} (a gap)\n  was     {instead}\n  but is  {seen}", case.name));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn g33_every_case_is_the_same_byte_by_byte() {
    for (family, case) in cases() {
        assert_eq!(case.seen(1), case.seen(usize::MAX), "{family}: {}", case.name);
    }
}

#[test]
fn g33_the_share_of_cases_that_are_met_reaches_the_goal() {
    let total = cases().count();
    let met = cases().filter(|(_, case)| case.seen(usize::MAX) == case.expected()).count();
    let share = met as f64 / total as f64;
    let outcome = if share >= LIMIT { "pass" } else { "fail" };
    println!("goal=33 value={share:.3} limit={LIMIT} {outcome}  {met} of {total} cases");
    assert!(total >= 250, "only {total} cases");
    assert!(share >= LIMIT, "{met} of {total} cases are met");
}

#[test]
fn g33_names_are_unique_and_every_gap_names_a_case() {
    let names: BTreeSet<&str> = cases().map(|(_, case)| case.name).collect();
    assert_eq!(names.len(), cases().count(), "a name is used twice");
    for (name, _) in NOT_UNDERSTOOD {
        assert!(names.contains(name), "no case is called {name}");
    }
}
