//! Strict base64 decoding for strings that a child sends: the standard alphabet, no white space.

/// Decodes `input`, whose padding may be missing. Returns `None` when a character, the length or the unused
/// bits are wrong.
pub(crate) fn decode(input: &[u8]) -> Option<Vec<u8>> {
    let digits = match input {
        [rest @ .., b'=', b'='] if input.len().is_multiple_of(4) => rest,
        [rest @ .., b'='] if input.len().is_multiple_of(4) => rest,
        whole => whole,
    };
    if digits.len() % 4 == 1 {
        return None;
    }
    let mut output = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut word = 0u32;
        for &digit in group {
            word = word << 6 | u32::from(value_of(digit)?);
        }
        word <<= 6 * (4 - group.len());
        let bytes = word.to_be_bytes();
        let kept = group.len() - 1;
        if bytes[1 + kept..].iter().any(|&unused| unused != 0) {
            return None;
        }
        output.extend_from_slice(&bytes[1..1 + kept]);
    }
    Some(output)
}

fn value_of(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn padded_and_unpadded_forms_decode_alike() {
        assert_eq!(decode(b"aGVsbG8=").as_deref(), Some(&b"hello"[..]));
        assert_eq!(decode(b"aGVsbG8").as_deref(), Some(&b"hello"[..]));
        assert_eq!(decode(b"aGk=").as_deref(), Some(&b"hi"[..]));
        assert_eq!(decode(b"YQ==").as_deref(), Some(&b"a"[..]));
        assert_eq!(decode(b"").as_deref(), Some(&b""[..]));
    }

    #[test]
    fn wrong_characters_lengths_and_leftover_bits_are_refused() {
        for wrong in [&b"a"[..], b"aGV$bG8=", b"aGVs bG8=", b"aGk=aGk=", b"YR==", b"====", b"a==="] {
            assert_eq!(decode(wrong), None, "{wrong:?}");
        }
    }
}
