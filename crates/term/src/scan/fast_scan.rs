//! A fast scan of what follows an ESC: how long the sequence is and, where it holds only numbers, which
//! numbers. It recognises ordinary forms; the scanner goes through all others byte by byte.
//!
//! A repaint has one such sequence per word. Its bytes are read once: the numbers are parsed while the end is
//! searched.

use super::{CSI_MAX, ESC, PARAMETERS_MAX, is_special};

/// Most parameters of a sequence whose numbers are read here.
pub(crate) const MOST: usize = 16;

/// What the fast scan after an ESC found.
pub(super) enum FastScan {
    /// A whole ordinary sequence of this length; it may stay in its run.
    Ordinary(usize),
    /// A whole ordinary sequence of this length that may cost as much as a whole screen.
    Heavy(usize),
    /// A whole sequence of this length for [`Sink::fast_csi`](super::Sink::fast_csi), whose numbers were read.
    Brief(usize),
    /// Anything else: cut the run and go byte by byte.
    Careful,
}

/// The parameters of a control sequence; a missing one is zero.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    values: [u16; MOST],
    /// The index of the last one.
    last: usize,
}

impl Numbers {
    pub(crate) fn all(&self) -> &[u16] {
        self.values.get(..=self.last).unwrap_or_default()
    }

    /// Reads numbers from the start of `bytes` and returns how many bytes they and their separators take.
    /// Stops before anything that an ordinary parameter does not contain.
    #[inline(always)]
    fn read(&mut self, bytes: &[u8]) -> usize {
        let (mut at, known) = self.read_color_kind(bytes);
        for (index, value) in self.values.iter_mut().enumerate().skip(known) {
            let (number, digits) = leading_number(first_four(&bytes[at..]));
            (*value, self.last) = (number, index);
            at += digits;
            if bytes.get(at) != Some(&b';') || index == MOST - 1 {
                break;
            }
            at += 1;
        }
        at
    }

    /// Reads the two numbers that every colour by its parts or its number begins with, such as `38;2;` or `48;5;`, all at
    /// once. Returns how many bytes and how many numbers that were: none for anything else.
    #[inline(always)]
    fn read_color_kind(&mut self, bytes: &[u8]) -> (usize, usize) {
        // Low digits differ in their lowest three bits alone.
        const SHAPE: u64 = u64::from_le_bytes(*b"08;0;\0\0\0");
        const FIXED: u64 = u64::from_le_bytes([0xf8, 0xff, 0xff, 0xf8, 0xff, 0, 0, 0]);
        match bytes.first_chunk::<8>() {
            Some(eight) if u64::from_le_bytes(*eight) & FIXED == SHAPE => {
                let digit = |at: usize| u16::from(eight[at] & 7);
                (self.values[0], self.values[1]) = (digit(0) * 10 + 8, digit(3));
                (5, 2)
            }
            _ => (0, 0),
        }
    }
}

/// Returns the first four bytes, padded with non-digits.
#[inline]
fn first_four(bytes: &[u8]) -> [u8; 4] {
    match bytes.first_chunk::<4>() {
        Some(four) => *four,
        None => std::array::from_fn(|index| bytes.get(index).copied().unwrap_or_default()),
    }
}

/// Returns the number that four bytes begin with and its digit count. It works without branches: the length
/// of numbers is unpredictable, and a branch per digit costs more than the arithmetic.
#[inline]
fn leading_number(bytes: [u8; 4]) -> (u16, usize) {
    const ONES: u32 = 0x0101_0101;
    // Digits become 0 to 9, anything else becomes more; the lowest byte comes first.
    let digits = u32::from_le_bytes(bytes) ^ (ONES * b'0' as u32);
    let others = (digits.wrapping_add(ONES * 0x76) | digits) & (ONES << 7);
    let count = others.trailing_zeros() / 8;
    // Pads with leading zeros: the last digit moves to the highest byte, and what follows it is shifted out.
    let digits = ((u64::from(digits) << 32) >> (8 * count)) as u32;
    let pairs = (digits.wrapping_mul(10).wrapping_add(digits >> 8)) & 0x00ff_00ff;
    let number = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0xffff;
    (number as u16, count as usize)
}

/// Finds the next ESC. In coloured output it is near, and a few comparisons are cheaper than the search that
/// is fast over long text.
#[inline]
pub(super) fn next_escape(bytes: &[u8]) -> Option<usize> {
    const NEAR: usize = 8;
    let Some((near, rest)) = bytes.split_first_chunk::<NEAR>() else {
        return bytes.iter().position(|&byte| byte == ESC);
    };
    let distance = first_escape(*near);
    if distance < NEAR {
        return Some(distance);
    }
    // Most words end here.
    let distance = rest.first_chunk::<NEAR>().map_or(NEAR, |next| first_escape(*next));
    if distance < NEAR {
        return Some(NEAR + distance);
    }
    memchr::memchr(ESC, rest).map(|distance| NEAR + distance)
}

/// Returns the index of the first ESC among eight bytes, or eight. It has no branch per byte, because the
/// length of words is unpredictable.
#[inline]
fn first_escape(bytes: [u8; 8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Each ESC becomes zero; the lowest zero byte is the lowest whose subtraction borrows.
    let differs = u64::from_le_bytes(bytes) ^ (ONES * ESC as u64);
    let zeros = differs.wrapping_sub(ONES) & !differs & (ONES << 7);
    (zeros.trailing_zeros() / 8) as usize
}

/// Scans what follows an ESC without changing anything but `numbers`, which it fills for a
/// [`FastScan::Brief`] sequence.
#[inline(always)]
pub(super) fn fast_scan(bytes: &[u8], numbers: &mut Numbers) -> FastScan {
    match bytes.get(1) {
        Some(b'[') => scan_control(bytes, numbers),
        Some(b'P' | b'X' | b']' | b'^' | b'_') => FastScan::Careful,
        Some(0x30..=0x7e) => scan_escape(bytes, 2),
        Some(0x20..=0x2f) if matches!(bytes.get(2), Some(0x30..=0x7e)) => scan_escape(bytes, 3),
        _ => FastScan::Careful,
    }
}

/// Classifies an escape sequence of this length.
fn scan_escape(bytes: &[u8], length: usize) -> FastScan {
    match &bytes[..length] {
        sequence if is_special(sequence) => FastScan::Careful,
        // RIS, reverse index, alignment.
        [_, b'c' | b'M'] | [_, b'#', _] => FastScan::Heavy(length),
        _ => FastScan::Ordinary(length),
    }
}

#[inline(always)]
fn scan_control(bytes: &[u8], numbers: &mut Numbers) -> FastScan {
    let window = &bytes[2..bytes.len().min(CSI_MAX)];
    let length = numbers.read(window);
    match window.get(length) {
        Some(b'm' | b'H' | b'K') => FastScan::Brief(2 + length + 1),
        Some(_) => scan_further(bytes, window, length),
        None => FastScan::Careful,
    }
}

/// Scans a control sequence that contains more than numbers, from where they end.
fn scan_further(bytes: &[u8], window: &[u8], from: usize) -> FastScan {
    let is_last = |byte: &u8| !matches!(byte, 0x20..=0x3f);
    let Some(distance) = window[from..].iter().position(is_last) else { return FastScan::Careful };
    let end = 2 + from + distance;
    // A sequence this long may hold more parameters than the emulator accepts.
    if end >= 2 + PARAMETERS_MAX {
        return FastScan::Careful;
    }
    match bytes[end] {
        b'b' | b'e' | b'n' | b'p' | b'J' | b'K' | b'P' | b'Q' | b'm' | b'r' | b's'
            if is_special(&bytes[..=end]) =>
        {
            FastScan::Careful
        }
        // Erasing, lines in and out, scrolling, the other screen.
        b'J' | b'L' | b'M' | b'S' | b'T' | b'h' | b'l' => FastScan::Heavy(end + 1),
        0x40..=0x7e => FastScan::Ordinary(end + 1),
        _ => FastScan::Careful,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_escape_is_found_wherever_it_is() {
        for length in 0..40 {
            let mut text = vec![b'a'; length];
            assert_eq!(next_escape(&text), None);
            for place in (0..length).rev() {
                // Neighbours of ESC, and bytes with the high bit, are not taken for one.
                text[place] = ESC;
                assert_eq!(next_escape(&text), Some(place), "{place} of {length}");
            }
        }
        assert_eq!(next_escape(&[0x1a, 0x1c, 0x9b, 0x00, 0xff, 0x1a, ESC, ESC, 0x1a]), Some(6));
        assert_eq!(next_escape(&[0x1c, 0x1a, 0x9b, 0x00, 0xff, 0x1a, 0x1c, 0x9b]), None);
    }

    #[test]
    fn a_number_ends_before_the_first_byte_that_is_no_digit() {
        for byte in 0..=u8::MAX {
            let is_digit = byte.is_ascii_digit();
            for place in 0..4 {
                let mut bytes = *b"1234";
                bytes[place] = byte;
                let digits = if is_digit { 4 } else { place };
                let number = bytes[..digits].iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
                assert_eq!(leading_number(bytes), (number, digits), "{bytes:?}");
            }
        }
    }

    #[test]
    fn numbers_are_read_on_the_way_and_what_is_left_out_is_zero() {
        let mut numbers = Numbers::default();
        let mut scanned = |sequence: &[u8]| match fast_scan(sequence, &mut numbers) {
            FastScan::Brief(length) => Some((length, numbers.all().to_vec())),
            FastScan::Ordinary(_) | FastScan::Heavy(_) | FastScan::Careful => None,
        };
        assert_eq!(scanned(b"\x1b[38;2;0;120;40mword"), Some((16, vec![38, 2, 0, 120, 40])));
        assert_eq!(scanned(b"\x1b[m"), Some((3, vec![0])));
        assert_eq!(scanned(b"\x1b[;7H"), Some((5, vec![0, 7])));
        assert_eq!(scanned(b"\x1b[?25K"), None);
        assert_eq!(scanned(b"\x1b[4:3m"), None);
        assert_eq!(scanned(b"\x1b[1234;056;7890m"), Some((16, vec![1234, 56, 7890])));
        assert_eq!(scanned(b"\x1b[10000m"), None);
        assert_eq!(scanned(b"\x1b[1;2"), None);
        assert_eq!(scanned(b"\x1b[48;5;200m and on"), Some((11, vec![48, 5, 200])));
        assert_eq!(scanned(b"\x1b[38;5;m and on"), Some((8, vec![38, 5, 0])));
        assert_eq!(scanned(b"\x1b[38;9;1m and on"), Some((9, vec![38, 9, 1])), "a digit of another shape");
        assert_eq!(scanned(b"\x1b[38;2:1;2m and on"), None);
    }
}
