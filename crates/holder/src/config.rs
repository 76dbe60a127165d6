//! The configuration of one run, and its encoding. It is sent over the link, never in argv, because every
//! user can read argv. Only sizes and NULs are checked here; the daemon decides about the values.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use crate::codec::{Cursor, put_bytes, put_count};
use crate::wire::WireError;

/// Default size of the output ring.
pub const DEFAULT_RING_BYTES: u32 = 4 << 20;

/// Smallest ring: one page on every architecture we know, so that the double mapping is always aligned.
pub const MIN_RING_BYTES: u32 = 64 << 10;

/// Largest ring.
pub const MAX_RING_BYTES: u32 = 1 << 30;

/// The default time for which a full ring may stop the child before the oldest bytes are dropped.
pub const DEFAULT_STALL_LIMIT: Duration = Duration::from_secs(60);

/// Largest encoded configuration. The kernel's own limit for argv and environment together is 2 MiB by default.
pub(crate) const MAX_CONFIG_BYTES: usize = 8 << 20;

/// What one run needs. Build it with [`RunConfig::new`] and set the fields that differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunConfig {
    /// Program and arguments; a program without a slash is looked up in the `PATH` of `env`.
    pub argv: Vec<OsString>,
    /// The whole environment; nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// The directory the child starts in; checked before exec.
    pub cwd: PathBuf,
    /// Columns, clamped by [`clamp_size`].
    pub cols: u16,
    /// Rows, clamped by [`clamp_size`].
    pub rows: u16,
    /// Where the holder listens for later daemons; its directory must exist and be 0700.
    pub socket: PathBuf,
    /// Size of the output ring: rounded up to a power of two, between 64 KiB and 1 GiB.
    pub ring_bytes: u32,
    /// How long unconsumed bytes may stop the child when the ring is full.
    pub stall_limit: Duration,
    /// The child's umask; `None` leaves it the one the daemon has.
    pub umask: Option<u32>,
    /// Opaque to the holder, returned in every [`HolderHello`](crate::HolderHello).
    pub meta: Vec<u8>,
}

impl RunConfig {
    /// Creates a configuration with an empty environment, 80×24, and the default ring and stall limit.
    pub fn new(argv: Vec<OsString>, cwd: PathBuf, socket: PathBuf) -> Self {
        RunConfig {
            argv,
            env: Vec::new(),
            cwd,
            cols: 80,
            rows: 24,
            socket,
            ring_bytes: DEFAULT_RING_BYTES,
            stall_limit: DEFAULT_STALL_LIMIT,
            umask: None,
            meta: Vec::new(),
        }
    }

    /// Returns the bytes that [`RunConfig::decode`] reads.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_count(&mut out, self.argv.len());
        for argument in &self.argv {
            put_bytes(&mut out, argument.as_bytes());
        }
        put_count(&mut out, self.env.len());
        for (name, value) in &self.env {
            put_bytes(&mut out, name.as_bytes());
            put_bytes(&mut out, value.as_bytes());
        }
        put_bytes(&mut out, self.cwd.as_os_str().as_bytes());
        out.extend_from_slice(&self.cols.to_le_bytes());
        out.extend_from_slice(&self.rows.to_le_bytes());
        put_bytes(&mut out, self.socket.as_os_str().as_bytes());
        out.extend_from_slice(&self.ring_bytes.to_le_bytes());
        out.extend_from_slice(&u64::try_from(self.stall_limit.as_millis()).unwrap_or(u64::MAX).to_le_bytes());
        out.extend_from_slice(&self.umask.unwrap_or(u32::MAX).to_le_bytes());
        put_bytes(&mut out, &self.meta);
        out
    }

    /// Decodes what [`RunConfig::encode`] wrote; refuses what is too long.
    pub fn decode(body: &[u8]) -> Result<Self, WireError> {
        if body.len() > MAX_CONFIG_BYTES {
            return Err(WireError::TooLong { length: body.len() });
        }
        let mut cursor = Cursor::new(body);
        let argv = decode_list(&mut cursor, 4, os_string)?;
        let env = decode_list(&mut cursor, 8, |cursor| Ok((os_string(cursor)?, os_string(cursor)?)))?;
        let config = RunConfig {
            argv,
            env,
            cwd: PathBuf::from(os_string(&mut cursor)?),
            cols: cursor.u16()?,
            rows: cursor.u16()?,
            socket: PathBuf::from(os_string(&mut cursor)?),
            ring_bytes: cursor.u32()?,
            stall_limit: Duration::from_millis(cursor.u64()?),
            umask: Some(cursor.u32()?).filter(|mask| *mask != u32::MAX),
            meta: cursor.bytes()?.to_vec(),
        };
        if config.argv.is_empty() {
            return Err(WireError::Malformed { what: "argv is empty" });
        }
        Ok(config)
    }

    /// Returns the ring size that is really used.
    pub(crate) fn ring_capacity(&self) -> u32 {
        self.ring_bytes.clamp(MIN_RING_BYTES, MAX_RING_BYTES).next_power_of_two()
    }
}

/// Clamps columns and rows: 2..=1000 columns, 1..=1000 rows. A grid of one column with wide characters makes
/// emulators allocate without bound.
pub fn clamp_size(cols: u16, rows: u16) -> (u16, u16) {
    (cols.clamp(2, 1000), rows.clamp(1, 1000))
}

fn decode_list<T>(
    cursor: &mut Cursor<'_>,
    least: usize,
    element: impl Fn(&mut Cursor<'_>) -> Result<T, WireError>,
) -> Result<Vec<T>, WireError> {
    let count = cursor.count(least)?;
    (0..count).map(|_| element(cursor)).collect()
}

fn os_string(cursor: &mut Cursor<'_>) -> Result<OsString, WireError> {
    let bytes = cursor.bytes()?;
    if bytes.contains(&0) {
        return Err(WireError::Malformed { what: "a string holds a NUL" });
    }
    Ok(OsString::from_vec(bytes.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> RunConfig {
        let mut config =
            RunConfig::new(vec!["sh".into(), "-c".into(), "true".into()], "/".into(), "/run/x".into());
        config.env = vec![("PATH".into(), "/bin".into()), ("EMPTY".into(), "".into())];
        config.umask = Some(0o022);
        config.meta = vec![0, 1, 255];
        config
    }

    #[test]
    fn a_configuration_survives_the_wire() {
        assert_eq!(RunConfig::decode(&sample().encode()).unwrap(), sample());
    }

    #[test]
    fn every_truncation_is_an_error_and_never_a_panic() {
        let bytes = sample().encode();
        for length in 0..bytes.len() {
            assert!(RunConfig::decode(&bytes[..length]).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn a_nul_in_an_argument_is_refused() {
        let mut config = sample();
        config.argv[1] = OsString::from_vec(vec![b'a', 0, b'b']);
        assert!(matches!(RunConfig::decode(&config.encode()), Err(WireError::Malformed { .. })));
    }

    #[test]
    fn the_ring_is_a_power_of_two_within_its_limits() {
        for (asked, used) in [(0, MIN_RING_BYTES), (70_000, 131_072), (u32::MAX, MAX_RING_BYTES)] {
            let config = RunConfig { ring_bytes: asked, ..sample() };
            assert_eq!(config.ring_capacity(), used);
        }
    }

    #[test]
    fn t2_sizes_are_clamped_each_dimension_on_its_own() {
        assert_eq!(clamp_size(0, 0), (2, 1));
        assert_eq!(clamp_size(1, 24), (2, 24));
        assert_eq!(clamp_size(u16::MAX, u16::MAX), (1000, 1000));
    }
}
