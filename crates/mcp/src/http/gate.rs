//! Checks a request's Host and Origin and counts wrong tokens, before the protocol sees a byte.
//!
//! Names are compared exactly, never by prefix or pattern. A request without Origin comes from a program and
//! not a page, and the token decides. Wrong tokens lock their address out, each time for longer; a connection
//! that has shown the right token before stays allowed.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName, Uri, header};

use super::HttpError;

/// The wrong tokens that are answered; the next one locks the address out.
const MOST_WRONG: u32 = 5;
/// The first lock-out; each further wrong token doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest lock-out.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Wrong tokens are forgotten after this time without another.
const MEMORY: Duration = Duration::from_secs(15 * 60);
/// The most addresses that are remembered; the one whose last wrong token is oldest is dropped.
const MOST_PEERS: usize = 256;

/// The hosts under which the server may be called and the origins of pages that may call it.
#[derive(Debug, Clone)]
pub(super) struct Names {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Names {
    /// Creates the names for a server at `address`; `allowed` are further origins.
    pub(super) fn new(address: SocketAddr, allowed: &[String]) -> Result<Self, HttpError> {
        if let Some(wrong) = allowed.iter().find(|origin| !is_origin(origin)) {
            return Err(HttpError::Origin(wrong.clone()));
        }
        let hosts = vec![address.to_string(), format!("localhost:{}", address.port())];
        let own = hosts.iter().map(|host| format!("http://{host}"));
        let origins = own.chain(allowed.iter().cloned()).collect();
        Ok(Self { hosts, origins })
    }

    pub(super) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    pub(super) fn origins(&self) -> &[String] {
        &self.origins
    }

    /// Returns an error if the host or the origin of a request is not allowed.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), &'static str> {
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

#[derive(Debug)]
struct Wrong {
    count: u32,
    last: Instant,
    closed_until: Option<Instant>,
}

/// Wrong tokens by peer.
#[derive(Debug, Default)]
pub(super) struct LockOut {
    peers: HashMap<IpAddr, Wrong>,
}

impl LockOut {
    /// Returns how long this address is still locked out.
    pub(super) fn closed_for(&self, peer: IpAddr, now: Instant) -> Option<Duration> {
        let until = self.peers.get(&peer)?.closed_until?;
        (until > now).then(|| until - now)
    }

    /// Records a wrong token.
    pub(super) fn wrong(&mut self, peer: IpAddr, now: Instant) {
        self.peers.retain(|_, wrong| now.duration_since(wrong.last) < MEMORY);
        if self.peers.len() >= MOST_PEERS
            && !self.peers.contains_key(&peer)
            && let Some(oldest) = self.peers.iter().min_by_key(|(_, wrong)| wrong.last).map(|(peer, _)| *peer)
        {
            self.peers.remove(&oldest);
        }
        let wrong = self.peers.entry(peer).or_insert(Wrong { count: 0, last: now, closed_until: None });
        wrong.count = wrong.count.saturating_add(1);
        wrong.last = now;
        if wrong.count >= MOST_WRONG {
            let doubled = FIRST_PAUSE.saturating_mul(1 << (wrong.count - MOST_WRONG).min(10));
            wrong.closed_until = Some(now + doubled.min(LONGEST_PAUSE));
        }
    }

    /// Records the right token.
    pub(super) fn right(&mut self, peer: IpAddr) {
        self.peers.remove(&peer);
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn names() -> Names {
        Names::new("127.0.0.1:4000".parse().unwrap(), &["https://desk.example".to_owned()]).unwrap()
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
        let six = Names::new("[::1]:4000".parse().unwrap(), &[]).unwrap();
        assert!(six.check(&Uri::from_static("/"), &headers("[::1]:4000", &[])).is_ok());
    }

    #[test]
    fn m4g_an_origin_to_be_allowed_is_exact() {
        let address = "127.0.0.1:4000".parse().unwrap();
        for wrong in
            ["*", "null", "https://*.example", "https://desk.example/", "desk.example", "http://", "ws://x"]
        {
            assert!(Names::new(address, &[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn m4g_a7_five_wrong_tokens_close_the_gate_for_longer_and_longer() {
        let (mut gate, mut now) = (LockOut::default(), Instant::now());
        let (peer, other): (IpAddr, IpAddr) = ("127.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap());
        for _ in 1..MOST_WRONG {
            gate.wrong(peer, now);
            assert_eq!(gate.closed_for(peer, now), None);
        }
        let mut last = Duration::ZERO;
        for _ in 0..20 {
            gate.wrong(peer, now);
            let closed = gate.closed_for(peer, now).unwrap();
            assert!(closed > last || closed == LONGEST_PAUSE, "{closed:?}");
            assert_eq!(gate.closed_for(other, now), None);
            now += closed;
            assert_eq!(gate.closed_for(peer, now), None, "it opens again");
            last = closed;
        }
        gate.right(peer);
        gate.wrong(peer, now);
        assert_eq!(gate.closed_for(peer, now), None, "the right one ends it");
        (0..MOST_WRONG).for_each(|_| gate.wrong(other, now));
        now += MEMORY;
        gate.wrong(other, now);
        assert_eq!(gate.closed_for(other, now), None, "what is long ago does not count");
    }

    #[test]
    fn m4g_peers_are_remembered_up_to_a_bound() {
        let (mut gate, now) = (LockOut::default(), Instant::now());
        for number in 0..10_000_u32 {
            gate.wrong(IpAddr::from(number.to_be_bytes()), now);
        }
        assert!(gate.peers.len() <= MOST_PEERS);
    }
}
