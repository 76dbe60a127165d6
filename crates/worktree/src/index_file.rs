//! Reads the names and flags in git's index file (versions 2, 3 and 4), without git.
//!
//! It reads only what a fingerprint and a removal need: which files are tracked, and which of them git does
//! not compare.

/// The file has something that this reader does not know, or it is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadableIndex;

/// One tracked file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexEntry<'a> {
    /// The path from the top of the checkout.
    pub path: &'a [u8],
    /// The mode as git writes it, in its 16 bits.
    pub mode: u32,
    /// True if git assumes that the file is unchanged (`assume-unchanged`, `skip-worktree`).
    pub is_unwatched: bool,
}

/// What `mode` is for a submodule.
pub const SUBMODULE: u32 = 0o160_000;
/// What `mode` is for a whole directory of a sparse index.
const SPARSE_DIRECTORY: u32 = 0o040_000;

const HEADER: usize = 12;
/// Times, device, inode, mode, user, group and size.
const STAT: usize = 40;
const ASSUME_VALID: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const SKIP_WORKTREE: u16 = 0x4000;

/// Calls `visit` for each entry in order.
///
/// # Errors
/// [`UnreadableIndex`] for an unknown version, a split or sparse index, or a file that is cut.
pub fn visit_entries(
    index: &[u8],
    hash_length: usize,
    mut visit: impl FnMut(IndexEntry<'_>),
) -> Result<(), UnreadableIndex> {
    let version = number(index, 4)?;
    if !index.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return Err(UnreadableIndex);
    }
    let mut at = HEADER;
    let mut path = Vec::new();
    for _ in 0..number(index, 8)? {
        let begin = at;
        let flags = short(index, begin + STAT + hash_length)?;
        at = begin + STAT + hash_length + 2;
        let extended = if version >= 3 && flags & EXTENDED != 0 {
            at += 2;
            short(index, at - 2)?
        } else {
            0
        };
        at = if version == 4 {
            compressed(index, at, &mut path)?
        } else {
            padded(index, begin, at, &mut path)?
        };
        let mode = number(index, begin + 24)?;
        if mode == SPARSE_DIRECTORY {
            return Err(UnreadableIndex);
        }
        let is_unwatched = flags & ASSUME_VALID != 0 || extended & SKIP_WORKTREE != 0;
        visit(IndexEntry { path: &path, mode, is_unwatched });
    }
    refuse_split_index(index, at, hash_length)
}

/// Version 2 and 3: the name ends with NUL; one to eight of them make the length of the entry a multiple of eight.
fn padded(index: &[u8], begin: usize, at: usize, path: &mut Vec<u8>) -> Result<usize, UnreadableIndex> {
    let length = length_to_nul(index, at)?;
    path.clear();
    path.extend_from_slice(&index[at..at + length]);
    Ok(begin + (at - begin + length + 8) / 8 * 8)
}

/// Version 4: how many bytes to take from the end of the previous name, then what to add, up to a NUL.
fn compressed(index: &[u8], at: usize, path: &mut Vec<u8>) -> Result<usize, UnreadableIndex> {
    let (strip, at) = variable_number(index, at)?;
    let kept = path.len().checked_sub(strip).ok_or(UnreadableIndex)?;
    let length = length_to_nul(index, at)?;
    path.truncate(kept);
    path.extend_from_slice(&index[at..at + length]);
    Ok(at + length + 1)
}

fn length_to_nul(index: &[u8], at: usize) -> Result<usize, UnreadableIndex> {
    index.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == 0)).ok_or(UnreadableIndex)
}

/// Reads the encoding of offsets in packs: seven bits at a time, each continuation adds one.
fn variable_number(index: &[u8], mut at: usize) -> Result<(usize, usize), UnreadableIndex> {
    let mut byte = *index.get(at).ok_or(UnreadableIndex)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *index.get(at).ok_or(UnreadableIndex)?;
        let next = value.checked_add(1).and_then(|value| value.checked_mul(128)).ok_or(UnreadableIndex)?;
        value = next | usize::from(byte & 0x7f);
    }
    Ok((value, at + 1))
}

/// Extensions follow the entries; one named `link` means that most entries are in another file.
fn refuse_split_index(index: &[u8], mut at: usize, hash_length: usize) -> Result<(), UnreadableIndex> {
    let end = index.len().checked_sub(hash_length).ok_or(UnreadableIndex)?;
    while at + 8 <= end {
        if index[at..].starts_with(b"link") {
            return Err(UnreadableIndex);
        }
        at = at.checked_add(8 + number(index, at + 4)? as usize).ok_or(UnreadableIndex)?;
    }
    Ok(())
}

fn number(index: &[u8], at: usize) -> Result<u32, UnreadableIndex> {
    let bytes = index.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).ok_or(UnreadableIndex)?;
    Ok(u32::from_be_bytes(bytes))
}

fn short(index: &[u8], at: usize) -> Result<u16, UnreadableIndex> {
    let bytes = index.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).ok_or(UnreadableIndex)?;
    Ok(u16::from_be_bytes(bytes))
}
