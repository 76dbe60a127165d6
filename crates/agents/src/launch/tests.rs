//! Launch plans. The whole plan of each vendor is in a file that shows what is really started.

use std::path::Path;

use serde_json::{Value, json};

use super::hooks::{QUICK_HOOK_S, WAITING_HOOK_S};
use super::*;
use crate::{Catalogue, Layer};

const FRESH: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

/// Returns the plan for some words of the user.
fn planned(name: &str, words: &[&str], change: impl Fn(&mut LaunchInput<'_>)) -> Result<Plan, PlanError> {
    planned_from(&Catalogue::built_in(), name, words, change)
}

fn planned_from(
    catalogue: &Catalogue,
    name: &str,
    words: &[&str],
    change: impl Fn(&mut LaunchInput<'_>),
) -> Result<Plan, PlanError> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let own_env = [("QD_RUNTIME_DIR".to_owned(), "/run/user/1000/qd".to_owned())];
    let mut input = LaunchInput {
        manifest: catalogue.get(name).unwrap(),
        words: &words,
        cwd: Path::new("/home/user/project"),
        directory: Path::new("/run/user/1000/qd/launch/p_abcdefgh.1"),
        qd: Path::new("/opt/quarter deck/qd"),
        socket: Path::new("/run/user/1000/qd/socket"),
        own_env: &own_env,
        inherited: &|_| None,
        fresh_session: FRESH,
        resume: None,
        continues: false,
        port: Some(40_123),
        secret: "s3cret",
        permissions_wait: false,
        model: None,
        mode: None,
    };
    change(&mut input);
    plan(&input)
}

fn argv(name: &str, words: &[&str], change: impl Fn(&mut LaunchInput<'_>)) -> Vec<String> {
    planned(name, words, change).unwrap().argv
}

/// Returns the words after the injected ones.
fn tail(argv: &[String], count: usize) -> Vec<&str> {
    argv[argv.len() - count..].iter().map(String::as_str).collect()
}

#[track_caller]
fn golden(name: &str, expected: &str) {
    let plan = planned(name, &["--model", "some model", "do it"], |_| ()).unwrap();
    let mut whole = serde_json::to_value(&plan).unwrap();
    for (_, text) in &plan.files {
        assert!(text.ends_with('\n'));
    }
    // A file's text is easier to read as parsed content.
    let files: serde_json::Map<String, Value> = plan
        .files
        .iter()
        .map(|(path, text)| (path.display().to_string(), serde_json::from_str(text).unwrap()))
        .collect();
    whole["files"] = Value::Object(files);
    let expected: Value = serde_json::from_str(expected).unwrap();
    assert_eq!(whole, expected, "planned: {whole:#}");
}

macro_rules! goldens {
    ($($fact:ident: $name:literal)*) => {$(
        #[test]
        fn $fact() {
            golden($name, include_str!(concat!("../../tests/fixtures/launch/", $name, ".json")));
        }
    )*};
}

goldens! {
    claude_gets_its_server_and_a_plugin_with_hooks: "claude"
    codex_gets_its_server_and_hooks_as_overrides: "codex"
    opencode_gets_its_server_in_a_variable_and_a_port: "opencode"
    gemini_gets_both_in_one_file: "gemini"
    qwen_gets_its_server_in_a_file: "qwen"
    copilot_gets_its_server_in_a_file: "copilot"
    goose_gets_its_server_as_an_extension: "goose"
    aider_gets_nothing: "aider"
    amp_gets_its_server_as_json: "amp"
    cursor_agent_gets_nothing: "cursor-agent"
    generic_runs_the_users_words: "generic"
}

#[test]
fn every_shipped_manifest_can_be_planned_and_writes_only_plain_names() {
    let catalogue = Catalogue::built_in();
    for name in catalogue.names() {
        let plan = planned(name, &["x"], |_| ()).unwrap();
        assert!(
            plan.files
                .iter()
                .all(|(path, _)| path.is_relative() && !path.display().to_string().contains(".."))
        );
        assert_eq!(plan.argv.last().map(String::as_str), Some("x"), "{name}");
    }
}

#[test]
fn the_users_words_keep_their_order_behind_ours() {
    let words = ["-c", "model=\"x\"", "--mcp-config", "mine.json", "--", "--resume"];
    assert_eq!(
        tail(&argv("claude", &words[2..], |_| ()), 4),
        ["--mcp-config", "mine.json", "--", "--resume"]
    );
    assert_eq!(tail(&argv("codex", &words[..2], |_| ()), 2), ["-c", "model=\"x\""]);
}

#[test]
fn the_users_servers_and_settings_stay_beside_ours() {
    let argv = argv("claude", &["--mcp-config=mine.json", "--settings=mine.json"], |_| ());
    assert!(argv.iter().any(|word| word.starts_with("--mcp-config=/run")));
    assert!(argv.iter().any(|word| word == "--mcp-config=mine.json"));
    assert_eq!(argv.iter().filter(|word| word.starts_with("--settings")).count(), 1);
}

#[test]
fn a_session_the_user_chose_is_his() {
    let plan = planned("claude", &["--session-id", "mine", "hi"], |_| ()).unwrap();
    assert_eq!(plan.session.as_deref(), Some("mine"));
    assert!(!plan.argv.iter().any(|word| word == FRESH));
    let learnt = planned("claude", &["--continue"], |_| ()).unwrap();
    assert_eq!(learnt.session, None);
    assert!(!learnt.argv.iter().any(|word| word == "--session-id"));
}

#[test]
fn a_resumed_session_takes_the_place_of_the_one_the_words_chose() {
    let plan =
        planned("claude", &["--session-id", "old", "--model", "x"], |input| input.resume = Some("kept"))
            .unwrap();
    assert_eq!(tail(&plan.argv, 4), ["--resume", "kept", "--model", "x"]);
    assert_eq!(plan.session.as_deref(), Some("kept"));
}

#[test]
fn a_subcommand_that_resumes_stands_behind_the_program() {
    let argv = argv("codex", &["resume", "--last", "--search"], |input| input.resume = Some("kept"));
    assert_eq!(argv[..4], ["codex", "resume", "kept", "--no-daemon"]);
    assert_eq!(tail(&argv, 1), ["--search"]);
    assert!(!argv.iter().any(|word| word == "--last"));
}

#[test]
fn the_newest_session_is_taken_up_where_the_vendor_can() {
    assert!(argv("claude", &[], |input| input.continues = true).iter().any(|word| word == "--continue"));
    let error = planned("generic", &["x"], |input| input.continues = true).unwrap_err();
    assert_eq!(error, PlanError::NotContinuable("generic".into()));
    let error = planned("aider", &[], |input| input.resume = Some("s")).unwrap_err();
    assert_eq!(error, PlanError::NotResumable("aider".into()));
}

#[test]
fn a_program_without_a_program_is_an_error() {
    assert_eq!(planned("generic", &[], |_| ()).unwrap_err(), PlanError::NoProgram("generic".into()));
}

#[test]
fn a_request_that_waits_for_a_person_gets_a_day_and_other_hooks_do_not() {
    let limit = |waits: bool, event: &str| {
        let plan = planned("claude", &[], |input| input.permissions_wait = waits).unwrap();
        let (_, text) = plan.files.iter().find(|(path, _)| path.ends_with("hooks.json")).unwrap().clone();
        let hooks: Value = serde_json::from_str(&text).unwrap();
        hooks["hooks"][event][0]["hooks"][0]["timeout"].as_u64().unwrap()
    };
    assert_eq!((limit(true, "PermissionRequest"), limit(true, "Stop")), (WAITING_HOOK_S, QUICK_HOOK_S));
    assert_eq!(limit(false, "PermissionRequest"), QUICK_HOOK_S);
}

#[test]
fn a_document_is_laid_upon_the_users_own_variable() {
    let users = json!({ "theme": "x", "mcp": { "mine": { "enabled": true } } }).to_string();
    let plan = planned("opencode", &[], |input| input.inherited = &|_| None).unwrap();
    assert_eq!(plan.notes, [] as [String; 0]);
    let inherited = move |name: &str| (name == "OPENCODE_CONFIG_CONTENT").then(|| users.clone());
    let catalogue = Catalogue::built_in();
    let words = [];
    let input = LaunchInput { inherited: &inherited, ..plain(&catalogue, &words) };
    let content = plan_value(&input, "OPENCODE_CONFIG_CONTENT");
    assert_eq!((&content["theme"], &content["mcp"]["mine"]["enabled"]), (&json!("x"), &json!(true)));
    assert_eq!(content["mcp"]["quarterdeck"]["type"], json!("local"));
}

#[test]
fn a_variable_of_the_users_that_cannot_be_read_is_left_alone_and_told() {
    let catalogue = Catalogue::built_in();
    let words = [];
    let input = LaunchInput { inherited: &|_| Some("{ // mine\n}".to_owned()), ..plain(&catalogue, &words) };
    let plan = plan(&input).unwrap();
    assert!(!plan.env.iter().any(|(name, _)| name == "OPENCODE_CONFIG_CONTENT"));
    assert_eq!(plan.notes.len(), 1);
}

#[test]
fn c19_a_launch_that_its_vendor_does_not_believe_goes_without_settings_and_says_what_it_lacks() {
    let catalogue = Catalogue::built_in();
    let gemini = catalogue.get("gemini").unwrap();
    let lesser = gemini.without_root_only().unwrap();
    let plan = plan(&LaunchInput { manifest: &lesser, ..plain(&catalogue, &[]) }).unwrap();
    assert!(plan.env.is_empty() && plan.files.is_empty());
    assert!(!lesser.abilities().contains(&"mcp") && !lesser.delivers_at_turn_end());
    let [sentence] = &shortfalls(gemini, None, false)[..] else { panic!("one sentence") };
    assert!(
        sentence.starts_with("gemini runs without Quarterdeck's tools (MCP) and without hooks"),
        "{sentence}"
    );
    assert_eq!(shortfalls(gemini, None, true), Vec::<String>::new());
    assert_eq!(catalogue.get("claude").unwrap().without_root_only(), None);
}

#[test]
fn c22_a_version_older_than_any_that_was_tried_is_told() {
    let catalogue = Catalogue::built_in();
    for name in ["claude", "codex", "gemini", "opencode"] {
        let manifest = catalogue.get(name).unwrap();
        let (oldest, newest) = (manifest.tried.oldest.unwrap(), manifest.tried.newest.unwrap());
        let sentences = shortfalls(manifest, "0.0.1".parse().ok(), true);
        assert!(
            sentences.iter().any(|one| one.starts_with(&format!("{name} 0.0.1 is not supported: {oldest}")))
        );
        let sentences = shortfalls(manifest, Some(oldest), true);
        assert!(!sentences.iter().any(|one| one.contains("is not supported")), "{sentences:?}");
        assert_eq!(shortfalls(manifest, Some(newest), true), Vec::<String>::new());
    }
}

#[test]
fn c22_what_a_version_was_seen_to_lack_is_told_and_nothing_else_is() {
    let catalogue = Catalogue::built_in();
    let table = include_str!("../../../../docs/agents.md");
    let rows = table.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<&str>>());
    let rows: Vec<_> = rows.filter(|row| row.len() > 5 && matches!(row[3], "yes" | "no")).collect();
    assert!(rows.len() > 10, "the table of docs/agents.md is read");
    for row in rows {
        let (name, version) = (row[1], row[2].parse().ok());
        let manifest = catalogue.for_version(name, version).unwrap();
        let told = shortfalls(&manifest, version, true);
        assert_eq!(row.contains(&"no"), !told.is_empty(), "{name} {}: {told:?}", row[2]);
    }
}

#[test]
fn c22_flags_are_used_only_where_the_version_has_them() {
    let catalogue = Catalogue::built_in();
    let argv = |name: &str, version: &str| {
        let manifest = catalogue.for_version(name, version.parse().ok()).unwrap();
        plan(&LaunchInput { manifest: &manifest, ..plain(&catalogue, &[]) }).unwrap().argv.join(" ")
    };
    for (name, flag, without, with) in [
        ("codex", "--no-daemon", "0.150.0", "0.156.0"),
        ("codex", "--no-daemon", "0.155.1", "0.156.0"),
        ("gemini", "--session-id", "0.38.0", "0.41.0"),
        ("gemini", "--session-id", "0.40.1", "0.41.0"),
    ] {
        assert!(!argv(name, without).contains(flag), "{}", argv(name, without));
        assert!(argv(name, with).contains(flag), "{}", argv(name, with));
    }
    let has_server =
        |version: &str| catalogue.for_version("opencode", version.parse().ok()).unwrap().server.is_some();
    assert_eq!(["1.14.0", "1.17.18"].map(has_server), [false, true]);
}

#[test]
fn without_a_port_there_is_no_server() {
    let plan = planned("opencode", &[], |input| input.port = None).unwrap();
    assert_eq!(plan.server, None);
    assert!(!plan.argv.iter().any(|word| word == "--port"));
}

#[test]
fn a_hook_whose_payload_has_no_name_is_told_it() {
    let text = "argv = ['mine']\n[hooks]\ninject = 'flag'\nargument = ['--hooks={json}']\nunder = 'on'\nentry = '{hook}'\n\
                [[hooks.event]]\nid = 'end'\nevent = 'turn end'\n";
    let layer = Layer { origin: "user".into(), files: vec![("mine".into(), text.into())] };
    let (catalogue, problems) = Catalogue::merged(&[layer]);
    assert_eq!(problems, []);
    let plan = planned_from(&catalogue, "mine", &[], |_| ()).unwrap();
    let expected = r#"--hooks={"on":{"turn end":"'/opt/quarter deck/qd' hook --event 'turn end'"}}"#;
    assert_eq!(plan.argv, ["mine", expected]);
}

#[test]
fn a_file_that_arguments_and_variables_point_to_is_written() {
    let text = "argv = ['mine']\n[mcp]\ninject = 'config_file'\nfile = 'conf/servers.json'\nargument = ['--conf', '{dir}/conf']\n\
                env = { MINE_CONF = '{file}' }\n[mcp.document]\nqd = '{qd}'\n";
    let layer = Layer { origin: "user".into(), files: vec![("mine".into(), text.into())] };
    let (catalogue, _) = Catalogue::merged(&[layer]);
    let plan = planned_from(&catalogue, "mine", &[], |_| ()).unwrap();
    assert_eq!(plan.argv, ["mine", "--conf", "/run/user/1000/qd/launch/p_abcdefgh.1/conf"]);
    assert_eq!(
        plan.env,
        [("MINE_CONF".into(), "/run/user/1000/qd/launch/p_abcdefgh.1/conf/servers.json".into())]
    );
    assert_eq!(plan.files.len(), 1);
}

#[test]
fn b8_no_secret_stands_in_the_words() {
    for name in Catalogue::built_in().names() {
        let plan = planned(name, &["x"], |_| ()).unwrap();
        assert!(!plan.argv.iter().any(|word| word.contains("s3cret")), "{name}");
    }
}

fn plain<'a>(catalogue: &'a Catalogue, words: &'a [String]) -> LaunchInput<'a> {
    LaunchInput {
        manifest: catalogue.get("opencode").unwrap(),
        words,
        cwd: Path::new("/w"),
        directory: Path::new("/d"),
        qd: Path::new("/qd"),
        socket: Path::new("/s"),
        own_env: &[],
        inherited: &|_| None,
        fresh_session: FRESH,
        resume: None,
        continues: false,
        port: None,
        secret: "s3cret",
        permissions_wait: false,
        model: None,
        mode: None,
    }
}

fn plan_value(input: &LaunchInput<'_>, variable: &str) -> Value {
    let plan = plan(input).unwrap();
    let (_, text) = plan.env.iter().find(|(name, _)| name == variable).unwrap();
    serde_json::from_str(text).unwrap()
}

#[test]
fn m24c_a_model_and_a_mode_become_the_vendors_own_words() {
    let chosen = |name: &str| {
        argv(name, &[], |input| (input.model, input.mode) = (Some("big"), Some(PermissionMode::Plan)))
            .join(" ")
    };
    assert!(chosen("claude").contains("--model big --permission-mode plan"), "{}", chosen("claude"));
    assert!(chosen("codex").contains("--model big --sandbox read-only --ask-for-approval never"));
    assert!(chosen("gemini").contains("--model big --approval-mode plan"));
    assert!(chosen("opencode").contains("--model big --agent plan"));
    let error = planned("opencode", &[], |input| input.mode = Some(PermissionMode::Edit)).unwrap_err();
    assert_eq!(error.to_string(), "mode: opencode has no mode edit; it has plan, ask, auto");
    let error = planned("goose", &[], |input| input.model = Some("big")).unwrap_err();
    assert_eq!(error.to_string(), "model: goose takes no model when it starts");
}
