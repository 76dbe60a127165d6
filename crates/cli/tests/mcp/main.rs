//! `qd mcp` as agents' clients see it: the real binary, a real daemon, lines of JSON written by hand.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up has failed")]

mod agents;
mod asking;
mod bad_calls;
mod conformance;
mod elicitation;
mod endings;
mod eras;
mod http;
mod identity;
mod inspector;
mod keys;
mod lead;
mod proxy;
mod relay;
mod resources;
mod scratchpads;
mod skills;
mod spawning;
mod survival;
mod tasks;
mod timers;
mod tools;
mod waits;

const QD: &str = env!("CARGO_BIN_EXE_qd");
const AGENT: &str = env!("CARGO_BIN_EXE_qd-agent-test");
/// How many tools there are.
const TOOLS: usize = 45;
