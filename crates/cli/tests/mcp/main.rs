//! `qd mcp` as agents' clients see it: the real binary, a real daemon, lines of JSON written by hand.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up has failed")]

mod agents;
mod bad_calls;
mod clients;
mod conformance;
mod endings;
mod eras;
mod http;
mod identity;
mod inspector;
mod proxy;
mod relay;
mod resources;
mod skills;
mod survival;
mod tools;
mod waits;

const QD: &str = env!("CARGO_BIN_EXE_qd");
const AGENT: &str = env!("CARGO_BIN_EXE_qd-agent-test");
