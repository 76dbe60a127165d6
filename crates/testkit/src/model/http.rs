//! HTTP/1.1 as far as model clients use it: bodies by length or in chunks, kept connections, event streams;
//! no compression and no TLS. It is written by hand because the server must be able to stop in the middle of
//! an answer, and because a test tool does not justify a web framework.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;

use serde_json::Value;

/// More than any conversation of a test; a client that sends more is broken.
const MAX_BODY: usize = 64 << 20; // 64 MiB
const MAX_LINE: u64 = 64 << 10; // 64 KiB

/// One request, read whole.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without the query.
    pub(super) path: String,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// Reads the next request of a connection; `None` when the client closed it between two.
    pub(super) fn read(reader: &mut BufReader<TcpStream>) -> Result<Option<Self>> {
        let Some(first) = line(reader)? else { return Ok(None) };
        let mut words = first.split(' ');
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(malformed("request line"));
        };
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let mut request = Self { method: method.to_owned(), path, headers: Vec::new(), body: Vec::new() };
        loop {
            let header = line(reader)?.ok_or_else(|| malformed("headers"))?;
            if header.is_empty() {
                break;
            }
            let (name, value) = header.split_once(':').ok_or_else(|| malformed("header"))?;
            request.headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
        if request.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
            reader.get_ref().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        request.body = body(&request, reader)?;
        Ok(Some(request))
    }

    /// Returns a header's value, by its lower-case name.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A complete answer.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Value,
}

impl Whole {
    /// Returns a success.
    pub(super) fn ok(body: Value) -> Self {
        Self { status: 200, headers: Vec::new(), body }
    }
}

/// Sends a complete answer; the connection stays usable.
pub(super) fn send_whole(mut stream: &TcpStream, request: &Request, whole: &Whole) -> Result<()> {
    let body = whole.body.to_string();
    let mut head = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        whole.status,
        reason(whole.status),
        body.len()
    );
    for (name, value) in &whole.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    if request.method != "HEAD" {
        head.push_str(&body);
    }
    stream.write_all(head.as_bytes())
}

/// Begins a stream of events, which ends with its connection.
pub(super) fn begin_events(mut stream: &TcpStream) -> Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
          connection: close\r\n\r\n",
    )
}

/// Sends events, each already in the form `data: …` with its empty line.
pub(super) fn send_events(mut stream: &TcpStream, events: &[String]) -> Result<()> {
    events.iter().try_for_each(|event| stream.write_all(event.as_bytes()))
}

/// Returns an event named after its own `type`.
pub(super) fn named_event(value: &Value) -> String {
    let name = value["type"].as_str().unwrap_or("message");
    format!("event: {name}\ndata: {value}\n\n")
}

/// Returns an event without a name.
pub(super) fn bare_event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn body(request: &Request, reader: &mut BufReader<TcpStream>) -> Result<Vec<u8>> {
    if request.header("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        return chunks(reader);
    }
    let length: usize = match request.header("content-length") {
        Some(value) => value.parse().map_err(|_| malformed("content-length"))?,
        None => 0,
    };
    exactly(reader, length)
}

fn chunks(reader: &mut BufReader<TcpStream>) -> Result<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let size = line(reader)?.ok_or_else(|| malformed("chunk"))?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| malformed("chunk size"))?;
        if size == 0 {
            break;
        }
        if whole.len() + size > MAX_BODY {
            return Err(malformed("body: too long"));
        }
        whole.extend(exactly(reader, size)?);
        line(reader)?;
    }
    // Trailers, up to the empty line.
    while line(reader)?.is_some_and(|trailer| !trailer.is_empty()) {}
    Ok(whole)
}

fn exactly(reader: &mut BufReader<TcpStream>, length: usize) -> Result<Vec<u8>> {
    if length > MAX_BODY {
        return Err(malformed("body: too long"));
    }
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Returns a line without its end; `None` at the end of the connection.
fn line(reader: &mut BufReader<TcpStream>) -> Result<Option<String>> {
    let mut bytes = Vec::new();
    reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    while bytes.last().is_some_and(|byte| matches!(byte, b'\r' | b'\n')) {
        bytes.pop();
    }
    String::from_utf8(bytes).map(Some).map_err(|_| malformed("line"))
}

fn malformed(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("malformed {what}"))
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        529 => "Overloaded",
        _ => "Answer",
    }
}
