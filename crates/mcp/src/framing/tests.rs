//! Valid and broken lines of every kind.

use super::*;
use proptest::prelude::*;

fn lines_of(pieces: &[&[u8]]) -> Vec<Result<Vec<u8>, Fault>> {
    let (mut lines, mut seen) = (Lines::default(), Vec::new());
    for piece in pieces {
        lines.push(piece, &mut |line| seen.push(line));
    }
    seen
}

fn fault(line: &str) -> Fault {
    examine(line.as_bytes()).expect_err(line)
}

#[test]
fn e8_a_line_that_never_ends_is_refused_once_and_the_next_one_works() {
    let flood = vec![b'x'; 1 << 20];
    let mut pieces: Vec<&[u8]> = (0..64).map(|_| flood.as_slice()).collect();
    pieces.extend([&b"tail\n"[..], b"{\"a\":1}\n"]);
    let seen = lines_of(&pieces);
    assert_eq!(seen.len(), 2, "one answer for 64 MiB, one line after it");
    assert!(seen[0].is_err());
    assert_eq!(seen[1], Ok(b"{\"a\":1}".to_vec()));
}

#[test]
fn e8_a_line_of_exactly_the_limit_is_a_line() {
    let line = vec![b' '; MAX_LINE];
    assert_eq!(lines_of(&[&line, b"\n"]).len(), 1);
    assert!(lines_of(&[&line, b" \n"])[0].is_err());
}

#[test]
fn e8_nesting_is_measured_before_anything_recurses() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(fault(&deep).message.contains("deeper"));
    let inside_text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "[".repeat(200));
    assert!(matches!(examine(inside_text.as_bytes()), Ok(Some(Message::Request { .. }))));
}

#[test]
fn e8_every_broken_line_is_answered_with_the_field_and_the_id_that_could_be_read() {
    let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "i".repeat(129));
    for (line, code, field, id) in [
        ("garbage", PARSE_ERROR, "line", json!(null)),
        ("{", PARSE_ERROR, "line", json!(null)),
        ("null", INVALID_REQUEST, "line", json!(null)),
        ("[]", INVALID_REQUEST, "line", json!(null)),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, INVALID_REQUEST, "line", json!(null)),
        (r#"{"id":7,"method":"ping"}"#, INVALID_REQUEST, "jsonrpc", json!(7)),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, INVALID_REQUEST, "jsonrpc", json!("a")),
        (r#"{"jsonrpc":"2.0","id":7}"#, INVALID_REQUEST, "method", json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":3}"#, INVALID_REQUEST, "method", json!(7)),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, INVALID_REQUEST, "id", json!(null)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, INVALID_REQUEST, "id", json!(null)),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, INVALID_REQUEST, "id", json!(null)),
        (r#"{"jsonrpc":"2.0","id":1e300,"method":"ping"}"#, INVALID_REQUEST, "id", json!(null)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}"#, INVALID_PARAMS, "params", json!(7)),
        (&long, INVALID_REQUEST, "id", json!(null)),
    ] {
        let fault = fault(line);
        assert_eq!((fault.code, &fault.id), (code, &id), "{line}");
        assert!(fault.message.starts_with(&format!("{field}:")), "{line}: {}", fault.message);
        assert_eq!(fault.answer()["error"]["code"], json!(code));
    }
    assert_eq!(examine(b"\xff\xfe").unwrap_err().code, PARSE_ERROR);
}

#[test]
fn blank_lines_replies_and_byte_order_marks_are_no_faults() {
    assert_eq!(examine(b"  \r"), Ok(None));
    let reply = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    assert_eq!(examine(reply.to_string().as_bytes()), Ok(Some(Message::Reply(reply))));
    let marked = "\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\",\"params\":null}";
    let Ok(Some(Message::Notification(message))) = examine(marked.as_bytes()) else { panic!("{marked}") };
    assert!(message.get("params").is_none());
}

#[test]
fn a_method_that_the_version_took_away_is_not_found_and_an_older_client_still_finds_it() {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let line = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
    };
    for method in REMOVED {
        let fault = fault(&line(method, json!({"_meta": meta})));
        assert!(fault.is_unknown_method() && fault.message.contains(method), "{fault:?}");
        assert_eq!(fault.answer()["id"], json!(7));
        let older = json!({"io.modelcontextprotocol/protocolVersion": "2025-11-25"});
        for params in [json!({}), json!({"_meta": {}}), json!({"_meta": older}), json!({"_meta": 3})] {
            assert!(examine(line(method, params).as_bytes()).is_ok(), "{method}");
        }
    }
    for (method, params) in [
        ("tools/list", json!({"_meta": meta})),
        ("initialize", json!({"_meta": meta, "protocolVersion": "2025-11-25"})),
    ] {
        assert!(examine(line(method, params).as_bytes()).is_ok(), "{method}");
    }
}

proptest! {
    #[test]
    fn e8_how_bytes_are_cut_does_not_matter(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..400),
                                            cuts in prop::collection::vec(0usize..400, 0..8)) {
        let whole = lines_of(&[&bytes]);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let (mut pieces, mut from) = (Vec::new(), 0);
        for cut in cuts {
            pieces.push(&bytes[from..cut]);
            from = cut;
        }
        pieces.push(&bytes[from..]);
        prop_assert_eq!(lines_of(&pieces), whole);
    }

    #[test]
    fn e8_no_bytes_make_the_guard_panic(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        drop(examine(&bytes));
    }

    #[test]
    fn e8_any_json_object_is_a_message_or_a_fault_with_a_field(id in ".{0,200}", method in ".{0,20}", extra in ".{0,20}") {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"x": extra}}).to_string();
        match examine(line.as_bytes()) {
            Ok(sound) => {
                let is_request = matches!(sound, Some(Message::Request { .. }));
                prop_assert!(is_request && id.len() <= MAX_ID);
            }
            Err(fault) => prop_assert!(fault.message.starts_with("id:")),
        }
    }
}
