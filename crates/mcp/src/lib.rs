//! The MCP server, with which an agent leads other agents.
//!
//! It offers tools, resources and prompts to agents' clients, over standard input and output (`qd mcp`) and
//! over HTTP on the loopback (`qd mcp --http`), in both generations of the protocol. It decides nothing: it
//! is a client of the daemon, which knows who calls and what they may do.
//!
//! Reading order: `tools` (one file per family, one table), `arguments`, `outputs` and `pages` (arguments and
//! results), `waiting` (results that take time), `framing` and `wire`
//! (lines in, lines out), `server` (which method is answered by what), `resources` and `watch` (what can be
//! read and subscribed to), `stdio` and `http` (the two transports), `reference` (the documents generated
//! from all of it).
//!
//! | task or thread | owns | receives | sends | when others are slow | ends when |
//! |---|---|---|---|---|---|
//! | `mcp-input` | standard input | bytes | lines, bounded | stops reading | input ends |
//! | `mcp-output` | standard output | lines, bounded | bytes | answers wait | output closes |
//! | `mcp-starter` | a handle to the process that started us | its end | the end | - | it ends |
//! | service | the protocol's state | lines | a task per request | at most 256 requests are open | input ends |
//! | a task per call | one connection | the daemon's answer | a value | at most 48 calls | answered or cancelled |
//! | a blocking thread per connect | a socket | the daemon's start | a connection | the call waits | connected |

mod arguments;
mod failure;
mod framing;
mod http;
mod method_params;
mod outputs;
mod pages;
mod prompts;
mod reference;
mod resources;
mod server;
mod stdio;
mod tools;
mod vendors;
mod views;
mod waiting;
mod watch;
mod wire;

pub use http::{HttpError, Token, http_router, serve_http};
pub use reference::{reference, skill_files};
pub use stdio::{Setup, serve_stdio};
