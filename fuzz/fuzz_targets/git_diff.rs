//! Diffs of strangers' files: any bytes give files, hunks and lines whose numbers follow each other; the readers of git's
//! other outputs neither panic nor hang on the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use worktree::{FileDiff, Porcelain, parse_list, parse_merges, parse_numstat, parse_patch, visit_entries};

/// More than a diff that a person looks at.
const LONGEST: usize = 4 << 20;

fuzz_target!(|data: &[u8]| fuzz::swiftly(|| one(data)));

fn one(data: &[u8]) {
    let text = fuzz::stretched(data, fuzz::reach(data, LONGEST));
    let files = parse_patch(&text);
    files.iter().for_each(check);
    let kept: usize = files
        .iter()
        .flat_map(|file| &file.hunks)
        .flat_map(|hunk| &hunk.lines)
        .map(|line| line.text.len())
        .sum();
    assert!(kept <= text.len(), "more text than there was");
    // The deck reads the same text for a review.
    let read = String::from_utf8_lossy(&text);
    assert!(tui::fuzzing::diff(&read) <= read.len(), "more text than there was");
    let _status = Porcelain::parse(&text);
    let _worktrees = parse_list(&text);
    let _merges = parse_merges(&text);
    let _numbers = parse_numstat(&text);
    let _index = visit_entries(&text, 20, |entry| assert!(!entry.path.contains(&0)));
}

/// The lines of each side are numbered without a gap.
fn check(file: &FileDiff) {
    for hunk in &file.hunks {
        let (mut old, mut new) = (hunk.old_start, hunk.new_start);
        for line in &hunk.lines {
            assert!(
                line.old.is_none_or(|number| number == old) && line.new.is_none_or(|number| number == new)
            );
            old = old.saturating_add(u32::from(line.old.is_some()));
            new = new.saturating_add(u32::from(line.new.is_some()));
        }
    }
}
