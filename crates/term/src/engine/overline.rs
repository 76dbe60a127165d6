//! Overline (SGR 53 and 55), which the emulator does not know. Splits such a sequence into the parts for the
//! emulator's parser and the parts applied here. The style table keeps the attribute in a bit that the
//! emulator does not use.

use rio_vt::crosswords::style::StyleFlags;

/// The bit of a style that says overline.
pub(super) const OVERLINE: StyleFlags = StyleFlags::from_bits_retain(1 << 13);

/// A part of the parameters of one SGR sequence.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'s> {
    /// Parameters for the emulator's parser.
    Other(&'s [u8]),
    /// On or off.
    Overline(bool),
}

/// Splits the parameters in order. The numbers after 38, 48 or 58 belong to a colour and are not attributes.
pub(super) fn parts(parameters: &[u8]) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    // Where the parameters begin that the parser gets next, and how many fields they have so far.
    let (mut start, mut fields, mut at) = (0, 0, 0);
    let (mut is_color, mut arguments) = (false, 0);
    for field in parameters.split(|byte| *byte == b';') {
        let (from, is_argument) = (at, is_color || arguments > 0);
        at = from + field.len() + 1;
        match (field, is_argument) {
            (b"5", true) if is_color => arguments = 1,
            (b"2", true) if is_color => arguments = 3,
            (_, true) => arguments = if is_color { 0 } else { arguments - 1 },
            (b"53" | b"55", false) => {
                if fields > 0 {
                    parts.push(Part::Other(&parameters[start..from - 1]));
                }
                parts.push(Part::Overline(field == b"53"));
                (start, fields) = (at, 0);
                continue;
            }
            _ => {}
        }
        is_color = !is_argument && matches!(field, b"38" | b"48" | b"58");
        fields += 1;
    }
    if fields > 0 {
        parts.push(Part::Other(&parameters[start..]));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m9d_overline_is_cut_out_of_a_sequence_and_colours_are_not() {
        let other = |text: &'static str| Part::Other(text.as_bytes());
        for (text, expected) in [
            ("53", vec![Part::Overline(true)]),
            ("1;53;4", vec![other("1"), Part::Overline(true), other("4")]),
            (";53", vec![other(""), Part::Overline(true)]),
            ("0;55;53", vec![other("0"), Part::Overline(false), Part::Overline(true)]),
            ("38;5;53;48;2;55;53;1;58;5;55", vec![other("38;5;53;48;2;55;53;1;58;5;55")]),
            ("38;5;53;53", vec![other("38;5;53"), Part::Overline(true)]),
            ("4:3;53;58:5:53", vec![other("4:3"), Part::Overline(true), other("58:5:53")]),
            ("38;7;53", vec![other("38;7"), Part::Overline(true)]),
        ] {
            assert_eq!(parts(text.as_bytes()), expected, "{text}");
        }
    }
}
