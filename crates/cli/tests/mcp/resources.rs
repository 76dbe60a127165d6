//! Resources, prompts and completion, with notifications of changes in both protocol generations.

use serde_json::{Value, json};
use testkit::{MarkedDaemon, child};

use crate::QD;
use crate::proxy::Proxy;

#[test]
fn the_list_the_screens_and_the_logs_can_be_read() {
    let stage = MarkedDaemon::start(QD);
    stage.run("build", child::shell("echo hello; exec sleep 1000"));
    stage.wait_pattern("build", "hello");
    let mut proxy = Proxy::greeted(&stage);
    let listed = proxy.request("resources/list", json!({}))["result"]["resources"].clone();
    assert_eq!(listed[0]["uri"], json!("qd://processes"));
    assert_eq!(listed[1]["uri"], json!("qd://timers"));
    let screen = listed[2]["uri"].as_str().unwrap().to_owned();
    let read = |proxy: &mut Proxy, uri: &str| {
        let contents = proxy.request("resources/read", json!({"uri": uri}))["result"]["contents"][0].clone();
        contents["text"].as_str().unwrap_or_else(|| panic!("{uri}: {contents}")).to_owned()
    };
    let list: Value = serde_json::from_str(&read(&mut proxy, "qd://processes")).unwrap();
    assert_eq!(list["processes"][0]["name"], json!("build"));
    assert!(read(&mut proxy, &screen).contains("hello"));
    assert!(read(&mut proxy, "qd://log/build").contains("hello"));
    let templates =
        proxy.request("resources/templates/list", json!({}))["result"]["resourceTemplates"].clone();
    assert_eq!(templates.as_array().unwrap().len(), 3);
    let missing = proxy.request("resources/read", json!({"uri": "qd://screen/nobody"}));
    assert_eq!(missing["error"]["code"], json!(-32002), "{missing}");
}

fn is_update(line: &Value, uri: &str) -> bool {
    line["method"] == json!("notifications/resources/updated") && line["params"]["uri"] == json!(uri)
}

#[test]
fn a_client_of_the_older_era_hears_of_changes_until_it_unsubscribes() {
    let stage = MarkedDaemon::start(QD);
    stage.run("echo", child::repeat_lines());
    stage.wait_pattern("echo", "ready");
    let mut proxy = Proxy::greeted(&stage);
    for uri in ["qd://processes", "qd://screen/echo"] {
        assert_eq!(proxy.request("resources/subscribe", json!({"uri": uri}))["result"], json!({}));
    }
    proxy.tool("spawn_process", json!({"kind": "command", "argv": ["true"], "name": "other"}));
    proxy.note(|line| is_update(line, "qd://processes"));
    // The watch may begin after the first line; from then on nothing is missed.
    let mut number = 0;
    while proxy.notes.iter().all(|line| !is_update(line, "qd://screen/echo")) {
        number += 1;
        proxy.tool(
            "send_input",
            json!({"process": "echo", "kind": "text", "text": format!("{number}\n"), "wait": 0.2}),
        );
        assert!(number < 100, "no news of the screen");
    }
    assert_eq!(
        proxy.request("resources/unsubscribe", json!({"uri": "qd://screen/echo"}))["result"],
        json!({})
    );
    proxy.end();
}

#[test]
fn a_client_of_the_newer_era_listens_and_every_change_names_its_subscription() {
    let stage = MarkedDaemon::start(QD);
    let mut proxy = Proxy::modern(&stage, json!({}));
    let wanted =
        json!({"toolsListChanged": true, "resourceSubscriptions": ["qd://processes", "qd://nothing"]});
    let id = proxy.begin("subscriptions/listen", json!({"notifications": wanted}));
    let accepted = proxy.line();
    assert_eq!(accepted["method"], json!("notifications/subscriptions/acknowledged"));
    assert_eq!(accepted["params"]["notifications"]["resourceSubscriptions"], json!(["qd://processes"]));
    proxy.tool("spawn_process", json!({"kind": "command", "argv": ["true"], "name": "new"}));
    let note = proxy.note(|line| is_update(line, "qd://processes"));
    assert_eq!(note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], json!(id));
    stage.kill_9();
    drop(stage.client());
    proxy.notes.clear();
    proxy.tool("rename_process", json!({"process": "new", "name": "newer"}));
    proxy.note(|line| is_update(line, "qd://processes"));
    proxy.end();
}

#[test]
fn prompts_are_filled_in_and_their_arguments_completed() {
    let stage = MarkedDaemon::start(QD);
    stage.run("build", child::run_for_ever());
    let mut proxy = Proxy::greeted(&stage);
    let names: Vec<Value> = proxy.request("prompts/list", json!({}))["result"]["prompts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|prompt| prompt["name"].clone())
        .collect();
    assert_eq!(names, [json!("lead_a_team"), json!("review_a_childs_work")]);
    let filled = proxy.request(
        "prompts/get",
        json!({"name": "lead_a_team", "arguments": {"goal": "peace", "agents": "two"}}),
    );
    let text = filled["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("peace") && text.contains("two"), "{text}");
    let template = json!({"type": "ref/resource", "uri": "qd://screen/{id}"});
    let argument = json!({"name": "id", "value": "bui"});
    let values = proxy.request("completion/complete", json!({"ref": template, "argument": argument}));
    assert_eq!(values["result"]["completion"]["values"], json!(["build"]), "{values}");
}
