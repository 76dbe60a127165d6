//! The real programs of four vendors, in their own terminals, against the scripted model: started, sent
//! messages, answered, interrupted, ended and resumed through Quarterdeck. A program that is not installed
//! fails here; `cargo xtask setup` installs them.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "vendors/another_user.rs"]
mod another_user;
#[path = "vendors/clients.rs"]
mod clients;
#[path = "vendors/day.rs"]
mod day;
#[path = "vendors/deck.rs"]
mod deck;
#[path = "vendors/dialogs.rs"]
mod dialogs;
#[path = "vendors/first_meeting.rs"]
mod first_meeting;
#[path = "vendors/leading.rs"]
mod leading;
#[path = "vendors/leading_stage.rs"]
mod leading_stage;
#[path = "vendors/leading_trust.rs"]
mod leading_trust;
#[path = "vendors/life.rs"]
mod life;
#[path = "vendors/limits.rs"]
mod limits;
#[path = "vendors/refused_resume.rs"]
mod refused_resume;
#[path = "vendors/results.rs"]
mod results;
#[path = "vendors/tasks.rs"]
mod tasks;
#[path = "vendors/tour.rs"]
mod tour;
#[path = "vendors/traces.rs"]
mod traces;
#[path = "vendors/vendor_stage.rs"]
mod vendor_stage;
#[path = "vendors/versions.rs"]
mod versions;
#[path = "vendors/views.rs"]
mod views;

#[path = "attach_live/shown_keys.rs"]
mod shown_keys;

#[path = "attach_live/window.rs"]
#[expect(dead_code, reason = "the rest of it is for the tests of attaching")]
mod window;

#[path = "mcp/proxy.rs"]
#[expect(dead_code, clippy::panic, reason = "the rest of it is for the tests of the server")]
mod proxy;

const QD: &str = env!("CARGO_BIN_EXE_qd");
