//! Reads and writes the compact numbers and strings of checkpoints. Every read is checked, so that any bytes
//! are safe to decode.

/// The blob ended early or held an impossible value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Appends values.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn flag(&mut self, value: bool) {
        self.byte(u8::from(value));
    }

    /// Seven bits per byte, lowest first.
    pub(crate) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    pub(crate) fn string(&mut self, value: &[u8]) {
        self.number(value.len() as u64);
        self.bytes.extend_from_slice(value);
    }

    /// A string that may be missing.
    pub(crate) fn option(&mut self, value: Option<&str>) {
        self.flag(value.is_some());
        if let Some(value) = value {
            self.string(value.as_bytes());
        }
    }

    /// A character, as its number.
    pub(crate) fn character(&mut self, value: char) {
        self.number(u64::from(u32::from(value)));
    }
}

/// Reads values from the front.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// Returns how many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        let (&value, rest) = self.rest.split_first().ok_or(Malformed)?;
        self.rest = rest;
        Ok(value)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Malformed> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }

    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Malformed);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    /// Returns a number that fits the wanted type.
    pub(crate) fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Malformed> {
        T::try_from(self.number()?).map_err(|_| Malformed)
    }

    pub(crate) fn bytes(&mut self, max: usize) -> Result<&'a [u8], Malformed> {
        let length: usize = self.small()?;
        if length > max || length > self.rest.len() {
            return Err(Malformed);
        }
        let (value, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(value)
    }

    pub(crate) fn string(&mut self, max: usize) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes(max)?).map_err(|_| Malformed)
    }

    pub(crate) fn option(&mut self, max: usize) -> Result<Option<&'a str>, Malformed> {
        match self.flag()? {
            true => self.string(max).map(Some),
            false => Ok(None),
        }
    }

    pub(crate) fn character(&mut self) -> Result<char, Malformed> {
        char::from_u32(self.small()?).ok_or(Malformed)
    }
}
