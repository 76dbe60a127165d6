//! The umask of the person's shell. The daemon's own files are private, but what it starts for a person makes files as that
//! person's programs do: a landing must not take from others what they could read before.

use std::sync::OnceLock;

use rustix::fs::Mode;

/// What the daemon found at its start.
static OF_USER: OnceLock<u32> = OnceLock::new();

/// Makes every file that this process makes from now on private; returns the umask that it was started with.
pub fn make_private() -> u32 {
    let found = rustix::process::umask(Mode::from_raw_mode(0o077)).as_raw_mode();
    *OF_USER.get_or_init(|| found)
}

/// Gives the calling process the umask of the person's shell. Async-signal-safe.
pub(crate) fn give_back() {
    if let Some(mode) = OF_USER.get() {
        rustix::process::umask(Mode::from_raw_mode(*mode));
    }
}
