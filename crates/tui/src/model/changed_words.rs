//! Which part of a changed line is new: what a removed line and the added line in its place do not share.

use super::diff::{DiffLine, LineKind};

/// Lines that share less than this part of themselves count as different lines, and nothing in them is marked.
const SHARED: usize = 3;

/// Marks the part that differs in every removed line and the added line in its place.
pub(crate) fn mark(lines: &mut [DiffLine]) {
    let mut at = 0;
    while at < lines.len() {
        let removed = run(lines, at, LineKind::Removed);
        let added = run(lines, at + removed, LineKind::Added);
        for pair in 0..removed.min(added) {
            let (old, new) = (at + pair, at + removed + pair);
            if let Some([in_old, in_new]) = difference(&lines[old].text, &lines[new].text) {
                (lines[old].changed, lines[new].changed) = (Some(in_old), Some(in_new));
            }
        }
        at += (removed + added).max(1);
    }
}

/// How many lines of a kind follow each other from a place on.
fn run(lines: &[DiffLine], from: usize, kind: LineKind) -> usize {
    lines[from..].iter().take_while(|line| line.kind == kind).count()
}

/// The bytes from and to which two texts differ; none where they have too little in common.
fn difference(old: &str, new: &str) -> Option<[(usize, usize); 2]> {
    let same = |(one, other): &(char, char)| one == other;
    let head: usize = old.chars().zip(new.chars()).take_while(same).map(|(one, _)| one.len_utf8()).sum();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let back = old_rest.chars().rev().zip(new_rest.chars().rev());
    let tail: usize = back.take_while(same).map(|(one, _)| one.len_utf8()).sum();
    let shared = old[..head].trim_start().len() + old_rest[old_rest.len() - tail..].trim_end().len();
    let longest = old.trim().len().max(new.trim().len());
    let range = |text: &str| (head, text.len() - tail);
    (shared * SHARED >= longest && longest > 0).then(|| [range(old), range(new)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u19_what_a_line_and_the_one_in_its_place_do_not_share_is_marked() {
        let part = |text: &str, (from, to): (usize, usize)| text[from..to].to_owned();
        for (old, new, expected) in [
            ("    token == SECRET", "    token == VAULT", ["SECRE", "VAUL"]),
            ("fn check(é: u8)", "fn check(é: u16)", ["8", "16"]),
            ("call(a)", "call(a, b)", ["", ", b"]),
            ("same", "same", ["", ""]),
        ] {
            let [in_old, in_new] = difference(old, new).unwrap();
            assert_eq!([part(old, in_old), part(new, in_new)], expected.map(str::to_owned));
        }
        for (old, new) in [("one thing", "quite another"), ("", ""), ("    a", "    b")] {
            assert_eq!(difference(old, new), None);
        }
    }
}
