//! Asks a public URL the way a browser would, for `qd doctor`: does this server answer there, does its page know the path, and do
//! WebSockets pass the proxy.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The key of the one WebSocket that is opened. It guards against caches that answer from memory, not against people.
const SOCKET_KEY: &str = "cWQgZG9jdG9yIHByb2JlIQ==";
/// The longest page that is read.
const LONGEST_PAGE: usize = 1 << 20; // 1 MiB

/// One thing that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeResult {
    /// What was asked for.
    pub name: &'static str,
    /// What is well, or what is wrong.
    pub outcome: Result<String, ProbeFault>,
}

/// What is wrong, and what helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeFault {
    /// What is wrong.
    pub detail: String,
    /// What helps.
    pub hint: String,
}

/// The URL that is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PublicUrl {
    is_secure: bool,
    /// As a browser sends it.
    host: String,
    name: String,
    port: u16,
    /// With a slash at both ends.
    path: String,
}

/// Asks a URL; the answers are in the order of the questions, and the first that cannot be asked ends them.
pub fn probe(url: &str) -> io::Result<Vec<ProbeResult>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let parsed = PublicUrl::parse(url).ok_or_else(|| {
        let what = format!("{url} is not a URL of the form https://HOST[:PORT][/PATH/]");
        io::Error::new(io::ErrorKind::InvalidInput, what)
    })?;
    Ok(runtime.block_on(ask_all(&parsed)))
}

async fn ask_all(url: &PublicUrl) -> Vec<ProbeResult> {
    let address = ProbeResult { name: "web address", outcome: health(url).await };
    if address.outcome.is_err() {
        return vec![address];
    }
    let page = ProbeResult { name: "web page", outcome: page(url).await };
    vec![address, page, ProbeResult { name: "web sockets", outcome: socket(url).await }]
}

impl PublicUrl {
    fn parse(url: &str) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        let is_secure = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let authority = uri.authority()?;
        let port = authority.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let path = uri.path().trim_matches('/');
        let path = if path.is_empty() { "/".to_owned() } else { format!("/{path}/") };
        let name = authority.host().trim_matches(['[', ']']).to_owned();
        Some(Self { is_secure, host: authority.as_str().to_owned(), name, port, path })
    }

    fn origin(&self) -> String {
        format!("{}://{}", if self.is_secure { "https" } else { "http" }, self.host)
    }

    /// Returns a request for a path below the URL, as a page of it would send one.
    fn request(&self, below: &str) -> axum::http::request::Builder {
        Request::get(format!("{}{below}", self.path))
            .header(header::HOST, &self.host)
            .header(header::ORIGIN, self.origin())
    }
}

/// Asks whether this server answers, and under this name.
async fn health(url: &PublicUrl) -> Result<String, ProbeFault> {
    let (status, body) = read(url, "healthz").await?;
    let origin = url.origin();
    match status {
        StatusCode::OK if body.starts_with(br#"{"ok":true}"#) => Ok(format!("{origin}{} answers", url.path)),
        StatusCode::FORBIDDEN => Err(ProbeFault {
            detail: format!("the server does not know itself by the name {}", url.host),
            hint: format!("`qd web --behind-proxy {origin}`, and let the proxy pass Host and Origin on as they are"),
        }),
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT | StatusCode::SERVICE_UNAVAILABLE => Err(ProbeFault {
            detail: format!("the proxy answers {status}: it does not reach `qd web`"),
            hint: "start `qd web`, and compare its address with the one in the proxy's settings".to_owned(),
        }),
        _ => Err(ProbeFault {
            detail: format!("{origin}{}healthz answers {status} in other words than `qd web`", url.path),
            hint: "the path of the URL and --base must be the same, and the proxy must pass on everything below it".to_owned(),
        }),
    }
}

/// Asks whether the page will find its files below this path.
async fn page(url: &PublicUrl) -> Result<String, ProbeFault> {
    let (status, body) = read(url, "").await?;
    let text = String::from_utf8_lossy(&body);
    let base = text.split("<base href=\"").nth(1).and_then(|rest| rest.split('"').next());
    match base {
        Some(base) if base == url.path => Ok(format!("its files are below {base}")),
        Some(base) => Err(ProbeFault {
            detail: format!("the page looks for its files below {base}, and people come to {}", url.path),
            hint: format!("`qd web --base {}`", url.path),
        }),
        None => Err(ProbeFault {
            detail: format!("no page is there: {status}"),
            hint: "this build has no page, or the proxy answers in its place".to_owned(),
        }),
    }
}

/// Asks whether a WebSocket can be opened. It sends nothing, so nothing is started.
async fn socket(url: &PublicUrl) -> Result<String, ProbeFault> {
    let request = url
        .request("ws/terminal")
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, SOCKET_KEY);
    let answer = send(url, request).await?;
    match answer.status() {
        StatusCode::SWITCHING_PROTOCOLS => Ok("WebSockets pass".to_owned()),
        StatusCode::FORBIDDEN => Err(ProbeFault {
            detail: format!("pages of {} may not open WebSockets", url.origin()),
            hint: format!("`qd web --behind-proxy {}`; the proxy must leave Origin as it is", url.origin()),
        }),
        status => Err(ProbeFault {
            detail: format!("a WebSocket is answered {status}: the proxy does not pass it on"),
            hint:
                "HTTP/1.1 and the headers Upgrade and Connection: docs/web.md has lines for Caddy and nginx"
                    .to_owned(),
        }),
    }
}

async fn read(url: &PublicUrl, below: &str) -> Result<(StatusCode, Bytes), ProbeFault> {
    let answer = send(url, url.request(below)).await?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), LONGEST_PAGE).collect();
    match tokio::time::timeout(TIMEOUT, body).await {
        Ok(Ok(body)) => Ok((status, body.to_bytes())),
        Ok(Err(error)) => Err(fault(url, error)),
        Err(_) => Err(fault(url, "the answer takes too long")),
    }
}

async fn send(
    url: &PublicUrl,
    request: axum::http::request::Builder,
) -> Result<hyper::Response<Incoming>, ProbeFault> {
    let request = request.body(Empty::<Bytes>::new()).map_err(|error| fault(url, error))?;
    match tokio::time::timeout(TIMEOUT, exchange(url, request)).await {
        Ok(answer) => answer.map_err(|error| fault(url, error)),
        Err(_) => Err(fault(url, "nothing answers")),
    }
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

async fn exchange(
    url: &PublicUrl,
    request: Request<Empty<Bytes>>,
) -> Result<hyper::Response<Incoming>, AnyError> {
    let stream = TcpStream::connect((url.name.as_str(), url.port)).await?;
    if !url.is_secure {
        return over(stream, request).await;
    }
    let connector = TlsConnector::from(Arc::new(trusting_the_system()?));
    over(connector.connect(ServerName::try_from(url.name.clone())?, stream).await?, request).await
}

async fn over(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Empty<Bytes>>,
) -> Result<hyper::Response<Incoming>, AnyError> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with the runtime of the probe.
    tokio::spawn(connection.with_upgrades());
    Ok(sender.send_request(request).await?)
}

/// Returns how to encrypt for servers with a certificate that this system trusts.
fn trusting_the_system() -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    for certificate in rustls_native_certs::load_native_certs().certs {
        // One that cannot be read vouches for nothing.
        let _unreadable = roots.add(certificate);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn fault(url: &PublicUrl, error: impl std::fmt::Display) -> ProbeFault {
    ProbeFault {
        detail: format!("{}: {error}", url.origin()),
        hint: "is the proxy up, and does its certificate have this name? A self-signed one is refused here as by phones".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_as_a_browser_reads_it() {
        let parsed =
            |text: &str| PublicUrl::parse(text).map(|url| (url.origin(), url.name, url.port, url.path));
        let expected = |origin: &str, name: &str, port, path: &str| {
            Some((origin.to_owned(), name.to_owned(), port, path.to_owned()))
        };
        assert_eq!(
            parsed("https://desk.example"),
            expected("https://desk.example", "desk.example", 443, "/")
        );
        assert_eq!(
            parsed("http://127.0.0.1:7373/qd"),
            expected("http://127.0.0.1:7373", "127.0.0.1", 7373, "/qd/")
        );
        assert_eq!(parsed("https://[::1]:8443/a/b/"), expected("https://[::1]:8443", "::1", 8443, "/a/b/"));
        for none in ["desk.example", "ftp://desk.example", "https://", "/qd/"] {
            assert_eq!(parsed(none), None, "{none}");
        }
    }
}
