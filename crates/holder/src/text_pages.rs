//! Returns program text and constants to the kernel that only the start of a process needed. Pages that were
//! ever written stay, because they cannot be read again from the file.

use std::io;

use rustix::mm::{Advice, madvise};

/// Drops every page of program text and of the constants before it. Pages that are used again are read again from the page cache, a few at a
/// time; those that only the start needed stay away. Returns how many bytes were mapped.
///
/// # Errors
/// The process's own maps cannot be read.
pub fn give_back_text() -> io::Result<usize> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let mut total = 0;
    for (start, length) in maps.lines().filter_map(unwritten_part_of_a_file) {
        // SAFETY: the mapping is private, was never writable and is backed by a file, so its pages are the file's own;
        // dropping them changes nothing but when they are read. The address comes from the kernel's list of this very
        // process.
        #[expect(unsafe_code, reason = "advice about our own program text")]
        let advised =
            unsafe { madvise(std::ptr::without_provenance_mut(start), length, Advice::LinuxDontNeed) };
        if advised.is_ok() {
            total += length;
        }
    }
    Ok(total)
}

/// Returns start and length of a mapping that holds text of a file, or what stands before it: the tables of the
/// loader and the constants. Other read-only parts may have been written by the loader before they were sealed,
/// but never the part with the file's own header, at its beginning.
fn unwritten_part_of_a_file(line: &str) -> Option<(usize, usize)> {
    let mut words = line.split_ascii_whitespace();
    let (range, rights, offset) = (words.next()?, words.next()?, words.next()?);
    let inode = words.nth(1)?;
    let (start, end) = range.split_once('-')?;
    let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
    let is_unwritten = rights == "r-xp" || (rights == "r--p" && offset.bytes().all(|digit| digit == b'0'));
    (is_unwritten && inode != "0").then_some((start, end.checked_sub(start)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_parts_of_files_that_were_never_writable_are_let_go() {
        let text = "55d0c0a00000-55d0c0b00000 r-xp 00100000 fd:00 131 /usr/bin/qd";
        assert_eq!(unwritten_part_of_a_file(text), Some((0x55d0_c0a0_0000, 0x10_0000)));
        let constants = "55d0c0900000-55d0c0a00000 r--p 00000000 fd:00 131 /usr/bin/qd";
        assert_eq!(unwritten_part_of_a_file(constants), Some((0x55d0_c090_0000, 0x10_0000)));
        for other in [
            "55d0c0b00000-55d0c0c00000 r--p 00200000 fd:00 131 /usr/bin/qd",
            "55d0c0c00000-55d0c0d00000 rw-p 00300000 fd:00 131 /usr/bin/qd",
            "55d0c0900000-55d0c0a00000 rw-p 00000000 fd:00 131 /usr/bin/qd",
            "7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0 [vdso]",
            "7ffc00000000-7ffc00002000 r--p 00000000 00:00 0 [vvar]",
            "nonsense",
        ] {
            assert_eq!(unwritten_part_of_a_file(other), None, "{other}");
        }
    }

    #[test]
    fn a_process_goes_on_after_its_text_was_given_back() {
        let total = give_back_text().unwrap();
        assert!(total > 100_000, "{total}");
        let sorted: Vec<u32> =
            std::iter::successors(Some(7_u32), |n| Some(n.wrapping_mul(13) % 1000)).take(100).collect();
        assert_eq!(sorted.len(), 100);
    }
}
