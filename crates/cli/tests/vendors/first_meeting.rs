//! Programs that start for the first time: an agent that is stuck before its prompt is noticed.

use proto::AgentState;
use proto::agent::BlockedKind;
use testkit::vendor::Vendor;

use crate::vendor_stage::FakeAgents;

fn asks_before_it_starts(vendor: Vendor, word: &str) {
    let crew = FakeAgents::newcomer(vendor);
    crew.wait_state(&[AgentState::Blocked]);
    // A dialog may be noticed before it is drawn to its end; once its options are there it is complete.
    let item = crew.wait_item();
    if !format!("{item:?}").to_lowercase().contains(word) {
        crew.fail(&format!("the inbox has {item:?}"));
    }
    testkit::process_scan::eventually("what it is blocked by", || {
        let kind = crew.view().agent?.evidence?.evidence.kind;
        matches!(kind, Some(BlockedKind::Onboarding | BlockedKind::Auth)).then_some(())
    });
    let queued = crew.daemon.qd(&["--json", "tell", "fix", "not into a dialog", "--timeout", "0.5"]);
    assert_eq!(queued.status.code(), Some(5), "it waits: {}", String::from_utf8_lossy(&queued.stderr));
    assert!(!crew.daemon.screen("fix").contains("not into a dialog"));
}

#[test]
fn claude_asks_whether_the_folder_is_trusted() {
    asks_before_it_starts(Vendor::Claude, "trust");
}

#[test]
fn codex_asks_who_this_is() {
    asks_before_it_starts(Vendor::Codex, "sign in");
}

#[test]
fn gemini_asks_whether_the_folder_is_trusted() {
    asks_before_it_starts(Vendor::Gemini, "trust");
}

#[test]
fn opencode_asks_nothing_and_is_idle() {
    FakeAgents::newcomer(Vendor::Opencode).wait_state(&[AgentState::Idle]);
}
