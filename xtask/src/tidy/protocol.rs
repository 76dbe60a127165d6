//! Ties docs/protocol.md to crates/proto by a hash: a change to the protocol fails until its author has read
//! the page and renewed the hash with `--bless`.

use std::path::Path;

use super::scan::is_test_path;
use super::{Finding, Tree};

const PAGE: &str = "docs/protocol.md";
const LABEL: &str = "proto-hash:";
const WORDS: &str = "crates/proto/src/";

/// Checks that the page exists, names a hash, and that the hash is today's.
pub(crate) fn check(tree: &Tree) -> Option<Finding> {
    let Some(page) = tree.find(PAGE) else {
        return Some(Finding::error(PAGE, 1, "protocol", "write the page that describes the protocol"));
    };
    let expected = hash(tree);
    let Some((index, found)) = written_hash(&page.text) else {
        return Some(Finding::error(PAGE, 1, "protocol", format!("add a line `{LABEL} {expected}`")));
    };
    let advice = format!(
        "crates/proto changed: bring this page up to date, then `cargo xtask tidy --bless` ({expected})"
    );
    (found != expected).then(|| Finding::error(PAGE, index + 1, "protocol", advice))
}

/// Writes today's hash into the page.
pub(crate) fn bless(root: &Path, tree: &Tree) -> Result<(), String> {
    let page = tree.find(PAGE).ok_or_else(|| format!("{PAGE} does not exist: write it first"))?;
    let path = root.join(PAGE);
    std::fs::write(&path, blessed(&page.text, &hash(tree)))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the page with `hash` in its hash line; a page without one gets it at the end.
pub(crate) fn blessed(page: &str, hash: &str) -> String {
    match written_hash(page) {
        Some((_, old)) if !old.is_empty() => {
            page.replacen(&format!("{LABEL} {old}"), &format!("{LABEL} {hash}"), 1)
        }
        Some(_) => page.replacen(LABEL, &format!("{LABEL} {hash}"), 1),
        None => format!("{}\n\n{LABEL} {hash}\n", page.trim_end()),
    }
}

fn written_hash(page: &str) -> Option<(usize, &str)> {
    let (index, line) = page.lines().enumerate().find(|(_, line)| line.contains(LABEL))?;
    let (_, after) = line.split_once(LABEL)?;
    let after = after.trim_start();
    let end = after.find(|character: char| !character.is_ascii_hexdigit()).unwrap_or(after.len());
    Some((index, &after[..end]))
}

/// Returns FNV-1a, 64 bits, over path and text of every file that ships; order is the tree's, which is
/// sorted.
pub(crate) fn hash(tree: &Tree) -> String {
    let words = tree.files.iter().filter(|file| file.path.starts_with(WORDS) && !is_test_path(&file.path));
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in words {
        for byte in file.path.bytes().chain([0]).chain(file.text.bytes()).chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}
