//! The protocol's public conformance suite against `qd mcp --http`, at every version that the suite knows.
//!
//! Every check without success must be in `conformance-expected.json`, with the reason why it does not apply
//! and with the suite's message, and everything listed there must still happen. The suite's own verdict is
//! not used, because it forgives warnings, skipped checks and what a version does not require.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use testkit::vendor::Tool;
use testkit::{TestDaemon, child, wait_for_end};

use crate::QD;
use crate::http::{Http, TOKEN};
use crate::relay::Relay;

const EXPECTED: &str = include_str!("conformance-expected.json");
/// The slowest version takes five seconds on an idle machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// One check that is no success, and why it need not be.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    scenario: String,
    check: String,
    status: String,
    /// The versions it happens at.
    r#in: Vec<String>,
    /// A part of the suite's message: another failure of the same check is another fault.
    says: String,
    reason: String,
}

/// One check of the suite.
#[derive(Clone, Debug)]
struct Check {
    scenario: String,
    id: String,
    status: String,
    says: String,
}

impl Check {
    fn is_success(&self) -> bool {
        matches!(self.status.as_str(), "SUCCESS" | "INFO")
    }

    fn is(&self, expected: &Expected) -> bool {
        self.scenario == expected.scenario
            && self.id == expected.check
            && self.status == expected.status
            && self.says.contains(&expected.says)
    }
}

fn expected() -> Vec<Expected> {
    serde_json::from_str(EXPECTED).unwrap()
}

/// Returns everything that is not as expected, in words.
fn complaints(expected: &[Expected], checks: &[Check]) -> Vec<String> {
    let surprises = checks.iter().filter(|check| !check.is_success());
    let surprises = surprises.filter(|check| !expected.iter().any(|expected| check.is(expected)));
    let stale = expected.iter().filter(|expected| !checks.iter().any(|check| check.is(expected)));
    let surprises = surprises
        .map(|check| format!("{}: {} is {}: {}", check.scenario, check.id, check.status, check.says));
    let stale = stale.map(|expected| {
        format!(
            "{}: {} is no longer {}: take it off the list",
            expected.scenario, expected.check, expected.status
        )
    });
    surprises.chain(stale).collect()
}

/// Runs the suite at one version; `count` is how many scenarios it has there.
fn judge(version: &str, selection: &str, count: usize) {
    let daemon = TestDaemon::start(QD);
    // Lists with something in them.
    daemon.spawn("tide", child::run_for_ever());
    let http = Http::start(&daemon);
    // The suite sends no token.
    let relay = Relay::start(&http.address, &format!("Authorization: Bearer {TOKEN}"));
    let (results, log) = (daemon.root().join("results"), daemon.root().join("suite.log"));
    let mut suite = Tool::Conformance.command(daemon.root());
    suite.args(["server", "--url", &relay.url(), "--output-dir"]).arg(&results);
    suite.args(selection.split(' ')).arg(version);
    let printed = File::create(&log).unwrap();
    suite.stdout(printed.try_clone().unwrap()).stderr(printed);
    // The result files have the verdict.
    let _forgiving = wait_for_end(&mut suite.spawn().unwrap(), TIMEOUT);
    let scenarios = scenarios(&results);
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(scenarios.len(), count, "{:?}\n{log}", scenarios.keys());
    let idle: Vec<_> =
        scenarios.iter().filter(|(_, checks)| checks.iter().all(|check| check.status == "INFO")).collect();
    assert!(idle.is_empty(), "scenarios without a check: {idle:?}");
    let expected: Vec<Expected> =
        expected().into_iter().filter(|expected| expected.r#in.iter().any(|at| at == version)).collect();
    let checks: Vec<Check> = scenarios.into_values().flatten().collect();
    let complaints = complaints(&expected, &checks);
    assert!(complaints.is_empty(), "at {version}:\n{}", complaints.join("\n"));
}

/// Returns the suite's results by scenario: a directory each, named after it and the time.
fn scenarios(results: &Path) -> BTreeMap<String, Vec<Check>> {
    let directories = std::fs::read_dir(results).unwrap().map(|entry| entry.unwrap().path());
    directories
        .map(|directory| {
            let named = directory.file_name().unwrap().to_str().unwrap();
            let time = named.len() - "-2026-07-28T00-00-00-000Z".len();
            let scenario = named[..time].strip_prefix("server-").unwrap().to_owned();
            let checks: Vec<Value> =
                serde_json::from_slice(&std::fs::read(directory.join("checks.json")).unwrap()).unwrap();
            let field = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
            let checks = checks.iter().map(|check| Check {
                scenario: scenario.clone(),
                id: field(check, "id"),
                status: field(check, "status"),
                says: field(check, "errorMessage"),
            });
            (scenario.clone(), checks.collect())
        })
        .collect()
}

/// All scenarios that apply to a version.
const ALL: &str = "--suite all --spec-version";
/// Also those that a version does not require: extensions, and later additions.
const MORE: &str = "--requirements";

#[test]
fn the_suite_finds_at_2025_03_26_only_what_does_not_apply() {
    judge("2025-03-26", ALL, 1);
}

#[test]
fn the_suite_finds_at_2025_06_18_only_what_does_not_apply() {
    judge("2025-06-18", ALL, 27);
}

#[test]
fn the_suite_finds_at_2025_11_25_only_what_does_not_apply() {
    judge("2025-11-25", MORE, 33);
}

#[test]
fn the_suite_finds_at_2026_07_28_only_what_does_not_apply() {
    judge("2026-07-28", MORE, 50);
}

#[test]
fn every_expected_failure_stands_once_and_has_a_reason() {
    let versions = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
    let mut seen = BTreeSet::new();
    for one in expected() {
        assert!(one.reason.len() > 20 && one.reason.ends_with('.'), "{one:?}");
        assert!(!one.r#in.is_empty() && one.r#in.iter().all(|at| versions.contains(&at.as_str())), "{one:?}");
        assert!(one.status == "SKIPPED" || !one.says.is_empty(), "{one:?}");
        assert!(seen.insert((one.scenario.clone(), one.check.clone())), "twice: {one:?}");
    }
}

#[test]
fn a_new_failure_another_one_and_one_that_is_gone_are_each_complained_about() {
    let expected = Expected {
        scenario: "ping".into(),
        check: "answers".into(),
        status: "FAILURE".into(),
        r#in: Vec::new(),
        says: "no such tool".into(),
        reason: String::new(),
    };
    let check = |id: &str, status: &str, says: &str| Check {
        scenario: "ping".into(),
        id: id.into(),
        status: status.into(),
        says: says.into(),
    };
    let known = check("answers", "FAILURE", "MCP error: no such tool");
    let count = |checks: &[Check]| complaints(std::slice::from_ref(&expected), checks).len();
    assert_eq!(count(std::slice::from_ref(&known)), 0);
    assert_eq!(count(&[known.clone(), check("greets", "SUCCESS", "")]), 0);
    assert_eq!(count(&[known, check("greets", "WARNING", "late")]), 1);
    assert_eq!(count(&[check("answers", "SUCCESS", "")]), 1);
    // It still happens, but for another reason: both a surprise and a stale entry.
    assert_eq!(count(&[check("answers", "FAILURE", "timed out")]), 2);
}
