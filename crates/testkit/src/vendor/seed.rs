//! Writes what each vendor's program reads before it starts: variables and settings files. It uses only the
//! layers that a user would write, because Quarterdeck's own injection uses others (flags, opencode's
//! OPENCODE_CONFIG_CONTENT, gemini's system settings).

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Value, json};

use super::Vendor;

/// Not a secret, in a form that no program's masking takes for other text.
pub(super) const KEY: &str = "sk-scripted-0001";
/// A subscription's token: the program shows a subscription's limits only with one.
const TOKEN: &str = "sk-ant-oat01-scripted";

/// Returns the variables.
pub(super) fn environment(vendor: Vendor, home: &Path, url: &str) -> Vec<(&'static str, OsString)> {
    let mut env: Vec<(&'static str, OsString)> = vec![("HOME", home.into())];
    match vendor {
        Vendor::Claude => env.extend([
            ("CLAUDE_CONFIG_DIR", home.join(".claude").into()),
            ("ANTHROPIC_BASE_URL", url.into()),
            ("CLAUDE_CODE_OAUTH_TOKEN", TOKEN.into()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
            // A failure that the test ordered must be shown, not retried for minutes.
            ("CLAUDE_CODE_MAX_RETRIES", "1".into()),
        ]),
        Vendor::Codex => {
            env.extend([("CODEX_HOME", home.join(".codex").into()), ("SCRIPTED_MODEL_KEY", KEY.into())])
        }
        Vendor::Opencode => env.extend([
            ("OPENCODE_DISABLE_AUTOUPDATE", "1".into()),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1".into()),
        ]),
        Vendor::Gemini => env.extend([
            ("GEMINI_CLI_HOME", home.into()),
            ("GOOGLE_GEMINI_BASE_URL", url.into()),
            ("GEMINI_API_KEY", KEY.into()),
        ]),
    }
    env
}

/// The settings of a user who has used the program before, with the server as backend.
pub(super) fn settings(vendor: Vendor, home: &Path, url: &str) {
    newcomer(vendor, home);
    match vendor {
        // Auto mode would ask the model before every tool; without it the mode is manual.
        Vendor::Claude => {
            let settings = json!({"permissions": {"disableAutoMode": "disable"}});
            write(&home.join(".claude/settings.json"), &settings.to_string());
        }
        Vendor::Codex => write(&home.join(".codex/config.toml"), &codex_settings(url, "SCRIPTED_MODEL_KEY")),
        Vendor::Opencode => {
            write(&home.join(".config/opencode/opencode.json"), &opencode_settings(url).to_string());
        }
        Vendor::Gemini => {
            let settings = json!({
                "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
                "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 1},
                "privacy": {"usageStatisticsEnabled": false},
            });
            write(&home.join(".gemini/settings.json"), &settings.to_string());
        }
    }
}

/// The settings of a user whose agents lead others: everything that a launch without variables of its own
/// needs, and permission for Quarterdeck's tools.
pub(super) fn leading(vendor: Vendor, home: &Path, url: &str) {
    settings(vendor, home, url);
    match vendor {
        Vendor::Claude => {
            let settings = json!({
                "permissions": {"disableAutoMode": "disable", "allow": ["mcp__quarterdeck"]},
                "env": {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_RETRIES": "1"},
            });
            write(&home.join(".claude/settings.json"), &settings.to_string());
        }
        Vendor::Codex => {
            let settings = codex_settings(url, "OPENAI_API_KEY");
            write(&home.join(".codex/config.toml"), &format!("{settings}{CODEX_WITH_LEAVE}"));
        }
        Vendor::Opencode | Vendor::Gemini => {}
    }
}

/// What even a new user's home needs here: nothing may be downloaded, and no process may be left behind.
pub(super) fn newcomer(vendor: Vendor, home: &Path) {
    match vendor {
        // Its very first step looks for the vendor in the network and gives up without it; the next one asks
        // for trust.
        Vendor::Claude => {
            let known = json!({"hasCompletedOnboarding": true, "theme": "dark", "projects": {}});
            write(&home.join(".claude/.claude.json"), &known.to_string());
        }
        Vendor::Codex => write(&home.join(".codex/config.toml"), CODEX_WITHOUT_DAEMON),
        // It installs a package into its settings' directory unless this one seems to exist.
        Vendor::Opencode => {
            let directory = home.join(".config/opencode");
            std::fs::create_dir_all(directory.join("node_modules")).expect("a directory can be made");
            let lock = json!({"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}});
            write(&directory.join("package.json"), "{}");
            write(&directory.join("package-lock.json"), &lock.to_string());
        }
        Vendor::Gemini => {}
    }
}

/// Records that the user trusts a directory.
pub(super) fn trust(vendor: Vendor, home: &Path, directory: &Path) {
    let directory = directory.canonicalize().expect("a trusted directory is there");
    let directory = directory.to_str().expect("a test's directory is UTF-8");
    match vendor {
        Vendor::Claude => {
            let file = home.join(".claude/.claude.json");
            let mut known: Value = serde_json::from_str(&read(&file)).expect("we wrote JSON");
            known["projects"][directory] =
                json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true});
            write(&file, &known.to_string());
        }
        Vendor::Codex => {
            let file = home.join(".codex/config.toml");
            let trusted = format!("{}\n[projects.{directory:?}]\ntrust_level = \"trusted\"\n", read(&file));
            write(&file, &trusted);
        }
        // One never asks; the other's question is switched off for all directories.
        Vendor::Opencode | Vendor::Gemini => {}
    }
}

/// Without this the program copies itself (440 MB) into its home and starts a daemon that outlives it.
const CODEX_WITHOUT_DAEMON: &str = "[features]\ndaemon_auto_start = false\n";

/// Quarterdeck's server itself is in no file: each launch names it.
const CODEX_WITH_LEAVE: &str = "\n[mcp_servers.quarterdeck]\ndefault_tools_approval_mode = \"approve\"\n";

fn codex_settings(url: &str, key: &str) -> String {
    format!(
        r#"model = "gpt-5.2-codex"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "{key}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

# What it would note down itself at its first start: the settings then stay as they are.
[tui]
screen_reader_detection_done = true

[tui.model_availability_nux]
"gpt-6.1-sol" = 4

{CODEX_WITHOUT_DAEMON}"#
    )
}

fn opencode_settings(url: &str) -> Value {
    json!({
        // It adds this line to a file without it.
        "$schema": "https://opencode.ai/config.json",
        "model": "scripted/scripted-model",
        "small_model": "scripted/scripted-model",
        "autoupdate": false,
        "share": "disabled",
        // As the others do by default: it asks before running a command.
        "permission": {"bash": "ask"},
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": KEY},
            "models": {"scripted-model": {
                "name": "Scripted Model",
                "limit": {"context": 200_000, "output": 8192},
            }},
        }},
    })
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).expect("settings that were written can be read")
}

fn write(file: &Path, text: &str) {
    let directory = file.parent().expect("a file lies in a directory");
    std::fs::create_dir_all(directory).expect("a directory can be made");
    std::fs::write(file, text).expect("settings can be written");
}
