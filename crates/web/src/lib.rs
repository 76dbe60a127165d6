//! The web face: the same screens in a browser, an HTTP API, and the `terminal.*` dialect.
//!
//! It is a process of its own and a client of the daemon. It decides who may call, and checks the
//! role of every caller on every route and socket.
//!
//! Reading order: [`routes`] (every route, declared once), `request_check` (what a request needs), [`identity`], [`access`],
//! [`pairing`], [`passphrase`] and `tickets` (who calls), [`audit`] (what they did), [`address`] (the URL for links), `step_up` (what a person must confirm), `link` (what a link shows), `verb_call` and `api` (the routes of the API), `door` (connections to the
//! daemon), `socket` (what WebSockets share), `events`, `view` and `dialect` (the three kinds of them), `page` (the files
//! of the page), [`bind`], [`tls`], `serve` and `metrics_listener` (where it listens).
//!
//! | task | owns | receives | sends | when others are slow | ends when |
//! |---|---|---|---|---|---|
//! | connection (1 per client) | its TCP stream | requests | answers | a request has 10 s to arrive | the client goes |
//! | socket (1 per WebSocket) | one connection to the daemon | output, messages | frames, orders | output: it stops reading, and the daemon skips ahead; answers and keys: it stops reading the client | either side ends, or the caller is revoked |
//! | writer (1 per WebSocket) | the sending half | 8 messages | frames, pings | the socket waits | a message does not leave within 30 s |
//! | orders (1 per viewer) | the half that sends to the daemon | 1 MiB of keys; in the dialect 8 orders | calls, input | the client is not read; in the dialect for 3 s, then input is refused | the viewer goes, and 10 s later at the latest |
//! | revocation (thread) | an inotify descriptor | changes of the file of identities | a number | - | the server ends |

pub mod access;
pub mod address;
pub mod audit;
pub mod bind;
pub mod identity;
pub mod pairing;
pub mod passphrase;
pub mod routes;
pub mod secrets;
pub mod tls;

mod api;
mod api_query;
mod attachments;
mod clock;
mod compression;
mod cookie;
mod dialect;
mod door;
mod events;
mod gateway;
mod guest_sockets;
mod last_orders;
mod link;
mod metrics;
mod metrics_listener;
mod openapi;
mod page;
mod pairing_wait;
mod private_file;
mod probe;
mod problem;
#[cfg(feature = "push")]
mod push;
mod qr;
mod request_check;
mod revocation;
mod serve;
mod socket;
mod step_up;
mod tickets;
mod tools;
mod verb_call;
mod view;

pub use access::{AccessFile, AccessRecord, NewIdentity};
pub use address::{is_local_url, running_url};
pub use audit::AuditFile;
pub use bind::{Encryption, Exposure, UnsafeBind};
pub use identity::{AccessIdentity, IdentityKind, LinkTarget, Scope};
pub use pairing::{CodePurpose, Pairing};
pub use pairing_wait::PairingWait;
pub use passphrase::PassphraseFile;
pub use probe::{ProbeFault, ProbeResult, probe};
pub use qr::qr_lines;
pub use routes::{Access, HttpMethod, ROUTES, Route};
pub use secrets::Secret;
pub use serve::{ServerReady, WebError, WebSetup, serve, web_directory};
pub use tls::CertificateSource;
pub use tools::ToolsRouter;
