//! A passphrase with which a person confirms what a device is about to do, where no terminal of the machine is at hand.
//!
//! Only its Argon2 digest is kept. Wrong tries are few in all, because a passphrase has fewer bits than a secret.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use argon2::Argon2;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::clock::{MINUTE, now_ms};
use crate::private_file::{read_private, write_private};
use crate::secrets::{hex, letters};

/// The shortest passphrase.
pub const MIN_LENGTH: usize = 12;
/// The longest one, in bytes: a longer text is no passphrase.
const MAX_LENGTH: usize = 1024;
/// The most wrong tries within [`WINDOW`].
const MOST_WRONG: usize = 5;
const WINDOW: u64 = 15 * MINUTE;

#[derive(Debug, Serialize, Deserialize)]
struct StoredPassphrase {
    salt: String,
    digest: String,
}

/// Why a passphrase was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassphraseRefusal {
    /// There is none.
    NotSet,
    /// It is another one.
    Wrong,
    /// There were too many wrong ones.
    TooOften,
}

/// The passphrase of a server.
#[derive(Debug)]
pub struct PassphraseFile {
    path: PathBuf,
    /// When wrong ones were tried. The lock is held while one is checked: one at a time costs little memory.
    wrong: Mutex<Vec<u64>>,
}

impl PassphraseFile {
    /// Returns the passphrase that is kept in `directory`.
    #[must_use]
    pub fn open(directory: &Path) -> Self {
        Self { path: directory.join("passphrase.json"), wrong: Mutex::default() }
    }

    /// Returns true if there is one.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.path.exists()
    }

    /// Replaces it.
    pub fn set(&self, passphrase: &str) -> io::Result<()> {
        let count = passphrase.chars().count();
        if count < MIN_LENGTH || passphrase.len() > MAX_LENGTH {
            let what = format!("a passphrase has {MIN_LENGTH} characters or more, this has {count}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let salt = letters(16)?;
        let digest = digest(passphrase, &salt)?;
        write_private(&self.path, &serde_json::to_vec(&StoredPassphrase { salt, digest })?)
    }

    /// Removes it; returns false if there was none.
    pub fn remove(&self) -> io::Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Checks a passphrase that somebody shows. It takes a while on purpose.
    pub(crate) fn check(&self, shown: &str) -> Result<(), PassphraseRefusal> {
        self.check_at(shown, now_ms())
    }

    fn check_at(&self, shown: &str, now: u64) -> Result<(), PassphraseRefusal> {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        wrong.retain(|at| now.saturating_sub(*at) < WINDOW);
        if wrong.len() >= MOST_WRONG {
            return Err(PassphraseRefusal::TooOften);
        }
        let kept = read_private(&self.path)
            .ok()
            .and_then(|text| serde_json::from_slice::<StoredPassphrase>(&text).ok());
        let kept = kept.ok_or(PassphraseRefusal::NotSet)?;
        let is_sane = shown.len() <= MAX_LENGTH;
        let shown = is_sane.then(|| digest(shown, &kept.salt).ok()).flatten().unwrap_or_default();
        if shown.as_bytes().ct_eq(kept.digest.as_bytes()).into() {
            wrong.clear();
            return Ok(());
        }
        wrong.push(now);
        Err(PassphraseRefusal::Wrong)
    }
}

fn digest(passphrase: &str, salt: &str) -> io::Result<String> {
    let mut output = [0; 32];
    Argon2::default()
        .hash_password_into(passphrase.as_bytes(), salt.as_bytes(), &mut output)
        .map_err(|error| io::Error::other(error.to_string()))?;
    Ok(hex(&output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w7_a_passphrase_confirms_and_five_wrong_ones_close_it_for_a_while() {
        let root = tempfile::tempdir().unwrap();
        let file = PassphraseFile::open(root.path());
        assert_eq!(file.check("correct horse battery"), Err(PassphraseRefusal::NotSet));
        assert!(file.set("too short").is_err() && !file.is_set());
        file.set("correct horse battery").unwrap();
        assert_eq!(file.check("correct horse battery"), Ok(()));
        let now = now_ms();
        (0..MOST_WRONG).for_each(|_| assert_eq!(file.check_at("wrong", now), Err(PassphraseRefusal::Wrong)));
        assert_eq!(file.check_at("correct horse battery", now), Err(PassphraseRefusal::TooOften));
        assert_eq!(file.check_at("correct horse battery", now + WINDOW), Ok(()));
        let kept = fs::read_to_string(root.path().join("passphrase.json")).unwrap();
        assert!(!kept.contains("horse"), "{kept}");
        assert!(file.remove().unwrap() && !file.is_set() && !file.remove().unwrap());
    }
}
