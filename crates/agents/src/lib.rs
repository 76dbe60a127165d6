//! What is known of vendors' programs, as data and the code that reads it.
//!
//! Owns manifests, launch plans, state rules, hooks, transcripts. Refuses I/O, clocks and decisions: it is given text
//! and bytes, and says what they mean; the engine weighs it.
//!
//! Reading order: `manifest` (one file's shape), `catalogue` (files merged by name), `launch` (what to start and what to
//! write beside it), `version` and `variation` (what other versions do differently), `detect` (what a screen says), `hook`, `transcript`, `server`, `state_file`.

pub mod catalogue;
pub mod check;
pub mod context;
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

pub use catalogue::{Catalogue, Layer, Problem};
pub use check::{check, schema};
pub use detect::{DetectError, Detection, Detector, StreamEvidence, trim};
pub use manifest::Manifest;
pub use server::{ServerNews, ServerReader};
pub use transcript::{TranscriptNews, TranscriptReader};
pub use version::Version;
