//! HTTP calls to a vendor's server on the loopback, by hyper's client: one connection per call, every answer bounded.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use agents::server::ServerRequest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The longest head of an answer, in bytes.
const LONGEST_HEAD: usize = 16 * 1024;

/// The longest answer, in bytes; a list of all models of all providers has a few megabytes.
const LONGEST_ANSWER: usize = 32 * 1024 * 1024;

/// How long a server may take to begin a stream; one that accepts before it can serve is tried again.
const HEAD_LIMIT: Duration = Duration::from_secs(5);

/// How long a server on the same machine may take to accept.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// Where a vendor's server listens, and the credentials it expects.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    port: u16,
    authorization: Option<String>,
}

/// A server's answer to a request.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Null when there is no body, or it is not JSON.
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// No program listens: nothing was sent.
    #[error("the agent's server is not there: {0}")]
    Absent(#[source] io::Error),
    /// Something was sent and no valid answer came back: the server may have acted on it.
    #[error("the agent's server did not answer: {0}")]
    Lost(#[source] io::Error),
}

/// The body of an answer, with the task that moves its bytes. The connection ends with it.
pub(crate) struct Body {
    incoming: Incoming,
    _connection: ConnectionTask,
}

impl Body {
    /// Returns the next piece; `None` at the end of the stream, after an error, or after this long without a
    /// byte.
    pub(crate) async fn next(&mut self, quiet: Duration) -> Option<Bytes> {
        loop {
            let frame = timeout(quiet, self.incoming.frame()).await.ok()??.ok()?;
            if let Ok(data) = frame.into_data() {
                return Some(data);
            }
        }
    }
}

/// The task of one connection; dropping this closes the connection.
struct ConnectionTask(JoinHandle<()>);

impl Drop for ConnectionTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Endpoint {
    /// Describes a server on this machine, with a `user` when it needs a password.
    pub(crate) fn new(port: u16, user: Option<&str>, secret: &str) -> Self {
        let authorization = user.map(|user| format!("Basic {}", STANDARD.encode(format!("{user}:{secret}"))));
        Self { port, authorization }
    }

    /// Makes a request and waits this long for its whole answer.
    pub(crate) async fn call(&self, request: &ServerRequest, limit: Duration) -> Result<Answer, HttpError> {
        let head = self.head(request.method.word(), &request.path)?;
        let body = request.body.as_ref().map(Value::to_string);
        let stream = self.connect().await?;
        let exchange = async {
            let (response, _connection) = exchange(stream, head, body).await?;
            let status = response.status().as_u16();
            let text = Limited::new(response.into_body(), LONGEST_ANSWER).collect().await.map_err(lost)?;
            let body = serde_json::from_slice(&text.to_bytes()).unwrap_or(Value::Null);
            Ok(Answer { status, body })
        };
        timeout(limit, exchange).await.unwrap_or_else(|_| Err(timed_out()))
    }

    /// Opens a stream of events.
    pub(crate) async fn open(&self, path: &str) -> Result<Body, HttpError> {
        let (head, stream) = (self.head("GET", path)?, self.connect().await?);
        let opened = timeout(HEAD_LIMIT, exchange(stream, head, None)).await;
        let (response, connection) = opened.unwrap_or_else(|_| Err(timed_out()))?;
        if response.status() != StatusCode::OK {
            return Err(lost(format!("it answered {}", response.status().as_u16())));
        }
        Ok(Body { incoming: response.into_body(), _connection: connection })
    }

    async fn connect(&self) -> Result<TcpStream, HttpError> {
        let connecting = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        let connected = timeout(CONNECT_LIMIT, connecting).await;
        let stream = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let stream = stream.map_err(HttpError::Absent)?;
        stream.set_nodelay(true).map_err(HttpError::Absent)?;
        Ok(stream)
    }

    /// Returns the head of a request. An invalid path fails before anything is sent.
    fn head(&self, method: &str, path: &str) -> Result<hyper::http::request::Builder, HttpError> {
        let path: hyper::Uri = path.parse().map_err(|error| HttpError::Absent(io::Error::other(error)))?;
        let head = Request::builder().method(method).uri(path);
        let head = head.header(HOST, format!("127.0.0.1:{}", self.port));
        let head = head.header(CONNECTION, "close").header(ACCEPT, "*/*");
        Ok(match &self.authorization {
            Some(authorization) => head.header(AUTHORIZATION, authorization),
            None => head,
        })
    }
}

/// Sends a request over a fresh connection and waits for the head of its answer.
async fn exchange(
    stream: TcpStream,
    head: hyper::http::request::Builder,
    body: Option<String>,
) -> Result<(Response<Incoming>, ConnectionTask), HttpError> {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(LONGEST_HEAD);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(lost)?;
    // An error of the connection reaches the caller through the response or its body.
    let connection = ConnectionTask(tokio::spawn(async move { drop(connection.await) }));
    let head = if body.is_some() { head.header(CONTENT_TYPE, "application/json") } else { head };
    let request = head.body(Full::new(Bytes::from(body.unwrap_or_default()))).map_err(lost)?;
    let response = sender.send_request(request).await.map_err(lost)?;
    Ok((response, connection))
}

fn lost(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> HttpError {
    HttpError::Lost(io::Error::other(reason))
}

fn timed_out() -> HttpError {
    HttpError::Lost(io::ErrorKind::TimedOut.into())
}
