//! Splits long results into parts: lists by cursor, texts by byte. The server keeps no position: a cursor
//! contains all of it, so that any server can return the next part.

use serde_json::{Map, Value, json};

use crate::arguments::{Field, Shape, may};
use crate::failure::ToolFailure;
use crate::views::put;

/// The longest result, as JSON. Clients store longer ones and give the model a reference instead.
pub(crate) const MAX_ANSWER: usize = 19_000;
/// The most bytes of rows in one result: fifty ordinary processes fit, and a longer list comes in parts.
const PAGE: usize = 16_000;
/// Most text in one answer.
const PIECE: usize = 12_000;

/// Where a list continues.
pub(crate) const CURSOR: Field = may("cursor", Shape::Text(64), "next_cursor of the part before.");
/// Where a text continues.
pub(crate) const SINCE_BYTE: Field =
    may("since", Shape::Integer(0, i64::MAX), "Byte of the text to continue from.");

/// Returns the rows after the one that `cursor` names, as many as fit, under `name`; each row comes with its
/// own name.
pub(crate) fn list(
    name: &str,
    rows: impl Iterator<Item = (String, Map<String, Value>)>,
    cursor: Option<&str>,
) -> Result<Map<String, Value>, ToolFailure> {
    let mut rows = rows;
    if let Some(cursor) = cursor
        && !rows.by_ref().any(|(key, _)| key == cursor)
    {
        return Err(ToolFailure::invalid("cursor", "no such place in the list; begin again without it"));
    }
    let (mut page, mut size, mut last, mut next) = (Vec::new(), 0, None, None);
    for (key, row) in rows {
        let row = Value::Object(row);
        size += row.to_string().len() + 1;
        if size > PAGE && last.is_some() {
            next = last;
            break;
        }
        page.push(row);
        last = Some(key);
    }
    let mut answer = Map::from_iter([(name.to_owned(), json!(page))]);
    put(&mut answer, "next_cursor", json!(next));
    Ok(answer)
}

/// Returns `base` with as much of `text` from this byte on, under `name`, as fits a result; with `truncated` and the
/// `offset` of the next part when that is not all.
pub(crate) fn piece(base: &Map<String, Value>, name: &str, text: &str, since: usize) -> Map<String, Value> {
    let rest = text.get(since..).unwrap_or_default();
    let mut most = PIECE;
    loop {
        let piece = beginning(rest, most);
        let mut answer = base.clone();
        answer.insert(name.to_owned(), json!(piece));
        if piece.len() < rest.len() {
            put(&mut answer, "truncated", json!(true));
            put(&mut answer, "offset", json!(since + piece.len()));
        }
        // This leaves room for what the caller adds.
        let size = Value::Object(answer.clone()).to_string().len();
        if size <= MAX_ANSWER - 400 || most < 64 {
            return answer;
        }
        most /= 2;
    }
}

/// Returns the byte from which a text continues, checked.
pub(crate) fn start(since: Option<u64>, text: &str) -> Result<usize, ToolFailure> {
    let since = since.and_then(|since| usize::try_from(since).ok()).unwrap_or(0);
    if since <= text.len() && text.is_char_boundary(since) {
        return Ok(since);
    }
    Err(ToolFailure::invalid("since", format!("the text has {} bytes", text.len()))
        .hint("use the offset of the answer before"))
}

/// Returns the longest prefix of at most this many bytes that ends between characters.
fn beginning(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize) -> impl Iterator<Item = (String, Map<String, Value>)> {
        (0..count).map(|number| {
            let row = Map::from_iter([("name".to_owned(), json!(format!("{number:04}{}", "x".repeat(100))))]);
            (number.to_string(), row)
        })
    }

    #[test]
    fn the_parts_of_a_list_meet_without_a_gap() {
        let (mut seen, mut cursor) = (0, None::<String>);
        loop {
            let part = list("rows", rows(1_000), cursor.as_deref()).expect("a part");
            assert!(Value::Object(part.clone()).to_string().len() < MAX_ANSWER);
            for row in part["rows"].as_array().expect("rows") {
                assert!(row["name"].as_str().is_some_and(|name| name.starts_with(&format!("{seen:04}"))));
                seen += 1;
            }
            match part.get("next_cursor").and_then(Value::as_str) {
                Some(next) => cursor = Some(next.to_owned()),
                None => break,
            }
        }
        assert_eq!(seen, 1_000);
        assert!(list("rows", rows(3), Some("nowhere")).is_err());
    }

    #[test]
    fn the_pieces_of_a_text_that_grows_in_json_meet_without_a_gap() {
        let text = "\"\\ü\n".repeat(20_000);
        let (mut since, mut read) = (0, String::new());
        loop {
            let part = piece(&Map::new(), "text", &text, since);
            assert!(Value::Object(part.clone()).to_string().len() < MAX_ANSWER);
            read.push_str(part["text"].as_str().expect("a text"));
            match part.get("offset").and_then(Value::as_u64) {
                Some(offset) => since = start(Some(offset), &text).expect("between characters"),
                None => break,
            }
        }
        assert!(read == text, "{} of {}", read.len(), text.len());
        assert!(start(Some(3), &text).is_err(), "inside of a character");
    }
}
