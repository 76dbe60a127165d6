//! Secrets and their digests. Neither can be compared with `==` nor printed: a digest is compared in constant time, and
//! only digests are kept.

use std::fmt;
use std::io;

use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};
use sha2::Digest as _;
use subtle::ConstantTimeEq;

/// The letters of pairing codes and ids: no letter that is mistaken for another.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// A secret that a client shows.
///
/// ```compile_fail
/// let (a, b) = (web::Secret::fresh().unwrap(), web::Secret::fresh().unwrap());
/// assert!(a == b);
/// ```
pub struct Secret(String);

impl Secret {
    /// Creates a secret of 256 random bits.
    pub fn fresh() -> io::Result<Self> {
        let mut random = [0; 32];
        fill(&mut random)?;
        Ok(Self(hex(&random)))
    }

    /// Creates a code of eight letters that a person can type: 40 random bits.
    pub fn code() -> io::Result<Self> {
        letters(8).map(Self)
    }

    /// Returns the text, for the one place that hands it out.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns what is kept of it.
    #[must_use]
    pub fn digest(&self) -> SecretDigest {
        SecretDigest::of(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The SHA-256 of a secret, in hexadecimal digits.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretDigest(String);

impl SecretDigest {
    /// Returns the digest of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(hex(&sha2::Sha256::digest(text.as_bytes())))
    }

    /// Compares in constant time.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl fmt::Debug for SecretDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretDigest")
    }
}

/// Returns the code that a person means: upper case, without dashes and blanks, with letters for those that look alike.
#[must_use]
pub fn normal_code(typed: &str) -> String {
    let letter = |character: char| match character.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        'U' => 'V',
        other => other,
    };
    typed.chars().filter(|character| character.is_ascii_alphanumeric()).map(letter).collect()
}

/// Returns random letters, for codes and ids.
pub(crate) fn letters(count: usize) -> io::Result<String> {
    let mut random = vec![0; count];
    fill(&mut random)?;
    Ok(random.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
}

/// Returns a random text for a response's nonce.
pub(crate) fn nonce() -> io::Result<String> {
    let mut random = [0; 16];
    fill(&mut random)?;
    Ok(hex(&random))
}

fn fill(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w9_a_secret_is_not_printed_and_its_digest_knows_it_again() {
        let secret = Secret::fresh().unwrap();
        assert_eq!(secret.expose().len(), 64);
        assert!(!format!("{secret:?}{:?}", secret.digest()).contains(&secret.expose()[..8]));
        assert!(secret.digest().matches(&SecretDigest::of(secret.expose())));
        assert!(!secret.digest().matches(&Secret::fresh().unwrap().digest()));
    }

    #[test]
    fn w7_a_code_is_understood_as_people_type_it() {
        let code = Secret::code().unwrap();
        let (first, rest) = code.expose().split_at(4);
        assert_eq!(normal_code(&format!(" {}-{} ", first.to_lowercase(), rest)), code.expose());
        assert_eq!(normal_code("oil-u"), "011V");
    }
}
