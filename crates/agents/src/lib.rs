//! What is known of vendors' programs, as data and the code that reads it.
//!
//! Owns manifests, launch plans, state rules, hooks, transcripts. Refuses I/O, clocks and decisions: it is given text
//! and bytes, and says what they mean; the engine weighs it.
//!
//! Reading order: `manifest` (one file's shape), `catalogue` (files merged by name), `launch` (what to start and what to
//! write beside it), `detect` (what a screen says), `hook`, `transcript`, `server`, `state_file`.
