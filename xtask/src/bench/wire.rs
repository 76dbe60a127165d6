//! The daemon's control lines, written by hand, for what the command line cannot show: many requests over one
//! connection. It has the few shapes of docs/protocol.md that it needs.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};

use super::contender::TIMEOUT;

/// One greeted connection.
pub(crate) struct Connection {
    writer: UnixStream,
    reader: BufReader<UnixStream>,
    next_id: u64,
}

impl Connection {
    /// Connects to the daemon whose runtime directory this is and says hello.
    pub(crate) fn open(runtime: &Path) -> Result<Self, String> {
        let path = runtime.join("qd.sock");
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let writer = UnixStream::connect(&path).map_err(failed)?;
        writer.set_read_timeout(Some(TIMEOUT)).map_err(failed)?;
        let reader = BufReader::new(writer.try_clone().map_err(failed)?);
        let mut connection = Self { writer, reader, next_id: 1 };
        connection.call(&json!({"hello": {"protocol": 1, "client": "xtask bench"}}))?;
        Ok(connection)
    }

    /// Starts a process.
    pub(crate) fn spawn(&mut self, name: &str, directory: &Path, argv: &[String]) -> Result<(), String> {
        self.call(&json!({"spawn": {"name": name, "cwd": directory, "argv": argv}})).map(|_| ())
    }

    /// Sends one request and waits for its answer, passing over events.
    fn call(&mut self, request: &Value) -> Result<Value, String> {
        let id = self.next_id;
        self.next_id += 1;
        let line = format!("{}\n", json!({"id": id, "request": request}));
        self.writer.write_all(line.as_bytes()).map_err(|error| format!("door: {error}"))?;
        loop {
            let mut line = String::new();
            match self.reader.read_line(&mut line) {
                Ok(0) => return Err("the door closed".to_owned()),
                Ok(_) => {}
                Err(error) => return Err(format!("door: {error}")),
            }
            let value: Value =
                serde_json::from_str(&line).map_err(|error| format!("door: {error}: {line}"))?;
            if value.pointer("/reply/id").and_then(Value::as_u64) != Some(id) {
                continue;
            }
            return match value.pointer("/reply/outcome/ok") {
                Some(reply) => Ok(reply.clone()),
                None => Err(format!("door: {}", line.trim())),
            };
        }
    }
}
