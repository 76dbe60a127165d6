//! Checks a request's Host and Origin, before anything else sees a byte of it.
//!
//! Names are compared exactly, never by prefix or pattern. A request without Origin comes from a program and not a
//! page, and the token decides.

use std::net::SocketAddr;

use axum::http::{HeaderMap, HeaderName, Uri, header};

/// A page's origin that no browser can send.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not an origin: give scheme, host and port as in https://desk.example:8443, nothing behind")]
pub struct BadOrigin(pub String);

/// The hosts under which the server may be called and the origins of pages that may call it.
#[derive(Debug, Clone)]
pub struct ServerNames {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl ServerNames {
    /// Creates the names for a server at `address`; `allowed` are further origins.
    pub fn new(address: SocketAddr, allowed: &[String]) -> Result<Self, BadOrigin> {
        let hosts = vec![address.to_string(), format!("localhost:{}", address.port())];
        let own = hosts.iter().map(|host| format!("http://{host}"));
        let origins = own.chain(allowed.iter().cloned()).collect();
        Self::of(hosts, origins)
    }

    /// Creates the names of a server that is called under `hosts`; the pages of `origins` may call it.
    pub fn of(hosts: Vec<String>, origins: Vec<String>) -> Result<Self, BadOrigin> {
        match origins.iter().find(|origin| !is_origin(origin)) {
            Some(wrong) => Err(BadOrigin(wrong.clone())),
            None => Ok(Self { hosts, origins }),
        }
    }

    /// The hosts.
    #[must_use]
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The origins.
    #[must_use]
    pub fn origins(&self) -> &[String] {
        &self.origins
    }

    /// Returns an error if the host or the origin of a request is not allowed.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), &'static str> {
        let is_ours = |host: &str| self.hosts.iter().any(|known| known == host);
        let host = single(headers, header::HOST).map_err(|()| "host: there is more than one")?;
        if !host.is_some_and(is_ours) || uri.authority().is_some_and(|named| !is_ours(named.as_str())) {
            return Err("host: this server is not known by that name");
        }
        match single(headers, header::ORIGIN).map_err(|()| "origin: there is more than one")? {
            Some(origin) if !self.origins.iter().any(|known| known == origin) => {
                Err("origin: pages from there may not ask; --allow-origin names those that may")
            }
            _ => Ok(()),
        }
    }
}

/// Returns a header that may occur once; one that is not text becomes an empty text, which matches no name.
fn single(headers: &HeaderMap, name: HeaderName) -> Result<Option<&str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(_), Some(_)) => Err(()),
        (value, _) => Ok(value.map(|value| value.to_str().unwrap_or_default())),
    }
}

/// Returns true if a text is a scheme, a host and perhaps a port, as browsers send them, with nothing after
/// it and no pattern.
fn is_origin(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-:[]".contains(c);
    rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(is_plain))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn names() -> ServerNames {
        ServerNames::new("127.0.0.1:4000".parse().unwrap(), &["https://desk.example".to_owned()]).unwrap()
    }

    fn headers(host: &str, origins: &[&[u8]]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        for origin in origins {
            headers.append(header::ORIGIN, HeaderValue::from_bytes(origin).unwrap());
        }
        headers
    }

    #[test]
    fn m4g_a1_only_listed_origins_pass_and_each_as_it_is() {
        let check = |origins: &[&[u8]]| {
            names().check(&Uri::from_static("/mcp"), &headers("127.0.0.1:4000", origins)).is_ok()
        };
        for good in ["http://127.0.0.1:4000", "http://localhost:4000", "https://desk.example"] {
            assert!(check(&[good.as_bytes()]), "{good}");
        }
        assert!(check(&[]), "a program sends none");
        let bad: &[&str] = &[
            "http://evil.example",
            "null",
            "",
            " ",
            "*",
            "http://localhost",
            "http://localhost:4001",
            "http://localhost:40000",
            "http://127.0.0.1",
            "http://127.0.0.1:4001",
            "http://127.0.0.2:4000",
            "https://127.0.0.1:4000",
            "http://localhost.evil:4000",
            "http://localhost:4000.evil",
            "http://127.0.0.1.evil:4000",
            "http://evil@127.0.0.1:4000",
            "http://127.0.0.1:4000@evil",
            "http://127.0.0.1:4000/",
            "http://127.0.0.1:4000#x",
            "HTTP://127.0.0.1:4000",
            "http://LOCALHOST:4000",
            "http://localhost.:4000",
            "http://[::1]:4000",
            "http://[::ffff:127.0.0.1]:4000",
            "http://2130706433:4000",
            "http://0177.0.0.1:4000",
            "http://xn--lcalhost-1ya:4000",
            "https://desk.example:443",
            "https://desk.example.evil",
            "file://",
            "http://127.0.0.1:4000, http://evil.example",
        ];
        assert!(bad.len() >= 24);
        for origin in bad {
            assert!(!check(&[origin.as_bytes()]), "{origin}");
        }
        assert!(!check(&[b"http://127.0.0.1:4000\xff"]), "what is not text matches no name");
        assert!(!check(&[b"http://127.0.0.1:4000", b"http://127.0.0.1:4000"]), "twice");
    }

    #[test]
    fn m4g_a3_only_the_servers_own_names_are_hosts() {
        let check = |host: &str, uri: &'static str| {
            names().check(&Uri::from_static(uri), &headers(host, &[])).is_ok()
        };
        assert!(check("127.0.0.1:4000", "/mcp") && check("localhost:4000", "/"));
        assert!(check("localhost:4000", "http://localhost:4000/mcp"));
        assert!(!check("localhost:4000", "http://evil.example/mcp"), "the target names another");
        for host in [
            "evil.example",
            "evil.example:4000",
            "localhost",
            "localhost:4001",
            "127.0.0.1",
            "LOCALHOST:4000",
            "localhost.:4000",
            "localhost:4000.evil",
            "[::1]:4000",
            "0.0.0.0:4000",
            "",
        ] {
            assert!(!check(host, "/mcp"), "{host}");
        }
        assert!(names().check(&Uri::from_static("/"), &HeaderMap::new()).is_err(), "no host at all");
        let six = ServerNames::new("[::1]:4000".parse().unwrap(), &[]).unwrap();
        assert!(six.check(&Uri::from_static("/"), &headers("[::1]:4000", &[])).is_ok());
    }

    #[test]
    fn m4g_an_origin_to_be_allowed_is_exact() {
        let address = "127.0.0.1:4000".parse().unwrap();
        for wrong in
            ["*", "null", "https://*.example", "https://desk.example/", "desk.example", "http://", "ws://x"]
        {
            assert!(ServerNames::new(address, &[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
