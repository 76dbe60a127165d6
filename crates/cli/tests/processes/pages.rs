//! Pages of text: limits are bounds, what they cut off is reported, and continuing from there returns
//! everything once.

use proto::ErrorCode;
use proto::reply::Text;
use proto::request::{Follow, Read, ReadMode, Request};
use serde_json::json;
use testkit::{MarkedDaemon, Tail, child};

use super::{sh, stage, text};

/// Prints 200,000 characters and not one line feed.
const UNBROKEN: &str = "head -c 200000 /dev/zero | tr '\\0' x";

fn read(stage: &MarkedDaemon, mode: ReadMode, since: Option<u64>, limit: u32, join: bool) -> Text {
    let read = Read { target: "x".into(), mode, since, limit: Some(limit), join, ..Read::default() };
    stage.client().read(read).unwrap()
}

/// Returns every page from the beginning on; each keeps the limit.
fn all_pages(stage: &MarkedDaemon, mode: ReadMode, limit: u32, join: bool) -> String {
    let (mut all, mut since) = (String::new(), 0);
    loop {
        let page = read(stage, mode, Some(since), limit, join);
        assert!(page.text.len() <= limit as usize, "{} > {limit}", page.text.len());
        assert!(page.offset > since && page.missed == 0 && page.cut == 0, "{page:?}");
        all.push_str(&page.text);
        since = page.offset;
        if !page.truncated {
            return all;
        }
    }
}

#[test]
fn output_without_a_line_feed_is_cut_at_the_byte_that_the_limit_says() {
    let stage = stage();
    stage.run("x", sh(UNBROKEN));
    stage.wait_exit("x");
    for limit in [4, 100, 12_000, 65_536] {
        let first = read(&stage, ReadMode::Stream, Some(0), limit, false);
        assert_eq!((first.text.len(), first.offset, first.truncated), (limit as usize, limit.into(), true));
        let newest = read(&stage, ReadMode::Stream, None, limit, false);
        assert_eq!((newest.text.len(), newest.offset, newest.truncated), (limit as usize, 200_000, true));
    }
    assert_eq!(all_pages(&stage, ReadMode::Stream, 7_001, false), "x".repeat(200_000));
    let refused = |limit: u32, field: &str| {
        let mut read = json!({"target": "x", "mode": "stream"});
        read[field] = limit.into();
        let request: Request = serde_json::from_value(json!({ "read": read })).unwrap();
        stage.refusal(request).code
    };
    assert_eq!((refused(0, "limit"), refused(3, "limit")), (ErrorCode::InvalidArgs, ErrorCode::InvalidArgs));
}

#[test]
fn a_line_of_two_hundred_kilobytes_that_the_terminal_wrapped_is_read_in_pages() {
    let stage = stage();
    stage.run("x", sh(&format!("echo before; {UNBROKEN}; echo; echo after")));
    stage.wait_exit("x");
    let newest = read(&stage, ReadMode::History, None, 100, true);
    assert!(newest.text.len() <= 100 && newest.truncated, "{newest:?}");
    assert!(newest.text.ends_with("x\nafter\n"), "{newest:?}");
    let joined = all_pages(&stage, ReadMode::History, 12_000, true);
    assert_eq!(joined, format!("before\n{}\nafter\n", "x".repeat(200_000)));
    // A limit below the width of a row loses the row's end, and reports how much.
    let row = read(&stage, ReadMode::History, Some(1), 30, true);
    assert_eq!((row.text.len(), row.cut, row.offset, row.truncated), (30, 50, 2, true), "{row:?}");
}

#[test]
fn a_flood_of_cursor_moves_keeps_the_limit_too() {
    let stage = stage();
    // A full-screen program: no line feed, many rows, sequences in every cut.
    let script = "i=0; while [ $i -lt 3000 ]; do printf '\\033[%d;%dH\\033[3%dmword%d' $((i%24+1)) $((i%70+1)) $((i%8)) $i; \
                  i=$((i+1)); done";
    stage.run("x", sh(script));
    stage.wait_exit("x");
    let all = all_pages(&stage, ReadMode::Stream, 1000, false);
    let words: Vec<_> = all.split_whitespace().map(str::to_owned).collect();
    assert!(
        words == (0..3000).map(|number| format!("word{number}")).collect::<Vec<_>>(),
        "{} words",
        words.len()
    );
}

#[test]
fn a_range_of_history_is_named_by_line_ids() {
    let stage = stage();
    stage.run("x", child::count_lines(300));
    stage.wait_exit("x");
    let newest = stage.json(&["read", "x", "--mode", "history", "--limit", "100"]);
    let first = newest["first_line"].as_u64().unwrap();
    let lines: Vec<&str> = newest["text"].as_str().unwrap().lines().collect();
    assert_eq!(lines.last(), Some(&"line 300"));
    assert_eq!(lines.len() as u64, newest["offset"].as_u64().unwrap() - first);
    let (from, to) = ((first - 10).to_string(), (first - 7).to_string());
    let range = stage.json(&["read", "x", "--mode", "history", "--since", &from, "--until", &to]);
    let number: u64 = lines[0].strip_prefix("line ").unwrap().parse().unwrap();
    let expected: String = (number - 10..number - 7).map(|number| format!("line {number}\n")).collect();
    assert_eq!((range["text"].as_str(), &range["truncated"]), (Some(expected.as_str()), &json!(false)));
    assert_eq!((&range["first_line"], &range["offset"]), (&json!(first - 10), &json!(first - 7)));
    let found = stage.json(&["search", "x", &format!("line {}$", number - 9)]);
    assert_eq!(found["matches"][0]["line"], json!(first - 9), "a search names the same lines");
    let part = stage.json(&["read", "x", "--mode", "stream", "--since", "8", "--until", "14"]);
    assert_eq!((&part["text"], &part["offset"]), (&json!("line 2"), &json!(14)));
}

#[test]
fn a_line_that_comes_into_rows_that_were_blank_is_not_lost() {
    let stage = stage();
    stage.run("x", child::repeat_lines());
    stage.wait_pattern("x", "ready");
    let (mut lines, mut since) = (Vec::new(), 0);
    for word in ["one", "two", "three"] {
        let page = read(&stage, ReadMode::History, Some(since), 12_000, false);
        lines.extend(page.text.lines().map(str::to_owned));
        since = page.offset;
        stage.type_text("x", &format!("{word}\n"));
        stage.wait_pattern("x", &format!("got:{word}"));
    }
    stage.type_text("x", "\u{4}");
    stage.wait_exit("x");
    let page = read(&stage, ReadMode::History, Some(since), 12_000, false);
    lines.extend(page.text.lines().map(str::to_owned));
    assert_eq!(lines, ["ready", "got:one", "got:two", "got:three"]);
}

#[test]
fn a_row_that_never_fits_does_not_come_for_ever() {
    let stage = stage();
    stage.run("x", sh("printf '%070d:ready' 7; read x"));
    stage.wait_pattern("x", "ready");
    let row = read(&stage, ReadMode::History, Some(0), 30, false);
    assert_eq!((row.text.len(), row.cut, row.offset, row.truncated), (30, 47, 1, true), "{row:?}");
    let rest = read(&stage, ReadMode::History, Some(row.offset), 30, false);
    assert_eq!((rest.text.as_str(), rest.truncated), ("", false), "{rest:?}");
    // One that fits is returned again while it is being written.
    let whole = read(&stage, ReadMode::History, Some(0), 100, false);
    assert_eq!((whole.text.len(), whole.offset, whole.truncated), (77, 0, false), "{whole:?}");
}

#[test]
fn a_search_keeps_its_bytes_and_shows_the_line_around_each_match() {
    let stage = stage();
    stage.run("x", sh(&format!("{UNBROKEN}; echo; echo here a needle lies; {UNBROKEN}")));
    stage.wait_exit("x");
    let found = |words: &[&str]| stage.json(&[&["search", "x"], words].concat());
    let bytes = |found: &serde_json::Value| {
        let matches = found["matches"].as_array().unwrap();
        matches.iter().map(|one| one["text"].as_str().unwrap().len()).sum::<usize>()
    };
    let many = found(&["x", "--limit", "1000"]);
    assert!(bytes(&many) <= 12_000 && bytes(&many) > 11_000 && many["truncated"] == json!(true));
    let more = found(&["x", "--limit", "1000", "--bytes", "4000000"]);
    assert!(bytes(&more) <= 65_536 && bytes(&more) > 65_000 && more["truncated"] == json!(true));
    let one = found(&["needle"]);
    let expected = json!({"line": 2500, "start": 7, "end": 13, "text": "here a needle lies"});
    assert_eq!((&one["matches"], &one["truncated"]), (&json!([expected]), &json!(false)));
    let end = found(&["x$"]);
    let hit = &end["matches"][0];
    assert_eq!((&hit["skipped"], &hit["start"], &hit["end"]), (&json!(199_488), &json!(511), &json!(512)));
    assert_eq!(stage.qd(&["search", "x", "x", "--bytes", "0"]).status.code(), Some(2));
}

#[test]
fn e4_raw_bytes_have_a_limit_and_tell_what_is_gone() {
    let stage = stage();
    // Longer than the ring.
    stage.run("x", sh("stty raw -echo; seq 1 1000000; printf over"));
    stage.wait_exit("x");
    let mut tail =
        Tail::begin(&stage, Follow { target: "x".into(), from: Some(0), live: true, ..Follow::default() });
    tail.to_end();
    let produced = tail.missed + tail.bytes.len() as u64;
    let oldest = stage.qd(&["read", "x", "--raw", "--since", "0"]);
    assert!(oldest.stdout == tail.bytes[..12_000]);
    let (missed, at) = (tail.missed, tail.missed + 12_000);
    let expected =
        format!("[{missed} bytes are gone]\n[{} more bytes; --since {at} goes on]\n", produced - at);
    assert_eq!(text(&oldest.stderr), expected);
    let next = stage.qd(&["read", "x", "--raw", "--since", &at.to_string(), "--limit", "100000"]);
    assert!(next.stdout == tail.bytes[12_000..12_000 + 65_536]);
    let newest = stage.qd(&["read", "x", "--raw", "--limit", "9"]);
    assert_eq!((text(&newest.stdout), text(&newest.stderr)), ("0000\nover".to_owned(), String::new()));
}

#[test]
fn a_screen_tells_the_modes_that_the_child_has_switched() {
    let stage = stage();
    stage.run("x", sh("printf '\\033[?2004h\\033[?1h\\033[?1002h\\033[>1uready'; read x"));
    stage.wait_pattern("x", "ready");
    let modes = &stage.json(&["read", "x"])["modes"];
    assert_eq!(
        (&modes["bracketed_paste"], &modes["application_cursor"]),
        (&json!(true), &json!(true)),
        "{modes}"
    );
    assert_eq!((&modes["mouse"], &modes["keyboard_flags"]), (&json!("drag"), &json!(1)), "{modes}");
    assert_eq!((&modes["insert"], &modes["line_wrap"]), (&json!(false), &json!(true)), "{modes}");
    assert!(stage.json(&["read", "x", "--mode", "stream"]).get("modes").is_none());
}

#[test]
fn a_wait_from_a_version_counts_what_came_after_that_screen() {
    let stage = stage();
    stage.run("x", child::repeat_lines());
    stage.wait_pattern("x", "ready");
    stage.type_text("x", "before\n");
    stage.wait_pattern("x", "got:before");
    let version = stage.json(&["read", "x"])["version"].as_u64().unwrap();
    stage.type_text("x", "after\n");
    stage.wait_pattern("x", "got:after");
    let since = version.to_string();
    let wait = |pattern: &str, seconds: &str| {
        let words = ["wait", "x", "--pattern", pattern, "--since-version", &since, "--timeout", seconds];
        let output = stage.qd(&words);
        (output.status.code(), text(&output.stdout))
    };
    assert_eq!(wait("got:.*", "30"), (Some(0), "got:after\n".to_owned()), "what was printed since then");
    assert_eq!(wait("got:before", "0.2").0, Some(5), "what was on that screen does not count");
    let unknown = stage.qd(&["wait", "x", "--pattern", "got", "--since-version", "999999", "--timeout", "1"]);
    assert_eq!(unknown.status.code(), Some(3), "{}", text(&unknown.stderr));
    assert!(text(&unknown.stderr).contains("--since OFFSET"), "{}", text(&unknown.stderr));
    let both = stage.qd(&["wait", "x", "--pattern", "got", "--since-version", "1", "--since", "0"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn web_addresses_that_were_shown_are_told_beside_the_ports() {
    let stage = stage();
    stage.run("x", sh("printf '  Local: \\033[36mhttp://localhost:\\033[1m5173\\033[0m/\\nsee https://a.b/c.\\n'; seq 1 100; \
                       echo http://localhost:5173/ again; read x"));
    stage.wait_pattern("x", "again");
    let told = stage.json(&["ports", "x"]);
    assert_eq!(told, json!({"ports": [], "urls": ["http://localhost:5173/", "https://a.b/c"]}));
    let shown = text(&stage.qd(&["ports", "x"]).stdout);
    assert_eq!(shown, "x listens on no port\nshown: http://localhost:5173/\nshown: https://a.b/c\n");
}
