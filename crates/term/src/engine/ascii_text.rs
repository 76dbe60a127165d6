//! Finds printable ASCII in bytes: how far it goes, and whether a piece is nothing else. Every byte of output passes here, so
//! many bytes are compared at once.

/// Returns how many bytes at the beginning are printable ASCII.
#[inline]
pub(super) fn printable_length(bytes: &[u8]) -> usize {
    let (wide, rest) = bytes.as_chunks::<32>();
    // The bytes of a chunk are compared without a branch between them, so that the compiler compares many at once.
    let all = |chunk: &[u8; 32]| chunk.iter().fold(true, |all, byte| all & matches!(byte, 0x20..=0x7e));
    let whole = wide.iter().take_while(|chunk| all(chunk)).count() * 32;
    let tail = bytes.get(whole..).unwrap_or(rest);
    for (index, eight) in tail.as_chunks::<8>().0.iter().enumerate() {
        let others = unprintable(u64::from_le_bytes(*eight));
        if others != 0 {
            return whole + index * 8 + (others.trailing_zeros() / 8) as usize;
        }
    }
    let last = tail.as_chunks::<8>().1;
    let printable = last.iter().take_while(|byte| matches!(byte, 0x20..=0x7e)).count();
    whole + tail.len() - last.len() + printable
}

/// Returns true for a short run of printable ASCII, such as a word between two colours: it needs no parsing.
/// Longer runs go to the parser, which is as fast on them and stops at their first line feed.
#[inline]
pub(super) fn is_word(bytes: &[u8]) -> bool {
    const SHORT: usize = 256;
    let (eights, rest) = bytes.as_chunks::<8>();
    // The last bytes are looked at with the ones before them: the length of words is unpredictable, and so would be
    // a branch per byte.
    let is_end_printable = match (bytes.last_chunk::<8>(), bytes.first_chunk::<4>(), bytes.last_chunk::<4>())
    {
        (Some(last), ..) => are_printable(u64::from_le_bytes(*last)),
        (None, Some(first), Some(last)) => {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            are_printable(u64::from(first) << 32 | u64::from(last))
        }
        _ => rest.iter().all(|byte| matches!(byte, 0x20..=0x7e)),
    };
    bytes.len() <= SHORT
        && is_end_printable
        && eights.iter().all(|eight| are_printable(u64::from_le_bytes(*eight)))
}

/// Returns true if eight bytes are printable ASCII.
#[inline]
fn are_printable(bytes: u64) -> bool {
    unprintable(bytes) == 0
}

/// Returns eight bytes of which the lowest that is not zero is where the first byte is that is not printable ASCII.
#[inline]
fn unprintable(bytes: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Sets the highest bit of a byte below 0x20 and of a byte from 0x7f on. A byte behind such a one may get the bit too.
    let below = bytes.wrapping_sub(ONES * 0x20) & !bytes;
    let beyond = bytes.wrapping_add(ONES) | bytes;
    (below | beyond) & (ONES << 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_only_printable_ascii_wherever_another_byte_is() {
        for length in (0..42).chain([80, 99]) {
            let mut bytes = vec![b'~'; length];
            assert!(is_word(&bytes), "{length}");
            for place in 0..length {
                for byte in 0..=u8::MAX {
                    bytes[place] = byte;
                    let is_printable = matches!(byte, 0x20..=0x7e);
                    assert_eq!(is_word(&bytes), is_printable, "{byte} at {place} of {length}");
                    let expected = if is_printable { length } else { place };
                    assert_eq!(printable_length(&bytes), expected, "{byte} at {place} of {length}");
                }
                bytes[place] = b' ';
            }
        }
        assert!(is_word(&[b'x'; 256]) && !is_word(&[b'x'; 257]));
    }
}
