//! The certificate with which the server encrypts by itself: a person's own, or one that the server signs itself.
//!
//! A self-signed certificate is kept, so that a browser that was once told to accept it does so after a restart. It is
//! made anew when the server gets another name or the certificate is about to end.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http_server::ServerNames;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

use crate::clock::{DAY, now_ms};
use crate::private_file::{read_private, write_private};

/// How long a self-signed certificate is good for. Apple's systems accept none that lives longer.
const LIFE_DAYS: u64 = 397;
/// A certificate with less left than this is made anew at a start.
const RENEWAL: u64 = 30 * DAY;

/// Where the certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateSource {
    /// Two files in PEM.
    Files {
        /// The certificate and those that vouch for it.
        chain: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
    /// The server makes one and signs it itself.
    SelfSigned,
}

/// What the server encrypts with.
#[derive(Debug)]
pub(crate) struct Tls {
    pub(crate) config: Arc<ServerConfig>,
    /// The SHA-256 of the certificate, as browsers show it; only of a self-signed one, which nobody else vouches for.
    pub(crate) fingerprint: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SelfSigned {
    names: Vec<String>,
    until: u64,
    certificate: String,
    key: String,
}

/// Reads or makes the certificate. `directory` has the self-signed one.
pub(crate) fn load(source: &CertificateSource, names: &ServerNames, directory: &Path) -> io::Result<Tls> {
    match source {
        CertificateSource::Files { chain, key } => {
            let config = config(&read(chain)?, &read(key)?)
                .map_err(|why| invalid(format!("{} and {}: {why}", chain.display(), key.display())))?;
            Ok(Tls { config, fingerprint: None })
        }
        CertificateSource::SelfSigned => {
            let own = self_signed(&bare_hosts(names), directory)?;
            let config = config(own.certificate.as_bytes(), own.key.as_bytes()).map_err(invalid)?;
            Ok(Tls { config, fingerprint: Some(fingerprint(&own.certificate).map_err(invalid)?) })
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let read = client::read_plain_bytes(path);
    read.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

fn invalid(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn config(chain: &[u8], key: &[u8]) -> Result<Arc<ServerConfig>, String> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(chain)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("the certificate is not PEM: {error}"))?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| format!("the key is not PEM: {error}"))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let config = builder.with_no_client_auth().with_single_cert(chain, key);
    let mut config = config.map_err(|error| format!("they do not belong together: {error}"))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Returns the hosts of a server without their ports, as a certificate names them.
fn bare_hosts(names: &ServerNames) -> Vec<String> {
    let bare = |host: &String| {
        let end = host.rfind(':').filter(|at| !host[*at..].contains(']')).unwrap_or(host.len());
        host[..end].trim_matches(['[', ']']).to_owned()
    };
    let mut hosts: Vec<String> = names.hosts().iter().map(bare).collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

/// Returns the kept certificate for these names, or a new one, which is then kept.
fn self_signed(names: &[String], directory: &Path) -> io::Result<SelfSigned> {
    let path = directory.join("self-signed.json");
    let kept = read_private(&path).ok().and_then(|text| serde_json::from_slice::<SelfSigned>(&text).ok());
    if let Some(kept) = kept
        && kept.names == names
        && kept.until > now_ms() + RENEWAL
    {
        return Ok(kept);
    }
    let made = make(names).map_err(|error| invalid(error.to_string()))?;
    write_private(&path, &serde_json::to_vec(&made)?)?;
    Ok(made)
}

fn make(names: &[String]) -> Result<SelfSigned, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "Quarterdeck");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let now = SystemTime::now();
    // Clocks of phones differ by a little.
    params.not_before = (now - Duration::from_millis(DAY)).into();
    params.not_after = (now + Duration::from_millis((LIFE_DAYS - 1) * DAY)).into();
    let certificate = params.self_signed(&key)?.pem();
    let until = now_ms() + (LIFE_DAYS - 1) * DAY;
    Ok(SelfSigned { names: names.to_vec(), until, certificate, key: key.serialize_pem() })
}

/// Returns the SHA-256 of a certificate, in pairs of digits.
fn fingerprint(pem: &str) -> Result<String, String> {
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| error.to_string())?;
    let pairs: Vec<_> = sha2::Sha256::digest(&der).iter().map(|byte| format!("{byte:02X}")).collect();
    Ok(pairs.join(":"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(hosts: &[&str]) -> ServerNames {
        ServerNames::of(hosts.iter().map(|host| (*host).to_owned()).collect(), Vec::new()).unwrap()
    }

    #[test]
    fn a_certificate_names_hosts_without_ports() {
        let bare =
            bare_hosts(&names(&["127.0.0.1:7373", "localhost:7373", "desk.example", "[::1]:7373", "[::1]"]));
        assert_eq!(bare, ["127.0.0.1", "::1", "desk.example", "localhost"]);
    }

    #[test]
    fn w9_a_self_signed_certificate_is_kept_until_a_name_changes() {
        let root = tempfile::tempdir().unwrap();
        let load = |hosts: &[&str]| {
            load(&CertificateSource::SelfSigned, &names(hosts), root.path()).unwrap().fingerprint
        };
        let first = load(&["127.0.0.1:1", "localhost:1"]);
        assert_eq!(first.as_ref().map(String::len), Some(32 * 3 - 1));
        assert_eq!(load(&["127.0.0.1:2", "localhost:2"]), first, "another port");
        assert_ne!(load(&["desk.example"]), first);
        let path = root.path().join("self-signed.json");
        let mut kept: SelfSigned = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let before = load(&["desk.example"]);
        kept.until = now_ms() + RENEWAL - 1;
        fs::write(&path, serde_json::to_vec(&kept).unwrap()).unwrap();
        assert_ne!(load(&["desk.example"]), before, "it is about to end");
    }

    #[test]
    fn m8_a_pipe_in_the_place_of_a_certificate_is_refused_at_once() {
        let root = tempfile::tempdir().unwrap();
        let pipe = root.path().join("pipe");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
        let source = CertificateSource::Files { chain: pipe.clone(), key: pipe };
        let refused = load(&source, &names(&["a"]), root.path()).unwrap_err();
        assert!(refused.to_string().contains("pipe: is not a plain file"), "{refused}");
    }

    #[test]
    fn a_key_of_another_certificate_is_refused() {
        let (one, other) = (make(&["a".to_owned()]).unwrap(), make(&["a".to_owned()]).unwrap());
        assert!(config(one.certificate.as_bytes(), one.key.as_bytes()).is_ok());
        assert!(config(one.certificate.as_bytes(), other.key.as_bytes()).is_err());
        assert!(config(b"no certificate", one.key.as_bytes()).is_err());
    }
}
