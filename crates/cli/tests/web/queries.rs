//! Queries of a child about its terminal: the daemon answers each once, whatever watches it.

use serde_json::json;
use testkit::Tail;

use crate::server::{As, Server, traced_daemon};
use crate::socket::{Frame, Piece, Socket};

#[path = "../../../term/tests/screen/queries.rs"]
mod known;

/// Returns every query with its answer on a screen of 80×24 whose cursor is at home; an empty one where none is given.
fn queries() -> impl Iterator<Item = (&'static str, &'static str)> {
    known::ANSWERED.into_iter().chain(known::SILENT.map(|query| (query, "")))
}

/// Queries that may be passed on because no terminal answers them: they set something to the text `?`.
const HARMLESS: [&str; 4] = ["\x1b]0;?\x07", "\x1b]2;?\x07", "\x1b]22;?\x07", "\x1b]777;?\x07"];

/// Returns a text as `cat -v` shows it.
fn caret(text: &str) -> String {
    let shown = |c: char| match c {
        '\u{1b}' => "^[".to_owned(),
        '\u{7}' => "^G".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(shown).collect()
}

/// Something that watches and, like a browser's terminal, would answer every query that it gets.
enum Watcher {
    View(Socket),
    Dialect(Socket),
}

impl Watcher {
    /// Reads until `wanted` was shown; returns everything that was.
    fn until(&mut self, wanted: &str) -> Vec<u8> {
        let mut shown = Vec::new();
        while !shown.windows(wanted.len()).any(|part| part == wanted.as_bytes()) {
            match self {
                Self::View(socket) => match socket.next() {
                    Frame::Binary(frame) => {
                        let piece = Piece::of(&frame);
                        shown.extend_from_slice(&piece.bytes);
                        socket.send_text(&json!({"type": "credit", "offset": piece.end}));
                    }
                    Frame::Text(_) => {}
                    other => panic!("{other:?} before {wanted}"),
                },
                Self::Dialect(socket) => match socket.next() {
                    Frame::Text(frame) if frame["type"] == "terminal.data" => {
                        let data = frame["payload"]["data_b64"].as_str().unwrap();
                        shown.extend_from_slice(&decode(data));
                    }
                    Frame::Text(frame) => assert_ne!(frame["type"], "terminal.error", "{frame}"),
                    other => panic!("{other:?} before {wanted}"),
                },
            }
        }
        shown
    }
}

fn decode(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        bits = bits << 6 | u32::try_from(LETTERS.iter().position(|known| *known == letter).unwrap()).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).unwrap());
        }
    }
    bytes
}

fn watchers(server: &Server, token: &As, views: usize, has_dialect: bool) -> Vec<Watcher> {
    let mut all: Vec<_> =
        (0..views).map(|_| Watcher::View(Socket::open(server, "/ws/view/asks?mode=type", token))).collect();
    if has_dialect {
        let mut socket = Socket::open(server, "/ws/terminal", token);
        socket.send_text(&json!({"type": "terminal.attach", "payload": {"session_id": "asks"}}));
        all.push(Watcher::Dialect(socket));
    }
    all
}

/// Asks everything while these watch; each answer must come once and in order, and no query reach a watcher.
fn each_query_has_one_answer(views: usize, has_dialect: bool) {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "type");
    let questions = daemon.root().join("questions");
    std::fs::write(&questions, queries().map(|(query, _)| query).collect::<String>()).unwrap();
    let script = "stty raw -echo; printf 'ready\\033[H'; head -c 1 >/dev/null; cat \"$0\"; exec cat -v";
    let argv = ["/bin/sh", "-c", script].map(str::to_owned).into_iter();
    daemon.spawn("asks", argv.chain([questions.display().to_string()]).collect());
    daemon.wait_pattern("asks", "ready");
    let mut watchers = watchers(&server, &token, views, has_dialect);
    for watcher in &mut watchers {
        watcher.until("ready");
    }
    let mut tail = Tail::live(&daemon, "asks");
    daemon.qd(&["send", "asks", "--no-enter", "g"]);
    let last = queries().filter(|(_, answer)| !answer.is_empty()).last().unwrap().1;
    tail.until(caret(last).as_bytes());
    daemon.qd(&["send", "asks", "--no-enter", "END"]);
    let answered = String::from_utf8_lossy(tail.until(b"END")).into_owned();
    let expected: String = queries().map(|(_, answer)| caret(answer)).collect();
    let typed = answered.rsplit_once("\u{1b}]777;?\u{7}").map_or(answered.as_str(), |(_, rest)| rest);
    assert_eq!(typed, format!("{expected}END"), "with {views} views, dialect {has_dialect}");
    for watcher in &mut watchers {
        let shown = String::from_utf8_lossy(&watcher.until("END")).into_owned();
        for (query, _) in queries().filter(|(query, _)| !HARMLESS.contains(query)) {
            let query =
                query.rsplit_once("\x1b\\\x1b").map_or(query.to_owned(), |(_, last)| format!("\x1b{last}"));
            assert!(!shown.contains(&query), "{query:?} reached a watcher: {shown:?}");
        }
    }
}

#[test]
fn w15_each_of_sixty_queries_has_one_answer_without_a_browser() {
    each_query_has_one_answer(0, false);
}

#[test]
fn w15_each_of_sixty_queries_has_one_answer_with_one_browser() {
    each_query_has_one_answer(1, false);
}

#[test]
fn w15_each_of_sixty_queries_has_one_answer_with_five_browsers() {
    each_query_has_one_answer(5, false);
}

#[test]
fn w15_each_of_sixty_queries_has_one_answer_with_a_client_of_the_dialect() {
    each_query_has_one_answer(1, true);
}
