//! A WebSocket as a browser opens one, written by hand: the bench depends on no library of the program under test.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The kinds of messages that the bench sends and reads.
pub(crate) const TEXT: u8 = 1;
pub(crate) const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

const TIMEOUT: Duration = Duration::from_secs(10);

/// An open WebSocket.
pub(crate) struct WebSocket {
    stream: TcpStream,
}

impl WebSocket {
    /// Opens one; `lines` are further lines of the request.
    pub(crate) fn open(address: &str, path: &str, lines: &str) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{address}{path}: {error}");
        let mut stream = TcpStream::connect(address).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        stream.set_read_timeout(Some(TIMEOUT)).map_err(failed)?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n{lines}\r\n"
        );
        stream.write_all(request.as_bytes()).map_err(failed)?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).map_err(failed)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        if head.split(' ').nth(1) != Some("101") {
            return Err(format!("{address}{path}: {}", head.lines().next().unwrap_or_default()));
        }
        Ok(Self { stream })
    }

    /// Sends one message.
    pub(crate) fn send(&mut self, kind: u8, payload: &[u8]) -> Result<(), String> {
        // A mask of zeros leaves the payload as it is.
        let mut frame = vec![0x80 | kind];
        match u16::try_from(payload.len()) {
            Ok(short @ 0..=125) => frame.push(0x80 | short as u8),
            Ok(length) => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&length.to_be_bytes());
            }
            Err(_) => return Err("the bench sends no long messages".to_owned()),
        }
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(payload);
        self.stream.write_all(&frame).map_err(|error| format!("a message did not leave: {error}"))
    }

    /// Returns the next message; pings are answered.
    pub(crate) fn next(&mut self) -> Result<(u8, Vec<u8>), String> {
        loop {
            let [first, second] = self.read::<2>()?;
            let length = match second & 0x7f {
                126 => u64::from(u16::from_be_bytes(self.read()?)),
                127 => u64::from_be_bytes(self.read()?),
                short => u64::from(short),
            };
            let mut payload = vec![0; usize::try_from(length).map_err(|error| error.to_string())?];
            self.stream.read_exact(&mut payload).map_err(|error| format!("a message was cut: {error}"))?;
            match first & 0x0f {
                PING => self.send(PONG, &payload)?,
                CLOSE => return Err(format!("closed: {}", String::from_utf8_lossy(&payload))),
                kind => return Ok((kind, payload)),
            }
        }
    }

    fn read<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).map_err(|error| format!("no message: {error}"))?;
        Ok(bytes)
    }
}
