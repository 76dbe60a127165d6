//! A client of `qd mcp`: sends lines and waits for answers with a deadline.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{DEADLINE, TestDaemon, wait_for_end};

/// One running `qd mcp` and its output.
pub(crate) struct Proxy {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    next: u64,
    /// Messages that were no answer to the request at hand.
    pub(crate) notes: Vec<Value>,
    /// Added to the parameters of every request: the newer protocol identifies the client each time.
    meta: Option<Value>,
}

impl Proxy {
    /// Starts one for this daemon and sends nothing yet.
    pub(crate) fn start(daemon: &TestDaemon) -> Self {
        let mut command = daemon.command(&["mcp"]);
        command.current_dir(daemon.root());
        Self::run(command)
    }

    /// Returns a proxy that has been greeted in the older protocol.
    pub(crate) fn greeted(daemon: &TestDaemon) -> Self {
        let mut proxy = Self::start(daemon);
        proxy.initialize("2025-11-25");
        proxy
    }

    /// Returns a proxy of the newer protocol with these capabilities.
    pub(crate) fn modern(daemon: &TestDaemon, capabilities: Value) -> Self {
        let mut proxy = Self::start(daemon);
        proxy.meta = Some(modern_meta(capabilities));
        proxy
    }

    /// Returns the same proxy, used in the newer protocol.
    pub(crate) fn speaking_modern(mut self, capabilities: Value) -> Self {
        self.meta = Some(modern_meta(capabilities));
        self
    }

    pub(crate) fn run(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, lines) = sync_channel(4096);
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line)
                    .unwrap_or_else(|error| json!({"not_json": line, "why": error.to_string()}));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Self { child, input, lines, next: 0, notes: Vec::new(), meta: None }
    }

    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        self.initialize_with(version, json!({}))
    }

    /// Greets in the older protocol with these capabilities.
    pub(crate) fn initialize_with(&mut self, version: &str, capabilities: Value) -> Value {
        let client = json!({"name": "test", "version": "1"});
        let answer = self.request(
            "initialize",
            json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client}),
        );
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer["result"].clone()
    }

    /// Bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the proxy reads");
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Returns the next line of any kind.
    pub(crate) fn line(&self) -> Value {
        self.line_within(DEADLINE)
    }

    pub(crate) fn line_within(&self, time: Duration) -> Value {
        self.lines.recv_timeout(time).unwrap_or_else(|error| panic!("the proxy says nothing: {error}"))
    }

    /// Sends a request without waiting; returns the id.
    pub(crate) fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// Waits for the answer to this id; keeps what else comes.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        let is_it = |line: &Value| line["id"] == json!(id) && line.get("method").is_none();
        if let Some(place) = self.notes.iter().position(is_it) {
            return self.notes.remove(place);
        }
        let until = Instant::now() + DEADLINE * 2;
        loop {
            let line = self.line_within(until.saturating_duration_since(Instant::now()));
            if is_it(&line) {
                return line;
            }
            self.notes.push(line);
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// Calls a tool; returns its whole result.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer.get("result").is_some(), "{tool} {arguments}: {answer}");
        answer["result"].clone()
    }

    /// Calls a tool that must succeed; returns its structure, which its text must repeat.
    pub(crate) fn tool(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments.clone());
        assert_eq!(result["isError"], json!(false), "{tool} {arguments}: {result}");
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"], "{tool}: text and structure differ");
        text
    }

    /// Calls a tool that must fail; returns its error.
    pub(crate) fn refusal(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments.clone());
        assert_eq!(result["isError"], json!(true), "{tool} {arguments}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        let error: Value = serde_json::from_str(text).unwrap();
        error["error"].clone()
    }

    /// Returns a notification that has come or comes before the deadline.
    pub(crate) fn note(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.notes.iter().position(&wanted) {
            return self.notes.remove(place);
        }
        let until = Instant::now() + DEADLINE;
        loop {
            let line = self.line_within(until.saturating_duration_since(Instant::now()));
            if wanted(&line) {
                return line;
            }
            self.notes.push(line);
        }
    }

    /// Returns all notifications so far.
    pub(crate) fn drained(&mut self) -> Vec<Value> {
        self.notes.extend(self.lines.try_iter());
        std::mem::take(&mut self.notes)
    }

    /// Waits until a task is over; returns its result.
    pub(crate) fn finished(&mut self, created: &Value) -> Value {
        let until = Instant::now() + DEADLINE;
        loop {
            let told = self.request("tasks/get", json!({"taskId": created["taskId"]}))["result"].clone();
            if told["status"] != json!("working") {
                assert_eq!(told["status"], json!("completed"), "{told}");
                return told["result"].clone();
            }
            assert!(Instant::now() < until, "{told}");
        }
    }

    /// Returns the processor time of all its threads so far.
    pub(crate) fn processor_time(&self) -> Duration {
        processor_time(self.child.id()).expect("the proxy lives")
    }

    /// Closes the input.
    pub(crate) fn hang_up(&mut self) {
        drop(self.input.take());
    }

    /// Closes the input and waits for the end, which must be a normal one.
    pub(crate) fn end(mut self) {
        self.hang_up();
        let status = wait_for_end(&mut self.child, Duration::from_secs(5));
        assert!(status.success(), "{status}");
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.input.take());
        // It may have ended already, which is what the test was about.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns the identification of a client of the newer protocol.
pub(crate) fn modern_meta(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// Returns the capability of the tasks extension.
pub(crate) fn with_tasks() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// Returns the processor time of all threads of this process; `None` once it is gone.
pub(crate) fn processor_time(pid: u32) -> Option<Duration> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let spent = |thread: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        stat.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    };
    Some(threads.filter_map(spent).sum())
}
