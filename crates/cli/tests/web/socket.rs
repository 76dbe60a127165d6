//! A WebSocket client written by hand, so that it can also send what no library would.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::server::{As, Server};

/// What a server sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Frame {
    Text(Value),
    Binary(Vec<u8>),
    /// The code of a close.
    Close(u16),
    /// The connection has ended without one.
    Gone,
}

/// An open WebSocket.
pub(crate) struct Socket {
    pub(crate) stream: TcpStream,
}

impl Socket {
    /// Upgrades with exactly these headers; the status when the server refused.
    pub(crate) fn upgrade(server: &Server, path: &str, headers: &[(String, String)]) -> Result<Self, u16> {
        Self::upgrade_over(server, server.connect(), path, headers)
    }

    /// Upgrades this connection.
    pub(crate) fn upgrade_over(
        server: &Server,
        mut stream: TcpStream,
        path: &str,
        headers: &[(String, String)],
    ) -> Result<Self, u16> {
        server.secrets.add_from_headers(headers);
        let mut request = format!("GET {path} HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n");
        request.push_str("Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read(&mut byte).unwrap_or(0) == 0 {
                break;
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        match head.split(' ').nth(1).and_then(|code| code.parse().ok()) {
            Some(101) => Ok(Self { stream }),
            Some(status) => Err(status),
            None => Err(0),
        }
    }

    /// Opens a socket with the token of a program.
    pub(crate) fn open(server: &Server, path: &str, who: &As) -> Self {
        let mut headers = vec![("Host".to_owned(), server.host.clone())];
        headers.extend(server.headers(who));
        Self::upgrade(server, path, &headers).unwrap_or_else(|status| panic!("{path}: {status}"))
    }

    /// Opens a socket as the page does, with a ticket and its cookie.
    pub(crate) fn by_ticket(server: &Server, path: &str, page: &As, ticket: &str) -> Result<Self, u16> {
        let mut headers = vec![
            ("Host".to_owned(), server.host.clone()),
            ("Sec-WebSocket-Protocol".to_owned(), format!("qd.1, qd.ticket.{ticket}")),
        ];
        headers.extend(server.headers(page));
        Self::upgrade(server, path, &headers)
    }

    pub(crate) fn send_text(&mut self, value: &Value) {
        self.send(1, value.to_string().as_bytes());
    }

    /// Sends an input frame of the data plane.
    pub(crate) fn type_bytes(&mut self, bytes: &[u8]) {
        let mut frame = vec![1, 3];
        frame.resize(24, 0);
        frame.extend_from_slice(bytes);
        self.send(2, &frame);
    }

    pub(crate) fn send(&mut self, opcode: u8, payload: &[u8]) {
        let mut frame = vec![0x80 | opcode];
        match payload.len() {
            short @ 0..=125 => frame.push(0x80 | u8::try_from(short).unwrap()),
            middle @ 126..=65535 => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&u16::try_from(middle).unwrap().to_be_bytes());
            }
            long => {
                frame.push(0x80 | 127);
                frame.extend_from_slice(&(long as u64).to_be_bytes());
            }
        }
        // A mask of zeros leaves the payload as it is.
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(payload);
        drop(self.stream.write_all(&frame));
    }

    /// Returns the next message; pings are answered.
    pub(crate) fn next(&mut self) -> Frame {
        loop {
            let Some((opcode, payload)) = self.read_frame() else { return Frame::Gone };
            match opcode {
                1 => return Frame::Text(serde_json::from_slice(&payload).unwrap()),
                2 => return Frame::Binary(payload),
                8 => {
                    return Frame::Close(
                        payload.get(..2).map_or(0, |code| u16::from_be_bytes([code[0], code[1]])),
                    );
                }
                9 => self.send(10, &payload),
                _ => {}
            }
        }
    }

    /// Returns the next text message for which `wanted` holds, and drops what comes before it.
    pub(crate) fn until(&mut self, what: &str, mut wanted: impl FnMut(&Value) -> bool) -> Value {
        loop {
            match self.next() {
                Frame::Text(value) if wanted(&value) => return value,
                Frame::Text(_) | Frame::Binary(_) => {}
                end => panic!("no {what}: {end:?}"),
            }
        }
    }

    fn read_frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let head: [u8; 2] = self.read()?;
        let length = match head[1] & 0x7f {
            126 => u64::from(u16::from_be_bytes(self.read()?)),
            127 => u64::from_be_bytes(self.read()?),
            short => u64::from(short),
        };
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut payload).ok()?;
        Some((head[0] & 0x0f, payload))
    }

    fn read<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// A frame of the data plane.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) is_repaint: bool,
    pub(crate) offset: u64,
    pub(crate) end: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Piece {
    pub(crate) fn of(frame: &[u8]) -> Self {
        let number = |at: usize| u64::from_le_bytes(frame[at..at + 8].try_into().unwrap());
        assert_eq!(frame[0], 1, "the version");
        Self { is_repaint: frame[1] == 2, offset: number(8), end: number(16), bytes: frame[24..].to_vec() }
    }
}
