//! Whether a process is ready, in the way it was told to say so.
//!
//! Owns the watch for it and who waits for it. Refuses guessing: without a way to tell, nothing is ready.

use crate::Engine;
use crate::input::RunKey;

impl Engine {
    pub(crate) fn port_open(&mut self, _run: RunKey) {}
}
