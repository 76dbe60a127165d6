//! Programs whose user has not yet allowed them to lead: they ask before they use one of our tools, and a
//! person answers from the inbox.

use proto::AgentState;
use proto::agent::ItemKind;
use serde_json::json;
use testkit::model::ModelRequest;
use testkit::vendor::Vendor;

use crate::leading_stage::call;
use crate::vendor_stage::{FakeAgents, TIMEOUT};

fn asks_before_it_uses_our_tools(vendor: Vendor) {
    let crew = FakeAgents::seeded(vendor);
    crew.wait_state(&[AgentState::Idle]);
    let write = call(vendor, "scratchpad_write", json!({"pad": "findings", "content": "with leave"}));
    let turn = crew.tell(&format!("{write}\n@say after-leave"));
    crew.wait_state(&[AgentState::Blocked]);
    let item = crew.wait_item();
    let told = format!("{} {}", item.title, item.body);
    if item.kind != ItemKind::Dialog || !told.contains("with leave") {
        crew.fail(&format!("the inbox has {item:?}"));
    }
    crew.answer(item.item, "allow");
    let result = crew.wait_turn(turn);
    if !result.text.contains("after-leave") {
        crew.fail(&format!("the result is {result:?}"));
    }
    let is_told = |request: &ModelRequest| request.results.iter().any(|text| text.contains("\"revision\":1"));
    crew.server.wait_request(is_told, TIMEOUT);
}

#[test]
fn claude_asks_before_it_uses_our_tools() {
    asks_before_it_uses_our_tools(Vendor::Claude);
}

#[test]
fn codex_asks_before_it_uses_our_tools() {
    asks_before_it_uses_our_tools(Vendor::Codex);
}
