//! Sends one encrypted message to a browser's push service.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Request, StatusCode, header};
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::crypt::{ServerKey, encrypt};
use super::subscriptions::{Subscription, host_of};
use crate::clock::now_ms;

/// How long a delivery may take.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How long a push service keeps a message for a browser that is away: an hour. Later the question is stale.
const KEPT_SECONDS: u32 = 3600;

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// The push service has it.
    Accepted,
    /// The browser no longer wants any.
    Gone,
}

/// Where push services are reached; tests have one of their own.
#[derive(Clone, Debug)]
pub(crate) struct PushNetwork {
    config: Arc<ClientConfig>,
    /// Connects here instead of to the service.
    instead: Option<std::net::SocketAddr>,
}

impl PushNetwork {
    /// Returns the network with the certificates that this system trusts.
    pub(crate) fn of_system() -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        for certificate in rustls_native_certs::load_native_certs().certs {
            // One that cannot be read vouches for nothing.
            let _unreadable = roots.add(certificate);
        }
        Self::with(roots, None)
    }

    fn with(roots: RootCertStore, instead: Option<std::net::SocketAddr>) -> Result<Self, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let config = Arc::new(builder.with_root_certificates(roots).with_no_client_auth());
        Ok(Self { config, instead })
    }

    /// Sends a message; an error says what a person can do something about.
    pub(crate) async fn deliver(
        &self,
        key: &ServerKey,
        contact: &str,
        to: &Subscription,
        text: &[u8],
    ) -> Result<Delivery, String> {
        let request = request(key, contact, to, text)?;
        let host = host_of(&to.endpoint).ok_or("the push service is not a known one")?.to_owned();
        match tokio::time::timeout(TIMEOUT, self.send(&host, request)).await {
            Ok(Ok(status)) if status.is_success() => Ok(Delivery::Accepted),
            Ok(Ok(StatusCode::NOT_FOUND | StatusCode::GONE)) => Ok(Delivery::Gone),
            Ok(Ok(status)) => Err(format!("{host} answered {status}")),
            Ok(Err(error)) => Err(format!("{host}: {error}")),
            Err(_) => Err(format!("{host} took too long")),
        }
    }

    async fn send(
        &self,
        host: &str,
        request: Request<Full<Bytes>>,
    ) -> Result<StatusCode, Box<dyn std::error::Error + Send + Sync>> {
        let stream = match self.instead {
            Some(address) => TcpStream::connect(address).await?,
            None => TcpStream::connect((host, 443)).await?,
        };
        let name = ServerName::try_from(host.to_owned())?;
        let stream = TlsConnector::from(Arc::clone(&self.config)).connect(name, stream).await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let driving = tokio::spawn(connection);
        let status = sender.send_request(request).await?.status();
        driving.abort();
        Ok(status)
    }
}

fn request(
    key: &ServerKey,
    contact: &str,
    to: &Subscription,
    text: &[u8],
) -> Result<Request<Full<Bytes>>, String> {
    let host = host_of(&to.endpoint).ok_or("the push service is not a known one")?;
    let keys = to.keys().ok_or("the browser's keys cannot be read")?;
    let body = encrypt(&keys, text).map_err(|error| error.to_string())?;
    let signature = key.authorization(&format!("https://{host}"), contact, now_ms());
    let path = to.endpoint.split_at("https://".len() + host.len()).1;
    Request::post(path)
        .header(header::HOST, host)
        .header(header::AUTHORIZATION, signature.map_err(|error| error.to_string())?)
        .header(header::CONTENT_ENCODING, "aes128gcm")
        .header(header::CONTENT_TYPE, "application/octet-stream")
        .header("TTL", KEPT_SECONDS)
        .header("Urgency", "high")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
    use rustls::ServerConfig;
    use rustls::pki_types::PrivateKeyDer;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;
    use crate::push::crypt::tests::{browser, decrypt};

    /// A push service that answers one request with this status; returns what it got.
    async fn service(status: &'static str) -> (PushNetwork, tokio::task::JoinHandle<Vec<u8>>) {
        let key = rcgen::KeyPair::generate().unwrap();
        let made = rcgen::CertificateParams::new(["fcm.googleapis.com".to_owned()])
            .unwrap()
            .self_signed(&key)
            .unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(made.der().clone()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let acceptor =
            TlsAcceptor::from(Arc::new(config.with_single_cert(vec![made.der().clone()], private).unwrap()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let network = PushNetwork::with(roots, Some(listener.local_addr().unwrap())).unwrap();
        let serving = tokio::spawn(async move {
            let mut stream = acceptor.accept(listener.accept().await.unwrap().0).await.unwrap();
            let mut got = Vec::new();
            let is_whole = |got: &[u8]| {
                let end = got.windows(4).position(|four| four == b"\r\n\r\n")?;
                let head = String::from_utf8_lossy(&got[..end]).to_lowercase();
                let length: usize = head.split("content-length: ").nth(1)?.lines().next()?.parse().ok()?;
                (got.len() >= end + 4 + length).then_some(())
            };
            while is_whole(&got).is_none() {
                stream.read_buf(&mut got).await.unwrap();
            }
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
            got
        });
        (network, serving)
    }

    #[tokio::test]
    async fn a_message_arrives_signed_and_only_its_browser_reads_it() {
        let (network, serving) = service("201 Created").await;
        let (keys, private) = browser();
        let (public, auth) = (BASE64.encode(&keys.public), BASE64.encode(&keys.auth));
        let to = Subscription::new("d_1", "https://fcm.googleapis.com/fcm/send/abc", &public, &auth).unwrap();
        let key = ServerKey::from_kept(&ServerKey::fresh().unwrap()).unwrap();
        let sent = network.deliver(&key, "https://desk.example", &to, b"{\"item\":4}").await;
        assert_eq!(sent, Ok(Delivery::Accepted));
        let got = serving.await.unwrap();
        let end = got.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8_lossy(&got[..end]).into_owned();
        assert!(head.starts_with("POST /fcm/send/abc HTTP/1.1"), "{head}");
        for line in [
            "host: fcm.googleapis.com",
            "authorization: vapid t=",
            "content-encoding: aes128gcm",
            "ttl: 3600",
        ] {
            assert!(head.to_lowercase().contains(line), "{head}");
        }
        assert_eq!(decrypt(&keys, private, &got[end + 4..]), b"{\"item\":4}");
    }

    #[tokio::test]
    async fn a_browser_that_has_left_is_reported_as_gone() {
        let (network, _serving) = service("410 Gone").await;
        let (keys, _private) = browser();
        let (public, auth) = (BASE64.encode(&keys.public), BASE64.encode(&keys.auth));
        let to = Subscription::new("d_1", "https://fcm.googleapis.com/x", &public, &auth).unwrap();
        let key = ServerKey::from_kept(&ServerKey::fresh().unwrap()).unwrap();
        assert_eq!(network.deliver(&key, "https://desk.example", &to, b"x").await, Ok(Delivery::Gone));
    }
}
