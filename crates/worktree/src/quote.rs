//! Paths in git's own quoting, as in C: between double quotes, with escapes for everything that is not plain.

/// Quotes any bytes.
pub(crate) fn c_quote(bytes: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for byte in bytes {
        match byte {
            b'"' | b'\\' => quoted.extend([b'\\', *byte]),
            0x20..=0x7e => quoted.push(*byte),
            _ => quoted.extend(format!("\\{byte:03o}").bytes()),
        }
    }
    quoted.push(b'"');
    quoted
}

/// Reads a quoted text at the beginning of `text`; returns its bytes and what follows it.
pub(crate) fn c_unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut bytes = Vec::new();
    loop {
        rest = match rest {
            [b'"', after @ ..] => return Some((bytes, after)),
            [b'\\', digits @ ..] if digits.first().is_some_and(|digit| matches!(digit, b'0'..=b'3')) => {
                let (octal, after) = digits.split_at_checked(3)?;
                bytes.push(u8::from_str_radix(std::str::from_utf8(octal).ok()?, 8).ok()?);
                after
            }
            [b'\\', letter, after @ ..] => {
                bytes.push(escaped(*letter)?);
                after
            }
            [byte, after @ ..] => {
                bytes.push(*byte);
                after
            }
            [] => return None,
        };
    }
}

fn escaped(letter: u8) -> Option<u8> {
    Some(match letter {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        b'"' | b'\\' => letter,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn f5_any_path_survives_quoting(bytes: Vec<u8>, after: Vec<u8>) {
            let text = [c_quote(&bytes), after.clone()].concat();
            prop_assert_eq!(c_unquote(&text), Some((bytes, after.as_slice())));
        }

        #[test]
        fn f5_unquoting_takes_any_bytes(bytes: Vec<u8>) {
            let _read_or_not = c_unquote(&bytes);
        }
    }
}
