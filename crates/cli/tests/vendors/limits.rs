//! Used-up accounts: the agent reports it, with the time at which it continues where the vendor states it.

use std::time::{Duration, Instant};

use proto::AgentState;
use testkit::vendor::Vendor;

use crate::vendor_stage::{FakeAgents, TIMEOUT};

fn runs_out(vendor: Vendor, tells_when: bool) {
    let crew = FakeAgents::seeded(vendor);
    crew.wait_state(&[AgentState::Idle]);
    crew.tell("@quota 3600");
    let until = Instant::now() + TIMEOUT;
    let quota = loop {
        let agent = crew.view().agent.unwrap();
        match agent.quota {
            Some(quota) => break quota,
            None if Instant::now() < until => testkit::process_scan::pause(Duration::from_millis(50)),
            None => crew.fail("nobody noticed that the account is used up"),
        }
    };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() * 1000;
    let is_sensible = quota.reset_at.is_some_and(|at| at > now + 3_000_000 && at < now + 4_200_000);
    if tells_when && !is_sensible {
        crew.fail(&format!("it goes on at {quota:?}, and now is {now}"));
    }
}

#[test]
fn claude_runs_out_and_says_until_when() {
    runs_out(Vendor::Claude, true);
}

#[test]
fn codex_runs_out_and_says_until_when() {
    runs_out(Vendor::Codex, true);
}

#[test]
fn opencode_runs_out() {
    runs_out(Vendor::Opencode, false);
}

#[test]
fn gemini_runs_out() {
    runs_out(Vendor::Gemini, false);
}
