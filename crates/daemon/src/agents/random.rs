//! Session ids, secrets and free ports. They come from the system alone: without entropy no agent is launched.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

use rustix::rand::{GetRandomFlags, getrandom};

use crate::project::hex;

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let count = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if count == N { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Returns a random UUID (version 4).
pub(crate) fn uuid() -> io::Result<String> {
    Ok(uuid::Builder::from_random_bytes(random()?).into_uuid().to_string())
}

/// Returns 256 random bits.
pub(crate) fn secret() -> io::Result<String> {
    Ok(hex(&random::<32>()?))
}

/// Returns a port on the loopback that was free a moment ago. The vendor's program binds it itself, so
/// another program may be faster; then its server is not reached, and typing is the fallback.
pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_says_that_it_is_random() {
        let uuid = uuid().unwrap();
        assert_eq!(uuid.len(), 36);
        assert_eq!(uuid.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&uuid.as_bytes()[19]), "{uuid}");
        assert_ne!(uuid, super::uuid().unwrap());
    }

    #[test]
    fn b8_a_secret_has_256_bits() {
        let secret = secret().unwrap();
        assert_eq!(secret.len(), 64);
        assert_ne!(secret, super::secret().unwrap());
    }

    #[test]
    fn a_free_port_can_be_bound() {
        let port = free_port().unwrap();
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    }
}
