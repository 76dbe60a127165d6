//! One exchange with a vendor's server on the loopback.
//!
//! Owns the few words of HTTP/1.1 that takes: one request, one answer, with a length, in chunks or until the end.
//! Refuses every other host, redirects and answers without a bound. It is written by hand because an open stream must
//! end at once when its agent is released: the socket itself is needed for that.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use agents::server::ServerRequest;
use serde_json::Value;

/// The longest head of an answer, in bytes.
const LONGEST_HEAD: u64 = 16 * 1024;

/// The longest answer, in bytes; a list of all models of all providers has a few megabytes.
const LONGEST_ANSWER: u64 = 32 * 1024 * 1024;

/// How long a server may take to begin a stream: one that accepts before it can serve is asked again.
const HEAD_LIMIT: Duration = Duration::from_secs(5);

/// How long a server on the same machine may take to accept.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// Where a vendor's server listens, and what it wants to hear.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    port: u16,
    authorization: Option<String>,
}

/// What came of a request.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Null where there is none, or none that is JSON.
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// Nobody listens: nothing was sent.
    #[error("the agent's server is not there: {0}")]
    Absent(#[source] io::Error),
    /// Something was sent and nothing understandable came back: it may have been taken.
    #[error("the agent's server did not answer: {0}")]
    Lost(#[from] io::Error),
}

impl Endpoint {
    /// A server on this machine; `user` when it wants a password.
    pub(crate) fn new(port: u16, user: Option<&str>, secret: &str) -> Self {
        let authorization =
            user.map(|user| format!("Basic {}", base64(format!("{user}:{secret}").as_bytes())));
        Self { port, authorization }
    }

    /// Makes a request and waits for its answer, at most this long for each step of it.
    ///
    /// # Errors
    /// There is no answer.
    pub(crate) fn call(&self, request: &ServerRequest, limit: Duration) -> Result<Answer, CallError> {
        let stream = self.connect(limit).map_err(CallError::Absent)?;
        let body = request.body.as_ref().map(Value::to_string);
        self.send(&stream, (request.method.word(), &request.path), body.as_deref())?;
        let (status, body) = receive(stream)?;
        let mut text = Vec::new();
        if body.take(LONGEST_ANSWER + 1).read_to_end(&mut text)? as u64 > LONGEST_ANSWER {
            return Err(CallError::Lost(malformed("the answer is too long")));
        }
        Ok(Answer { status, body: serde_json::from_slice(&text).unwrap_or(Value::Null) })
    }

    /// Opens a stream of events; the socket is given to `keep` before anything waits for it.
    pub(crate) fn open(
        &self,
        path: &str,
        quiet: Duration,
        keep: impl FnOnce(&TcpStream),
    ) -> Result<Body, CallError> {
        let stream = self.connect(HEAD_LIMIT).map_err(CallError::Absent)?;
        keep(&stream);
        self.send(&stream, ("GET", path), None)?;
        let socket = stream.try_clone()?;
        let (status, body) = receive(stream)?;
        socket.set_read_timeout(Some(quiet))?;
        if status != 200 {
            return Err(CallError::Lost(malformed(&format!("it answered {status}"))));
        }
        Ok(body)
    }

    fn connect(&self, limit: Duration) -> io::Result<TcpStream> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let stream = TcpStream::connect_timeout(&address, CONNECT_LIMIT)?;
        stream.set_read_timeout(Some(limit))?;
        stream.set_write_timeout(Some(limit))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn send(
        &self,
        mut stream: &TcpStream,
        (method, path): (&str, &str),
        body: Option<&str>,
    ) -> io::Result<()> {
        let port = self.port;
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nAccept: */*\r\n"
        );
        if let Some(authorization) = &self.authorization {
            head += &format!("Authorization: {authorization}\r\n");
        }
        if let Some(body) = body {
            head += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        } else if method == "POST" {
            head += "Content-Length: 0\r\n";
        }
        stream.write_all((head + "\r\n" + body.unwrap_or_default()).as_bytes())
    }
}

/// The rest of an answer behind its head.
#[derive(Debug)]
pub(crate) struct Body {
    stream: BufReader<TcpStream>,
    left: Left,
}

#[derive(Debug, PartialEq, Eq)]
enum Left {
    /// This many bytes.
    Length(u64),
    /// This many bytes of a chunk, and then another.
    Chunk(u64),
    /// The next chunk has not begun.
    BetweenChunks,
    /// Whatever comes until the end.
    UntilEnd,
}

impl Read for Body {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        if self.left == Left::BetweenChunks {
            self.next_chunk()?;
        }
        let left = match self.left {
            Left::Length(left) | Left::Chunk(left) => left,
            Left::UntilEnd => u64::MAX,
            Left::BetweenChunks => 0,
        };
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(space.len());
        let space = space.get_mut(..most).unwrap_or_default();
        if space.is_empty() {
            return Ok(0);
        }
        let read = self.stream.read(space)?;
        let left = left.saturating_sub(read as u64);
        match &mut self.left {
            Left::UntilEnd | Left::BetweenChunks => {}
            _ if read == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            Left::Length(length) => *length = left,
            Left::Chunk(_) if left == 0 => {
                line(&mut self.stream)?;
                self.left = Left::BetweenChunks;
            }
            Left::Chunk(chunk) => *chunk = left,
        }
        Ok(read)
    }
}

impl Body {
    fn next_chunk(&mut self) -> io::Result<()> {
        let size = line(&mut self.stream)?;
        let digits = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(digits, 16).map_err(|_| malformed("a chunk has no length"))?;
        // The last one is empty; what may follow it does not matter, the connection ends.
        self.left = if size == 0 { Left::Length(0) } else { Left::Chunk(size) };
        Ok(())
    }
}

/// Reads the head of an answer: its status, and how its body is bounded.
fn receive(stream: TcpStream) -> io::Result<(u16, Body)> {
    let mut stream = BufReader::new(stream);
    let first = line(&mut stream)?;
    let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
    let status: u16 = status.ok_or_else(|| malformed("it does not speak HTTP"))?;
    let mut left = if matches!(status, 204 | 304) { Left::Length(0) } else { Left::UntilEnd };
    let mut seen = 0;
    loop {
        let header = line(&mut stream)?;
        seen += header.len() as u64;
        if header.is_empty() {
            return Ok((status, Body { stream, left }));
        }
        if seen > LONGEST_HEAD {
            return Err(malformed("its head is too long"));
        }
        let Some((name, value)) = header.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("transfer-encoding") && value.trim().eq_ignore_ascii_case("chunked") {
            left = Left::BetweenChunks;
        } else if name.eq_ignore_ascii_case("content-length") && left == Left::UntilEnd {
            left = Left::Length(value.trim().parse().map_err(|_| malformed("its length is no number"))?);
        }
    }
}

fn line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = Vec::new();
    stream.take(LONGEST_HEAD).read_until(b'\n', &mut line)?;
    let line = line.strip_suffix(b"\n").ok_or_else(|| malformed("a line has no end"))?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Ok(String::from_utf8_lossy(line).into_owned())
}

fn malformed(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.to_owned())
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let three = [0, 1, 2].map(|at| u32::from(group.get(at).copied().unwrap_or(0)));
        let bits = three.into_iter().fold(0, |bits, byte| bits << 8 | byte);
        for at in 0..4 {
            let letter = LETTERS.get((bits >> (18 - 6 * at) & 63) as usize).copied().unwrap_or(b'=');
            text.push(if at <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_what_everybody_writes() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("a:\u{ff}b", "YTrDv2I=")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
