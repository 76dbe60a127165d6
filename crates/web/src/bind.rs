//! Which addresses a server may listen at, and under which names it is then called.
//!
//! Anybody who reaches an address without encryption can read what is typed there. So without a certificate and without a
//! proxy that encrypts, only loopback addresses are allowed.

use std::net::SocketAddr;

use http_server::{BadOrigin, ServerNames};

use crate::tls::CertificateSource;

/// What encrypts what a browser sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Nothing.
    None,
    /// A proxy in front, which people reach under this URL.
    Proxy(String),
    /// The server itself.
    Own {
        /// Where its certificate comes from.
        certificate: CertificateSource,
        /// The URL that people type, if it is not the address itself.
        url: Option<String>,
    },
}

/// What the names of a server follow from.
#[derive(Clone, Debug)]
pub struct Exposure {
    /// Where it listens.
    pub address: SocketAddr,
    /// What encrypts.
    pub encryption: Encryption,
    /// Further origins whose pages may call.
    pub allowed_origins: Vec<String>,
}

/// Why a server may not be started like this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsafeBind {
    /// An address of the network without encryption.
    #[error(
        "{0} can be reached from the network, and nothing would be encrypted: (1) leave --bind out and publish the loopback \
         address with `tailscale serve`, (2) encrypt: --cert FILE --key FILE, --self-signed, or a proxy of yours with \
         --behind-proxy https://HOST, or (3) leave --bind out and use an SSH tunnel: ssh -L PORT:127.0.0.1:PORT HOST"
    )]
    Unencrypted(SocketAddr),
    /// Every address of the machine, and no name for it.
    #[error(
        "{0} is every address of this machine: --public-url https://HOST:PORT names the one that people type"
    )]
    Nameless(SocketAddr),
    /// Every address of the machine for the counters.
    #[error(
        "{0} is every address of this machine: give --metrics-bind the one address that the scraper calls"
    )]
    NamelessMetrics(SocketAddr),
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
        if self.encryption == Encryption::None && !address.ip().is_loopback() {
            return Err(UnsafeBind::Unencrypted(address));
        }
        let mut hosts = Vec::new();
        if !address.ip().is_unspecified() {
            hosts.push(self.host_of(&address.to_string()));
        }
        if address.ip().is_loopback() {
            hosts.push(self.host_of(&format!("localhost:{}", address.port())));
        }
        let mut origins: Vec<String> =
            hosts.iter().map(|host| format!("{}://{host}", self.scheme())).collect();
        if let Some(url) = self.public_url() {
            hosts.push(host_in(url)?.to_owned());
            origins.push(url.to_owned());
        }
        if hosts.is_empty() {
            return Err(UnsafeBind::Nameless(address));
        }
        origins.extend(self.allowed_origins.iter().cloned());
        Ok(ServerNames::of(hosts, origins)?)
    }

    /// Returns the URL that people type.
    #[must_use]
    pub fn url(&self) -> String {
        let own = || format!("{}://{}", self.scheme(), self.host_of(&self.address.to_string()));
        self.public_url().map_or_else(own, str::to_owned)
    }

    /// Returns true if browsers come over HTTPS.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.encryption != Encryption::None
    }

    /// Returns the host whose browsers are asked to come over HTTPS from now on. They then do so on every port of it, so
    /// only a server with a person's own certificate asks, under the name it was given, and only at the port of HTTPS.
    #[must_use]
    pub fn strict_host(&self) -> Option<String> {
        let Encryption::Own { certificate: CertificateSource::Files { .. }, url: Some(url) } =
            &self.encryption
        else {
            return None;
        };
        let host = host_in(url).ok()?;
        let is_name =
            host.contains('.') && host.chars().any(|c| c.is_ascii_alphabetic()) && !host.contains([':', '[']);
        is_name.then(|| host.to_owned())
    }

    fn public_url(&self) -> Option<&str> {
        match &self.encryption {
            Encryption::None => None,
            Encryption::Proxy(url) => Some(url),
            Encryption::Own { url, .. } => url.as_deref(),
        }
    }

    /// Returns the scheme that the server itself speaks.
    fn scheme(&self) -> &'static str {
        match self.encryption {
            Encryption::Own { .. } => "https",
            Encryption::None | Encryption::Proxy(_) => "http",
        }
    }

    /// Returns a host as browsers send it: without the scheme's own port.
    fn host_of(&self, host: &str) -> String {
        let port = if self.scheme() == "https" { ":443" } else { ":80" };
        host.strip_suffix(port).unwrap_or(host).to_owned()
    }
}

/// Returns the names of an address that serves counters to scrapers. No page may call it, so it has no origin.
pub fn metrics_names(address: SocketAddr) -> Result<ServerNames, UnsafeBind> {
    if address.ip().is_unspecified() {
        return Err(UnsafeBind::NamelessMetrics(address));
    }
    let mut hosts = vec![address.to_string()];
    if address.ip().is_loopback() {
        hosts.push(format!("localhost:{}", address.port()));
    }
    // Clients leave the port of HTTP out.
    let short: Vec<String> =
        hosts.iter().filter_map(|host| host.strip_suffix(":80")).map(str::to_owned).collect();
    hosts.extend(short);
    Ok(ServerNames::of(hosts, Vec::new())?)
}

/// Returns the host of the URL of an encrypted site's root.
fn host_in(url: &str) -> Result<&str, UnsafeBind> {
    let host = url.strip_prefix("https://");
    let host = host.filter(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@']));
    host.ok_or_else(|| UnsafeBind::Url(url.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str, encryption: Encryption) -> Exposure {
        Exposure { address: address.parse().unwrap(), encryption, allowed_origins: Vec::new() }
    }

    fn proxy(url: &str) -> Encryption {
        Encryption::Proxy(url.to_owned())
    }

    fn own(certificate: CertificateSource, url: Option<&str>) -> Encryption {
        Encryption::Own { certificate, url: url.map(str::to_owned) }
    }

    fn files() -> CertificateSource {
        CertificateSource::Files { chain: "cert.pem".into(), key: "key.pem".into() }
    }

    #[test]
    fn w10_an_address_of_the_network_needs_encryption_and_the_error_names_three_ways() {
        for address in ["0.0.0.0:7373", "192.168.1.5:7373", "[::]:7373"] {
            let refused = at(address, Encryption::None).names().unwrap_err().to_string();
            for way in ["tailscale serve", "--cert", "--self-signed", "--behind-proxy", "SSH tunnel"] {
                assert!(refused.contains(way), "{refused}");
            }
            assert!(at(address, proxy("https://desk.example")).names().is_ok());
            assert!(at(address, own(files(), Some("https://desk.example"))).names().is_ok());
        }
        assert!(at("127.0.0.1:7373", Encryption::None).names().is_ok());
        assert!(at("[::1]:7373", Encryption::None).names().is_ok());
    }

    #[test]
    fn w2_the_names_are_exactly_those_that_browsers_send() {
        let names = at("127.0.0.1:7373", Encryption::None).names().unwrap();
        assert_eq!(names.hosts(), ["127.0.0.1:7373", "localhost:7373"]);
        assert_eq!(names.origins(), ["http://127.0.0.1:7373", "http://localhost:7373"]);
        let proxied = at("0.0.0.0:7373", proxy("https://desk.example")).names().unwrap();
        assert_eq!(
            (proxied.hosts(), proxied.origins()),
            (&["desk.example".to_owned()][..], &["https://desk.example".to_owned()][..])
        );
        assert_eq!(at("127.0.0.1:80", Encryption::None).names().unwrap().hosts(), ["127.0.0.1", "localhost"]);
    }

    #[test]
    fn w10_a_server_with_a_certificate_has_encrypted_names_only() {
        let exposure = at("192.168.1.5:443", own(CertificateSource::SelfSigned, None));
        let names = exposure.names().unwrap();
        assert_eq!(names.hosts(), ["192.168.1.5"]);
        assert_eq!(names.origins(), ["https://192.168.1.5"]);
        assert_eq!(exposure.url(), "https://192.168.1.5");
        let nameless = at("0.0.0.0:7373", own(CertificateSource::SelfSigned, None)).names().unwrap_err();
        assert_eq!(nameless, UnsafeBind::Nameless("0.0.0.0:7373".parse().unwrap()));
        let named = at("0.0.0.0:7373", own(files(), Some("https://desk.example:7373")));
        assert_eq!(named.names().unwrap().origins(), ["https://desk.example:7373"]);
    }

    #[test]
    fn browsers_are_held_to_https_only_at_a_name_whose_port_443_is_ours() {
        let strict = |certificate, url| at("0.0.0.0:443", own(certificate, url)).strict_host();
        assert_eq!(strict(files(), Some("https://desk.example")), Some("desk.example".to_owned()));
        for url in
            [None, Some("https://desk.example:7373"), Some("https://localhost"), Some("https://10.0.0.1")]
        {
            assert_eq!(strict(files(), url), None, "{url:?}");
        }
        assert_eq!(strict(CertificateSource::SelfSigned, Some("https://desk.example")), None);
        assert_eq!(
            at("127.0.0.1:1", proxy("https://desk.example")).strict_host(),
            None,
            "the proxy's own affair"
        );
    }

    #[test]
    fn w10_counters_are_served_at_one_named_address_and_to_no_page() {
        let names = |address: &str| metrics_names(address.parse().unwrap());
        let local = names("127.0.0.1:9373").unwrap();
        assert_eq!(local.hosts(), ["127.0.0.1:9373", "localhost:9373"]);
        assert!(local.origins().is_empty());
        assert_eq!(names("10.0.0.5:80").unwrap().hosts(), ["10.0.0.5:80", "10.0.0.5"]);
        for every in ["0.0.0.0:9373", "[::]:9373"] {
            assert!(matches!(names(every), Err(UnsafeBind::NamelessMetrics(_))), "{every}");
        }
    }

    #[test]
    fn w10_the_url_of_a_proxy_is_the_root_of_an_encrypted_site() {
        for wrong in
            ["http://desk.example", "https://", "https://desk.example/x", "desk.example", "https://a@b"]
        {
            assert!(at("127.0.0.1:1", proxy(wrong)).names().is_err(), "{wrong}");
            assert!(at("127.0.0.1:1", own(files(), Some(wrong))).names().is_err(), "{wrong}");
        }
    }
}
