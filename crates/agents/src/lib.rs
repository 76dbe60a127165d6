//! Knowledge about vendors' programs: manifests as data, and the code that reads them.
//!
//! It covers launch plans, state rules, hooks, transcripts and servers. It has no I/O and no clock: it gets
//! text and bytes and returns what they mean, and the engine weighs that.
//!
//! Reading order: `manifest` (one file's shape), `catalogue` (files merged by name), `launch` (what to start
//! and which files to write), `version` and `variation` (what other versions do differently), `detect` (what
//! a screen shows), `hook`, `transcript`, `server`, `state_file`.

pub mod catalogue;
pub mod check;
pub mod context_window;
pub mod deliver;
pub mod detect;
pub mod hook;
pub mod inject;
pub mod launch;
pub mod manifest;
mod merge;
pub mod quota;
pub mod sample;
pub mod server;
pub mod session;
pub mod state_file;
pub mod template;
pub mod transcript;
pub mod try_recordings;
mod variation;
pub mod version;

pub use catalogue::{Catalogue, Layer, ManifestProblem};
pub use check::{check, schema};
pub use detect::{DetectError, Detection, Detector, StreamEvidence, trim};
pub use manifest::Manifest;
pub use server::{ServerEvent, ServerReader};
pub use transcript::{TranscriptChange, TranscriptReader};
pub use version::Version;
