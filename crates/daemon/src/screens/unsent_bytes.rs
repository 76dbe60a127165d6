//! Bytes that a viewer's socket or terminal has not accepted yet. It never waits and has no bound of its own: callers push
//! only when it is clear.

use std::io;

/// The memory that stays allocated while nothing is unsent: a repaint may have been large.
const KEPT: usize = 64 * 1024;

/// Bytes on their way.
#[derive(Debug, Default)]
pub(crate) struct UnsentBytes {
    bytes: Vec<u8>,
    taken: usize,
}

impl UnsentBytes {
    /// Returns these bytes, none of them sent.
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Self { bytes, taken: 0 }
    }

    /// Returns true if everything has been written.
    pub(crate) fn is_clear(&self) -> bool {
        self.taken == self.bytes.len()
    }

    /// Returns the number of unwritten bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.taken
    }

    /// Appends bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes bytes directly if nothing is unsent, and keeps what was not accepted. The next flush returns
    /// the same error.
    pub(crate) fn push_through(&mut self, bytes: &[u8], write: impl FnOnce(&[u8]) -> io::Result<usize>) {
        let written = if self.is_clear() { write(bytes).unwrap_or(0) } else { 0 };
        self.push(bytes.get(written..).unwrap_or_default());
    }

    /// Writes until nothing is left or nothing more is accepted now.
    pub(crate) fn flush(&mut self, mut write: impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<()> {
        while let Some(rest) = self.bytes.get(self.taken..).filter(|rest| !rest.is_empty()) {
            match write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.taken += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.bytes.clear();
        self.taken = 0;
        self.bytes.shrink_to(KEPT);
        Ok(())
    }

    /// Returns the unwritten bytes.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let rest = self.bytes.split_off(self.taken);
        *self = Self::default();
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_taken_stays_in_order_and_what_is_taken_goes_once() {
        let mut unsent = UnsentBytes::default();
        let mut taken = Vec::new();
        unsent.push_through(b"abcdef", |bytes| {
            taken.extend_from_slice(&bytes[..2]);
            Ok(2)
        });
        unsent.push_through(b"ghi", |_| panic!("written past what waits"));
        assert_eq!((unsent.is_clear(), unsent.len()), (false, 7));
        let mut calls = 0;
        unsent
            .flush(|bytes| {
                calls += 1;
                if calls == 3 {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                taken.extend_from_slice(&bytes[..1]);
                Ok(1)
            })
            .unwrap();
        assert_eq!((taken.as_slice(), unsent.len()), (&b"abcd"[..], 5));
        assert_eq!(unsent.take(), b"efghi");
        assert!(unsent.is_clear());
    }

    #[test]
    fn an_end_is_an_error_and_nothing_to_write_is_none() {
        let mut unsent = UnsentBytes::default();
        unsent.flush(|_| panic!("nothing to write")).unwrap();
        unsent.push(b"x");
        assert!(unsent.flush(|_| Ok(0)).is_err());
        assert!(unsent.flush(|_| Err(io::ErrorKind::BrokenPipe.into())).is_err());
    }
}
