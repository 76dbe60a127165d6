//! Waits at the machine for the device that a pairing code is for, so that a person sees who has come, and how to undo it.

use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

use directory_watch::{Inotify, WatchFlags};

use crate::access::{AccessFile, AccessRecord};
use crate::identity::IdentityKind;
use crate::pairing::Pairing;
use crate::secrets::Secret;

/// How long after its code was taken a device may need to be in the file.
const ARRIVAL: Duration = Duration::from_secs(5);

/// What was known before the code was made.
#[derive(Debug)]
pub struct PairingWait<'a> {
    access: &'a AccessFile,
    known: HashSet<String>,
    changes: Inotify,
}

impl<'a> PairingWait<'a> {
    /// Begins before the code is made, so that nothing is missed.
    pub fn begin(access: &'a AccessFile) -> io::Result<Self> {
        let changes = Inotify::new()?;
        changes.watch(access.directory(), WatchFlags::MOVED_TO | WatchFlags::DELETE)?;
        let known = access.list()?.into_iter().map(|record| record.id).collect();
        Ok(Self { access, known, changes })
    }

    /// Waits for the device that uses the code; returns none if the code was burnt, replaced by another one or is too old.
    pub fn device(&self, pairing: &Pairing, code: &Secret) -> io::Result<Option<AccessRecord>> {
        let mut last = None;
        loop {
            if let Some(device) = self.new_device()? {
                return Ok(Some(device));
            }
            // A code is taken a moment before its device is in the file.
            let left = match pairing.life_left(code) {
                Some(left) => left,
                None => {
                    let end = *last.get_or_insert_with(|| Instant::now() + ARRIVAL);
                    end.saturating_duration_since(Instant::now())
                }
            };
            if left.is_zero() {
                return Ok(None);
            }
            self.changes.wait(Some(left))?;
        }
    }

    fn new_device(&self) -> io::Result<Option<AccessRecord>> {
        let is_new =
            |record: &AccessRecord| record.kind == IdentityKind::Device && !self.known.contains(&record.id);
        Ok(self.access.list()?.into_iter().find(is_new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::NewIdentity;
    use crate::identity::Scope;
    use crate::pairing::CodePurpose;

    fn add(file: &AccessFile, kind: IdentityKind) -> String {
        let new = NewIdentity { kind, label: "phone".to_owned(), scope: Scope::default(), life_ms: None };
        file.add(new).unwrap().0.id
    }

    #[test]
    fn w7_who_waits_for_a_code_gets_the_device_that_used_it_and_no_other_identity() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("web");
        let server = AccessFile::open(&directory).unwrap();
        add(&server, IdentityKind::Device);
        let (here, pairing) = (AccessFile::open(&directory).unwrap(), Pairing::open(&directory));
        let wait = PairingWait::begin(&here).unwrap();
        let code = pairing.issue(CodePurpose::Pair(Scope::default())).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| wait.device(&pairing, &code).unwrap());
            add(&server, IdentityKind::Token);
            Pairing::open(&directory).redeem(code.expose()).unwrap();
            let phone = add(&server, IdentityKind::Device);
            assert_eq!(waiting.join().unwrap().map(|device| device.id), Some(phone));
        });
    }
}
