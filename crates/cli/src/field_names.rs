//! Maps the daemon's field names to the command line's: a person has typed `--grace`, never `grace_ms`.

/// A field of a request, and its flag. Longer names come first where one begins with another.
const NAMES: &[(&str, &str)] = &[
    ("as_me", "--as-me"),
    ("auto_restart", "--auto-restart"),
    ("base_env_hex", "the environment"),
    ("base_env", "the environment"),
    ("created_at", "the time in the ledger"),
    ("detach_keys", "--detach-keys"),
    ("dry_run", "--dry-run"),
    ("ended_at", "the time in the ledger"),
    ("expected_revision", "--expect"),
    ("expires_ms", "--expires"),
    ("grace_ms", "--grace"),
    ("idle_timeout_ms", "--idle-timeout"),
    ("keep_background", "--keep-background"),
    ("max_wait_ms", "--max-wait"),
    ("on_timeout", "--on-timeout"),
    ("permissions.timeout_ms", "--permission-wait"),
    ("read_only", "--read-only"),
    ("ready.pattern", "--ready-pattern"),
    ("ready.port", "--ready-port"),
    ("since_ms", "--since"),
    ("since_version", "--since-version"),
    ("started_at", "the time in the ledger"),
    ("take_over", "--take-over"),
    ("timeout_ms", "--timeout"),
    ("wait_ms", "--wait"),
    ("wall_ms", "minutes"),
    ("working_dir", "--cwd"),
];

/// Fields whose flag has another name; they count only where a message begins with them.
const OTHER_FLAGS: &[(&str, &str)] = &[("owner", "--for: "), ("target", "")];

/// Fields that are flags under their own name; they count only where a message begins with them.
const FLAGS: &[&str] = &[
    "budget", "cwd", "env", "from", "key", "kind", "label", "limit", "mode", "model", "option", "pattern",
    "preset", "restore", "session", "signal", "silence", "since", "size", "state", "tail", "turn", "until",
];

/// Replaces every field of a message by its flag. Words in backquotes stay: they are keys of a file, or commands.
pub(crate) fn with_flag_names(message: &str) -> String {
    let begun = match message.split_once(": ") {
        Some((field, rest)) if FLAGS.contains(&field) => format!("--{field}: {rest}"),
        Some((field, rest)) => match OTHER_FLAGS.iter().find(|(other, _)| *other == field) {
            Some((_, name)) => format!("{name}{rest}"),
            None => message.to_owned(),
        },
        None => message.to_owned(),
    };
    NAMES.iter().fold(begun, |message, (field, name)| replace_word(&message, field, name))
}

/// Replaces a word wherever it stands alone.
fn replace_word(message: &str, word: &str, by: &str) -> String {
    let is_inside = |character: char| character.is_alphanumeric() || matches!(character, '_' | '.' | '-');
    let (mut out, mut rest) = (String::with_capacity(message.len()), message);
    while let Some(at) = rest.find(word) {
        let (before, found) = rest.split_at(at);
        let after = found.get(word.len()..).unwrap_or_default();
        let goes_on = after.chars().next().is_some_and(|next| is_inside(next) && next != '.');
        let is_quoted = before.ends_with('`') && after.starts_with('`');
        let is_alone = !before.ends_with(is_inside) && !goes_on && !is_quoted;
        out.push_str(before);
        out.push_str(if is_alone { by } else { word });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
