//! Little-endian primitives for the wire: write into a `Vec`, read from a slice. Readers accept any input:
//! they return a value or an error, never panic and never allocate more than the input.

use crate::wire::WireError;

/// The rest of a body that is being decoded.
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Cursor { rest: bytes }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let (head, tail) = self.rest.split_at_checked(count).ok_or(WireError::Truncated)?;
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (head, tail) = self.rest.split_first_chunk().ok_or(WireError::Truncated)?;
        self.rest = tail;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, WireError> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(crate) fn u16(&mut self) -> Result<u16, WireError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, WireError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, WireError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn i32(&mut self) -> Result<i32, WireError> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    /// Bytes with a length prefix.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        let length = self.u32()?;
        self.take(usize::try_from(length).map_err(|_| WireError::Truncated)?)
    }

    /// Returns a number of elements, each of at least `least` bytes: an impossible count is refused before
    /// anything is allocated for it.
    pub(crate) fn count(&mut self, least: usize) -> Result<usize, WireError> {
        let count = usize::try_from(self.u32()?).map_err(|_| WireError::Truncated)?;
        if count.saturating_mul(least) > self.rest.len() {
            return Err(WireError::Truncated);
        }
        Ok(count)
    }

    /// Returns everything that is left.
    pub(crate) fn remainder(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }
}

/// Appends `bytes` with a length prefix.
///
/// Lengths beyond `u32` cannot occur: frames are refused at 16 MiB long before.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Appends a count of elements.
pub(crate) fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}
