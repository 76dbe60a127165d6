//! Builds the part of a vendor's configuration that makes it run our hook: one entry for each event of the
//! manifest, and the vendor's mark that they are trusted. Hooks that are not ours stay as the user left them.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::Places;
use crate::hook::{EventSpec, Hooks, MomentWord, TimeoutUnit};
use crate::template::{Placeholder, Unfilled};

/// The time limit of a hook that answers at once, in seconds.
pub(super) const QUICK_HOOK_S: u64 = 30;

/// The time limit of a hook that waits for a person, in seconds: longer than any request waits in the inbox.
pub(super) const WAITING_HOOK_S: u64 = 86_400;

/// Returns the hook configuration for the vendor.
pub(super) fn hook_document(
    hooks: &Hooks,
    places: &Places<'_>,
    permissions_wait: bool,
) -> Result<Value, Unfilled> {
    let mut table = Map::new();
    let mut trusted = Map::new();
    for spec in &hooks.event {
        if table.contains_key(&spec.event) {
            continue;
        }
        let limit = limit(hooks, &spec.event, permissions_wait);
        let command = command(places.qd, hooks.fields.event.is_none().then_some(spec.event.as_str()));
        let lookup = |place| match place {
            Placeholder::Hook => Some(json!(command)),
            Placeholder::Timeout => Some(json!(limit)),
            Placeholder::Event => Some(json!(underscored(&spec.event))),
            other => places.value(other),
        };
        table.insert(spec.event.clone(), hooks.entry.fill(&lookup)?);
        if let Some(trust) = &hooks.trust {
            let hash = hash(&trust.identity.fill(&lookup)?);
            let with_hash =
                |place| if place == Placeholder::Hash { Some(json!(hash)) } else { lookup(place) };
            trusted.insert(trust.key.fill(&with_hash)?, trust.entry.fill(&with_hash)?);
        }
    }
    if let Some(trust) = &hooks.trust {
        table.insert(trust.under.clone(), Value::Object(trusted));
    }
    Ok(json!({ hooks.under.as_str(): table }))
}

/// Returns the time limit of an event's hook, in the vendor's unit.
fn limit(hooks: &Hooks, event: &str, permissions_wait: bool) -> u64 {
    let specs = || hooks.event.iter().filter(|spec| spec.event == event);
    let asks = |spec: &EventSpec| spec.moment == MomentWord::PermissionAsked;
    let wanted = if permissions_wait && specs().any(asks) { WAITING_HOOK_S } else { QUICK_HOOK_S };
    let seconds = specs().filter_map(|spec| spec.limit_s).fold(wanted, u64::min);
    match hooks.timeout_unit {
        TimeoutUnit::Seconds => seconds,
        TimeoutUnit::Milliseconds => seconds.saturating_mul(1000),
    }
}

/// Returns the command that the vendor's shell runs at an event.
fn command(qd: &str, event: Option<&str>) -> String {
    let qd = shell_word(qd);
    event.map_or_else(|| format!("{qd} hook"), |event| format!("{qd} hook --event {}", shell_word(event)))
}

/// Quotes a text as one shell word.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+');
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns `PreToolUse` as `pre_tool_use`.
fn underscored(event: &str) -> String {
    event.char_indices().fold(String::new(), |mut name, (at, c)| {
        if c.is_ascii_uppercase() && at > 0 {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
        name
    })
}

/// Returns SHA-256 over the JSON of an identity: keys in order, no spaces.
fn hash(identity: &Value) -> String {
    Sha256::digest(identity.to_string().as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_made_of_the_identity_with_its_keys_in_order() {
        let command = "'/opt/quarter deck/qd' hook";
        let identity = json!({ "event_name": "stop", "hooks": [{ "type": "command", "command": command, "timeout": 30, "async": false }] });
        assert_eq!(hash(&identity), "311acfbe4aeedf8181ef0a5c0a63a18df08724f4f3785cebb1bf38df34a84728");
    }

    #[test]
    fn a_shell_reads_a_word_as_it_was() {
        assert_eq!(shell_word("/usr/bin/qd"), "/usr/bin/qd");
        assert_eq!(shell_word("a b"), "'a b'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn names_of_events_are_underscored() {
        assert_eq!(underscored("UserPromptSubmit"), "user_prompt_submit");
        assert_eq!(underscored("Stop"), "stop");
    }
}
