//! Reading: screen, history, stream, search, logs, recordings; limits and gaps are reported.

use std::process::Stdio;

use proto::request::{Follow, Read, ReadMode};
use testkit::{MarkedDaemon, Tail, child};

use super::{sh, stage, text};

fn read(stage: &MarkedDaemon, mode: ReadMode, since: Option<u64>, limit: Option<u32>) -> proto::reply::Text {
    let read = Read { target: "x".into(), mode, since, limit, ..Read::default() };
    stage.client().read(read).unwrap()
}

#[test]
fn a_screen_is_the_visible_grid_and_its_cursor() {
    let stage = stage();
    stage.run("x", child::count_lines(100));
    stage.wait_exit("x");
    let screen = read(&stage, ReadMode::Screen, None, None);
    let expected: Vec<String> = (78..=100).map(|number| format!("line {number}")).collect();
    assert_eq!(screen.text.trim_end().lines().collect::<Vec<_>>(), expected);
    assert_eq!((screen.cursor.col, screen.cursor.row, screen.alternate), (0, 23, false));
    let cut = read(&stage, ReadMode::Screen, None, Some(20));
    assert!(cut.truncated && cut.text.len() <= 20, "{cut:?}");
}

#[test]
fn history_is_read_by_line_ids_to_the_end_without_loss() {
    let stage = stage();
    stage.run("x", child::count_lines(3000));
    stage.wait_exit("x");
    let (mut lines, mut since) = (Vec::new(), 0);
    loop {
        let part = read(&stage, ReadMode::History, Some(since), Some(1000));
        assert!(part.text.len() <= 1000 && part.missed == 0, "{} {}", part.text.len(), part.missed);
        lines.extend(part.text.lines().map(str::to_owned));
        since = part.offset;
        if !part.truncated {
            break;
        }
    }
    assert_eq!(lines, (1..=3000).map(|number| format!("line {number}")).collect::<Vec<_>>());
    let newest = read(&stage, ReadMode::History, None, Some(200));
    assert!(newest.truncated && newest.text.trim_end().ends_with("line 3000"), "{newest:?}");
}

#[test]
fn the_stream_is_read_by_offsets_and_limits_are_kept() {
    let stage = stage();
    stage.run(
        "x",
        sh("printf '\\033[31mred\\033[0m\\n'; i=1; while [ $i -le 9000 ]; do echo line $i; i=$((i+1)); done"),
    );
    stage.wait_exit("x");
    let default = read(&stage, ReadMode::Stream, Some(0), None);
    // Whole lines, the longest of which has ten bytes.
    assert!(default.truncated && (11_990..=12_000).contains(&default.text.len()), "{}", default.text.len());
    assert!(default.text.ends_with('\n'));
    let most = read(&stage, ReadMode::Stream, Some(0), Some(u32::MAX));
    assert!(most.truncated && (65_526..=65_536).contains(&most.text.len()), "{}", most.text.len());
    let (mut all, mut since) = (String::new(), 0);
    loop {
        let part = read(&stage, ReadMode::Stream, Some(since), Some(4000));
        assert!(part.text.len() <= 4000, "{}", part.text.len());
        all.push_str(&part.text);
        since = part.offset;
        if !part.truncated {
            break;
        }
    }
    let lines: Vec<_> = all.lines().map(str::to_owned).collect();
    let expected = std::iter::once("red".to_owned()).chain((1..=9000).map(|number| format!("line {number}")));
    assert_eq!(lines, expected.collect::<Vec<_>>());
}

#[test]
fn e4_what_was_overwritten_is_told_as_missed_and_the_sum_is_what_was_produced() {
    let stage = stage();
    // Longer than the ring, all of it numbered.
    stage.run("x", sh("stty raw -echo; seq 1 1000000; printf over"));
    stage.wait_exit("x");
    let produced: u64 = (1..=1_000_000u64).map(|number| number.to_string().len() as u64 + 1).sum::<u64>() + 4;
    let stream = read(&stage, ReadMode::Stream, Some(0), None);
    assert!(stream.missed > 0, "{stream:?}");
    let mut tail =
        Tail::begin(&stage, Follow { target: "x".into(), from: Some(0), live: true, ..Follow::default() });
    tail.to_end();
    assert_eq!(tail.missed + tail.bytes.len() as u64, produced);
    assert!(tail.missed > 0 && tail.bytes.ends_with(b"1000000\nover"));
    let output = stage.qd(&["logs", "x", "--from", "0"]);
    assert_eq!(text(&output.stderr), format!("[{} bytes are gone]\n", tail.missed));
    assert!(output.stdout == tail.bytes);
}

#[test]
fn a_search_finds_rendered_lines() {
    let stage = stage();
    // The word is painted in two colours and two pieces; a person sees one word.
    stage.run("x", sh("printf '\\033[31mnee\\033[32mdle\\033[0m one\\n'; seq 1 200; echo needle two"));
    stage.wait_exit("x");
    let found = stage.json(&["search", "x", "needle (one|two)"]);
    let texts: Vec<_> =
        found["matches"].as_array().unwrap().iter().map(|m| m["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["needle one", "needle two"]);
    assert_eq!(found["truncated"], false);
    let cut = stage.json(&["search", "x", "^1", "--limit", "3"]);
    assert_eq!((cut["matches"].as_array().unwrap().len(), &cut["truncated"]), (3, &true.into()));
    assert_eq!(stage.qd(&["search", "x", "("]).status.code(), Some(2));
}

#[test]
fn logs_follow_to_the_end_of_the_run() {
    let stage = stage();
    stage.run("x", child::repeat_lines());
    stage.wait_pattern("x", "ready");
    let logs = stage.command(&["logs", "x", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    stage.type_text("x", "one\n");
    stage.wait_pattern("x", "got:one");
    stage.type_text("x", "two\n\u{4}");
    let output = logs.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), "ready\r\ngot:one\r\ngot:two\r\n");
    let now = stage.qd(&["logs", "x"]);
    assert_eq!(text(&now.stdout), text(&output.stdout));
}

#[test]
fn a_recording_is_an_asciicast_of_what_was_shown() {
    let stage = stage();
    stage.run("x", sh("stty -echo; printf '\\033[1mbold\\033[0m \\303\\244\\r\\n'; read x; echo end"));
    stage.wait_pattern("x", "bold");
    let cast = stage.root().join("out.cast");
    let words = ["record", "x", cast.to_str().unwrap(), "--from-start"];
    let record = stage.command(&words).stdout(Stdio::null()).spawn().unwrap();
    stage.type_text("x", "\n");
    assert!(record.wait_with_output().unwrap().status.success());
    let lines: Vec<serde_json::Value> = std::fs::read_to_string(cast)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (&lines[0]["version"], &lines[0]["width"], &lines[0]["height"]),
        (&2.into(), &80.into(), &24.into())
    );
    let shown: String =
        lines[1..].iter().filter(|event| event[1] == "o").map(|event| event[2].as_str().unwrap()).collect();
    assert_eq!(shown.replace('\r', ""), "\u{1b}[1mbold\u{1b}[0m ä\nend\n");
    let times: Vec<f64> = lines[1..].iter().map(|event| event[0].as_f64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
}

/// Returns the output of `qd`, which must succeed.
fn printed(stage: &MarkedDaemon, arguments: &[&str]) -> String {
    let output = stage.qd(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn m14_history_and_stream_longer_than_one_answer_are_printed_whole() {
    let stage = stage();
    stage.run("x", child::count_lines(9_500));
    stage.wait_exit("x");
    let expected: Vec<String> = (1..=9_500).map(|number| format!("line {number}")).collect();
    for mode in ["history", "stream"] {
        let all = printed(&stage, &["read", "x", "--mode", mode]);
        assert!(all.len() > 65_536, "it is longer than one answer");
        assert_eq!(all.trim_end().lines().collect::<Vec<_>>(), expected, "{mode}");
    }
    let cut = stage.qd(&["read", "x", "--mode", "history", "--limit", "100"]);
    assert!(text(&cut.stderr).contains("older text was left out"), "{}", text(&cut.stderr));
    let cut = stage.qd(&["read", "x", "--mode", "history", "--limit", "100", "--since", "0"]);
    assert!(text(&cut.stderr).contains("--since"), "{}", text(&cut.stderr));
}

#[test]
fn m14_the_last_lines_of_a_log_are_the_last_lines() {
    let stage = stage();
    stage.run("x", child::count_lines(20_000));
    stage.wait_exit("x");
    let tail = |count: &str| printed(&stage, &["logs", "x", "--tail", count]);
    assert_eq!(tail("3"), "line 19998\r\nline 19999\r\nline 20000\r\n");
    assert_eq!(tail("0"), "");
    assert_eq!(tail("1000000").lines().count(), 20_000);
    stage.run("open", sh("printf 'one\\ntwo\\nthree'; exec sleep 1000000"));
    stage.wait_pattern("open", "three");
    assert_eq!(printed(&stage, &["logs", "open", "--tail", "2"]), "two\r\nthree");
}

#[test]
fn m14_a_log_tells_when_its_lines_came_and_begins_where_a_person_says() {
    let stage = stage();
    stage.run("x", sh("stty -echo; echo early; while read -r l; do echo \"got:$l\"; done"));
    stage.wait_pattern("x", "early");
    let stamped = printed(&stage, &["logs", "x", "--timestamps"]);
    let (time, rest) = stamped.split_once(' ').unwrap();
    assert!(time.ends_with('Z') && rest.starts_with("early"), "{stamped}");
    assert_eq!(printed(&stage, &["logs", "x", "--since", "1h"]), "early\r\n");
    // It came at the newest moment: nothing came since a moment in the future.
    assert_eq!(printed(&stage, &["logs", "x", "--since", "2999-01-01"]), "");
    let said = stage.qd(&["logs", "x", "--since", "60"]);
    assert_eq!(said.status.code(), Some(2));
    assert!(text(&said.stderr).contains("--from takes an offset"), "{}", text(&said.stderr));
    let json = printed(&stage, &["logs", "x", "--timestamps", "--json"]);
    let line: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert!(line["at_ms"].as_u64().is_some_and(|at| at > 1_700_000_000_000), "{line}");
}

#[test]
fn n2_rows_with_styles_are_read_by_line_id_in_pages_and_are_the_plain_text() {
    let stage = stage();
    let script = "i=0; while [ $i -lt 300 ]; do printf '\\033[3%dmred %d\\033[0m plain \\033[1;4mbold\\033[m\\n' \
                  $((i%8)) $i; i=$((i+1)); done; printf '\\033]8;;https://example.org\\033\\\\link\\033]8;;\\033\\\\'";
    stage.run("x", sh(script));
    stage.wait_exit("x");
    let plain = read(&stage, ReadMode::History, Some(0), Some(65_536));
    let (mut rows, mut since) = (Vec::new(), 0);
    loop {
        let read = Read {
            target: "x".into(),
            mode: ReadMode::History,
            since: Some(since),
            limit: Some(4_000),
            styles: true,
            ..Read::default()
        };
        let part = stage.client().read(read).unwrap();
        let given = part.rows.unwrap();
        assert!(serde_json::to_string(&given).unwrap().len() <= 4_000 && part.text.is_empty());
        let next = given.last().unwrap().line + 1;
        rows.extend(given);
        since = next;
        if !part.truncated {
            break;
        }
        assert_eq!(part.offset, next);
    }
    assert!(rows.iter().map(|row| row.line).eq(0..301));
    let text: Vec<String> =
        rows.iter().map(|row| row.runs.iter().map(|run| run.text.as_str()).collect()).collect();
    assert!(text.iter().map(String::as_str).eq(plain.text.lines()));
    let json = stage.json(&["read", "x", "--styles", "--mode", "history"]);
    let last = json["rows"].as_array().unwrap().last().unwrap();
    assert_eq!(last["runs"][0]["link"], "https://example.org", "{last}");
    let json = stage.json(&["read", "x", "--styles"]);
    let top = &json["rows"][0];
    assert_eq!(top["line"], 0);
    let first = json["first_line"].as_u64().unwrap();
    assert_eq!(top["runs"][0]["text"], format!("red {first}"), "{top}");
    let coloured = rows.iter().find(|row| row.line == 1).unwrap();
    assert_eq!(coloured.runs[0].fg, Some(proto::styled::CellColor::Index(1)));
    assert!(coloured.runs[2].bold && coloured.runs[2].underline.is_some(), "{coloured:?}");
    for arguments in
        [&["read", "x", "--styles", "--mode", "stream", "--json"][..], &["read", "x", "--styles"]]
    {
        assert_eq!(stage.qd(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn n4_n8_keys_that_a_program_did_not_ask_for_and_other_hosts_are_refused_with_the_reason() {
    let stage = stage();
    stage.run("x", child::repeat_bytes());
    stage.wait_pattern("x", "ready");
    for (arguments, words) in [
        (["key", "x", "super-a"], "has not asked for such keys"),
        (["key", "x", "a:release"], "has not asked for such keys"),
        (["key", "x@desk", "a"], "other hosts are not supported yet"),
    ] {
        let output = stage.qd(&arguments);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(words), "{arguments:?}: {said}");
    }
    stage.json(&["key", "x", "kp-7", "f13"]);
    stage.wait_pattern("x", "7");
}
