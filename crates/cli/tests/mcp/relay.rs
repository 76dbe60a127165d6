//! A relay for clients that cannot send a token: adds one header to every request, puts the server's port
//! where a Host or Origin has the relay's, and passes the rest on unchanged.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// More than any head of a test.
const MAX_HEAD: usize = 64 << 10; // 64 KiB

/// Listens until it is dropped.
pub(crate) struct Relay {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl Relay {
    /// Starts to pass requests on to `server`, each with this header.
    pub(crate) fn start(server: &str, header: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let (is_told, server, header) = (Arc::clone(&is_over), server.to_owned(), header.to_owned());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if is_told.load(Ordering::Relaxed) {
                    return;
                }
                let (server, header) = (server.clone(), header.clone());
                // A side that has gone ends only its own exchange.
                std::thread::spawn(move || drop(exchange(client, (address, &server), &header)));
            }
        });
        Self { address, is_over }
    }

    /// Returns where clients find the server.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the listener, which then ends.
        drop(TcpStream::connect(self.address));
    }
}

/// Relays one request and its answer. The connection is not kept: the next request needs the header too.
fn exchange(mut client: TcpStream, (own, server): (SocketAddr, &str), header: &str) -> io::Result<()> {
    let mut received = Vec::new();
    let end = loop {
        let mut piece = [0; 4096];
        let count = client.read(&mut piece)?;
        received.extend_from_slice(&piece[..count]);
        if let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break end;
        }
        if count == 0 || received.len() > MAX_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
    };
    let (head, rest) = received.split_at(end);
    let port = server.rsplit_once(':').map_or("", |(_, port)| port);
    let mut server = TcpStream::connect(server)?;
    for line in head.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
        let begin = line.to_ascii_lowercase();
        if begin.starts_with("host:") || begin.starts_with("origin:") {
            let named = line.replace(&format!(":{}", own.port()), &format!(":{port}"));
            server.write_all(format!("{named}\r\n").as_bytes())?;
        } else if !begin.starts_with("connection:") {
            server.write_all(format!("{line}\r\n").as_bytes())?;
        }
    }
    server.write_all(format!("{header}\r\nConnection: close").as_bytes())?;
    server.write_all(rest)?;
    let (mut upwards, mut away) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || {
        drop(io::copy(&mut upwards, &mut away));
        // A client that hangs up wants no more of the answer either.
        drop(away.shutdown(Shutdown::Both));
    });
    let answered = io::copy(&mut server, &mut client);
    drop(client.shutdown(Shutdown::Both));
    answered.map(|_| ())
}
