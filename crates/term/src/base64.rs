//! Strict base64 decoding for strings that a child sends: the standard alphabet, no white space, padding optional.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const STRICT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Decodes `input`; padding may be left out. `None` when a character, the length or the unused bits are wrong.
pub(crate) fn decode(input: &[u8]) -> Option<Vec<u8>> {
    STRICT.decode(input).ok()
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
