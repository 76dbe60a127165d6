//! Parses a line as a call, with limits on its shape. An error names the wrong field and carries the call's
//! id when that much could be read.

use super::Call;
use crate::{ErrorCode, Failure, Printable};

/// The deepest nesting of a request. Ours need six; more is an attack on a parser's stack.
const MAX_DEPTH: usize = 64;

/// Parses one line as a call. The error carries the call's id when that much could be read, so that the
/// client knows which of its calls was wrong.
pub fn parse_call(line: &[u8]) -> Result<Call, (u64, Failure)> {
    let protocol = |message: String| Failure::new(ErrorCode::Protocol, message);
    let Ok(text) = std::str::from_utf8(line) else {
        return Err((0, protocol("the line is not UTF-8".to_owned())));
    };
    if nests_deeper(line, MAX_DEPTH) {
        return Err((0, protocol(format!("the line nests deeper than {MAX_DEPTH}"))));
    }
    serde_json::from_str(text).map_err(|error| {
        let whole: Option<serde_json::Value> = serde_json::from_str(text).ok();
        let Some(whole) = whole else {
            return (0, protocol(format!("the line is not JSON: {}", Printable(&error.to_string()))));
        };
        let id = whole.get("id").and_then(serde_json::Value::as_u64).unwrap_or(0);
        let (why, at) = (error.to_string(), path_at(text, error.column()));
        let why = why.split(" at line ").next().unwrap_or_default();
        (id, Failure::new(ErrorCode::InvalidArgs, format!("{}: {}", Printable(&at), Printable(why))))
    })
}

/// Returns the field at which the parser stopped at this column: the keys and indices that lead there, joined
/// by dots.
fn path_at(text: &str, column: usize) -> String {
    let (mut path, mut word, mut in_string, mut escaped) = (Vec::new(), String::new(), false, false);
    for character in text.get(..column).unwrap_or(text).chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => {
                in_string = !in_string;
                if in_string {
                    word.clear();
                }
            }
            _ if in_string => word.push(character),
            '{' => path.push(String::new()),
            '[' => path.push("0".to_owned()),
            ':' => path.last_mut().into_iter().for_each(|key| key.clone_from(&word)),
            ',' => path.last_mut().into_iter().for_each(|place| *place = next_place(place)),
            '}' | ']' => drop(path.pop()),
            _ => {}
        }
    }
    path.retain(|key| !key.is_empty());
    if path.is_empty() { "request".to_owned() } else { path.join(".") }
}

/// Returns the place after a comma: the next index of an array, or nothing yet for a key.
fn next_place(place: &str) -> String {
    place.parse::<usize>().map_or_else(|_| String::new(), |number| (number + 1).to_string())
}

/// Returns true if brackets nest deeper than this outside strings. It is cheap and runs before any recursive parser
/// sees the line. Most lines have too few brackets to nest so deep, and counting them is cheaper still.
#[must_use]
pub fn nests_deeper(line: &[u8], most: usize) -> bool {
    line.iter().filter(|byte| matches!(byte, b'[' | b'{')).count() > most && nesting(line) > most
}

/// Returns how deep brackets nest outside strings.
fn nesting(line: &[u8]) -> usize {
    let (mut deepest, mut current, mut in_string, mut escaped) = (0usize, 0usize, false, false);
    for byte in line {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                current += 1;
                deepest = deepest.max(current);
            }
            b']' | b'}' if !in_string => current = current.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e8_a_bad_call_is_told_its_id_and_the_field() {
        let (id, failure) = parse_call(br#"{"id":9,"request":{"kill":{"target":3}}}"#).unwrap_err();
        assert_eq!((id, failure.code), (9, ErrorCode::InvalidArgs));
        let (id, failure) = parse_call(br#"{"id":9,"request":{"kill":{}}}"#).unwrap_err();
        assert_eq!(id, 9);
        assert!(failure.message.contains("target"), "{}", failure.message);
    }

    #[test]
    fn e8_deep_nesting_is_refused_before_any_parser_recurses() {
        let deep = [b"[".repeat(10_000), b"]".repeat(10_000)].concat();
        assert_eq!(parse_call(&deep).unwrap_err().1.code, ErrorCode::Protocol);
        let brackets_in_text =
            format!(r#"{{"id":1,"request":{{"rename":{{"target":"{}","name":"x"}}}}}}"#, "[".repeat(200));
        assert!(parse_call(brackets_in_text.as_bytes()).is_ok());
    }

    #[test]
    fn e8_bytes_that_are_not_text_are_refused_in_words() {
        for line in [&b"\xff\xfe"[..], b"garbage", b"", b"{", b"null", b"\x00\x00"] {
            assert!(parse_call(line).is_err());
        }
    }

    #[test]
    fn an_unknown_field_from_a_newer_client_is_tolerated() {
        assert!(parse_call(br#"{"id":1,"request":{"list":{"colour":"blue"}},"trace":"x"}"#).is_ok());
    }

    #[test]
    fn e8_the_wrong_field_is_named_wherever_it_lies() {
        for (request, path) in [
            (r#"{"hello":{"client":null,"protocol":1}}"#, "request.hello.client: "),
            (r#"{"spawn":{"argv":["a","b",3]}}"#, "request.spawn.argv.2: "),
            (r#"{"spawn":{"size":{"cols":80,"rows":-1}}}"#, "request.spawn.size.rows: "),
            (
                r#"{"wait":{"targets":["a, {b: [\"","c"],"until":{"silence":"x"}}}"#,
                "request.wait.until.silence: ",
            ),
            (r#"{"kill":3}"#, "request.kill: "),
        ] {
            let (_, failure) =
                parse_call(format!(r#"{{"id":1,"request":{request}}}"#).as_bytes()).unwrap_err();
            assert!(failure.message.starts_with(path), "{request}: {}", failure.message);
        }
    }
}
