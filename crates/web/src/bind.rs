//! Which addresses a server may listen at, and under which names it is then called.
//!
//! Anybody who reaches an address without encryption can read what is typed there. So without a proxy that encrypts, only
//! loopback addresses are allowed.

use std::net::SocketAddr;

use http_server::{BadOrigin, ServerNames};

/// What the names of a server follow from.
#[derive(Clone, Debug)]
pub struct Exposure {
    /// Where it listens.
    pub address: SocketAddr,
    /// The URL of a proxy in front that encrypts.
    pub proxy_url: Option<String>,
    /// Further origins whose pages may call.
    pub allowed_origins: Vec<String>,
}

/// Why a server may not be started like this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsafeBind {
    /// An address of the network without encryption.
    #[error(
        "{0} can be reached from the network, and nothing would be encrypted: (1) leave --bind out and publish the loopback \
         address with `tailscale serve`, (2) put a proxy of yours that encrypts in front and give --behind-proxy \
         https://HOST, or (3) leave --bind out and use an SSH tunnel: ssh -L PORT:127.0.0.1:PORT HOST"
    )]
    Unencrypted(SocketAddr),
    /// A URL that is not the root of an encrypted site.
    #[error("{0} is not a URL of the form https://HOST or https://HOST:PORT, with nothing behind")]
    Url(String),
    /// An origin that no browser can send.
    #[error(transparent)]
    Origin(#[from] BadOrigin),
}

impl Exposure {
    /// Checks that the server may listen there, and returns the names under which it is called.
    pub fn names(&self) -> Result<ServerNames, UnsafeBind> {
        let address = self.address;
        if self.proxy_url.is_none() && !address.ip().is_loopback() {
            return Err(UnsafeBind::Unencrypted(address));
        }
        let mut hosts = Vec::new();
        if !address.ip().is_unspecified() {
            hosts.push(host_of(&address.to_string()));
        }
        if address.ip().is_loopback() {
            hosts.push(host_of(&format!("localhost:{}", address.port())));
        }
        let mut origins: Vec<String> = hosts.iter().map(|host| format!("http://{host}")).collect();
        if let Some(url) = &self.proxy_url {
            let host = url.strip_prefix("https://");
            let host = host.filter(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@']));
            hosts.push(host.ok_or_else(|| UnsafeBind::Url(url.clone()))?.to_owned());
            origins.push(url.clone());
        }
        origins.extend(self.allowed_origins.iter().cloned());
        Ok(ServerNames::of(hosts, origins)?)
    }

    /// Returns the URL that people type.
    #[must_use]
    pub fn url(&self) -> String {
        let own = || format!("http://{}", host_of(&self.address.to_string()));
        self.proxy_url.clone().unwrap_or_else(own)
    }

    /// Returns true if browsers come over HTTPS.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.proxy_url.is_some()
    }
}

/// Returns a host as browsers send it: without the scheme's own port.
fn host_of(host: &str) -> String {
    host.strip_suffix(":80").unwrap_or(host).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str, proxy_url: Option<&str>) -> Exposure {
        let (address, proxy_url) = (address.parse().unwrap(), proxy_url.map(str::to_owned));
        Exposure { address, proxy_url, allowed_origins: Vec::new() }
    }

    #[test]
    fn w10_an_address_of_the_network_needs_encryption_and_the_error_names_three_ways() {
        for address in ["0.0.0.0:7373", "192.168.1.5:7373", "[::]:7373"] {
            let refused = at(address, None).names().unwrap_err().to_string();
            for way in ["tailscale serve", "--behind-proxy", "SSH tunnel"] {
                assert!(refused.contains(way), "{refused}");
            }
            assert!(at(address, Some("https://desk.example")).names().is_ok());
        }
        assert!(at("127.0.0.1:7373", None).names().is_ok());
        assert!(at("[::1]:7373", None).names().is_ok());
    }

    #[test]
    fn w2_the_names_are_exactly_those_that_browsers_send() {
        let names = at("127.0.0.1:7373", None).names().unwrap();
        assert_eq!(names.hosts(), ["127.0.0.1:7373", "localhost:7373"]);
        assert_eq!(names.origins(), ["http://127.0.0.1:7373", "http://localhost:7373"]);
        let proxied = at("0.0.0.0:7373", Some("https://desk.example")).names().unwrap();
        assert_eq!(
            (proxied.hosts(), proxied.origins()),
            (&["desk.example".to_owned()][..], &["https://desk.example".to_owned()][..])
        );
        assert_eq!(at("127.0.0.1:80", None).names().unwrap().hosts(), ["127.0.0.1", "localhost"]);
    }

    #[test]
    fn w10_the_url_of_a_proxy_is_the_root_of_an_encrypted_site() {
        for wrong in
            ["http://desk.example", "https://", "https://desk.example/x", "desk.example", "https://a@b"]
        {
            assert!(at("127.0.0.1:1", Some(wrong)).names().is_err(), "{wrong}");
        }
    }
}
