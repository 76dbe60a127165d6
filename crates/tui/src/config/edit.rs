//! Changes one setting in the text of `tui.toml` and leaves everything else as the person wrote it.

use std::path::Path;

use super::{Config, FILE};

/// Writes a setting of the top level. The file stays as it was when the result would not read.
pub(crate) fn keep(directory: &Path, name: &str, value: &str) -> Result<Config, String> {
    // A link, as into dotfiles, stays: the file that it leads to is changed.
    let path = directory.join(FILE);
    let path = path.canonicalize().unwrap_or(path);
    let fault = |error: std::io::Error| format!("{}: {error}", path.display());
    let text = match client::read_plain_file(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(fault(error)),
    };
    let text = with(&text, name, value);
    let config = Config::parse(&text, directory).map_err(|error| format!("{}: {error}", path.display()))?;
    let part = path.with_extension("part");
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(&part, text))
        .and_then(|()| std::fs::rename(&part, &path))
        .map_err(fault)?;
    Ok(config)
}

/// The text with `name = value` before its first table.
fn with(text: &str, name: &str, value: &str) -> String {
    let line = format!("{name} = {value}");
    let end = text.lines().position(|line| line.trim_start().starts_with('[')).unwrap_or(usize::MAX);
    let is_it =
        |(at, old): (usize, &str)| at < end && old.split_once('=').is_some_and(|(key, _)| key.trim() == name);
    let mut lines: Vec<&str> = text.lines().collect();
    match text.lines().enumerate().position(is_it) {
        Some(at) => {
            // A list may go on in the lines below.
            let is_open = |lines: &[&str]| {
                let text = lines.concat();
                text.matches('[').count() > text.matches(']').count()
            };
            let mut last = at + 1;
            while is_open(&lines[at..last]) && last < lines.len() {
                last += 1;
            }
            lines.splice(at..last, [line.as_str()]);
        }
        None => lines.insert(0, &line),
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_setting_changes_and_everything_else_stays() {
        let text = "# mine\ntheme = 'dark' \nprefix = [\n  'ctrl-a', # one\n  'ctrl-b',\n]\n[keys.deck]\nzoom = 'f'\n";
        let light = with(text, "theme", "'light'");
        assert_eq!(light, text.replace("theme = 'dark' ", "theme = 'light'"));
        assert_eq!(with(text, "mouse", "false"), format!("mouse = false\n{text}"));
        let prefix = with(text, "prefix", "'ctrl-]'");
        assert_eq!(prefix, "# mine\ntheme = 'dark' \nprefix = 'ctrl-]'\n[keys.deck]\nzoom = 'f'\n");
    }

    #[test]
    fn m8_a_link_into_dotfiles_stays_a_link_when_a_setting_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let (link, real) = (directory.path().join(FILE), directory.path().join("real.toml"));
        std::fs::write(&real, "theme = 'dark'\n").unwrap();
        std::os::unix::fs::symlink("real.toml", &link).unwrap();
        keep(directory.path(), "mouse", "false").unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "mouse = false\ntheme = 'dark'\n");
    }

    #[test]
    fn a_file_that_would_not_read_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE);
        std::fs::write(&path, "them = 'dark'\n").unwrap();
        assert!(keep(directory.path(), "mouse", "false").unwrap_err().contains("them"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "them = 'dark'\n");
        std::fs::remove_file(&path).unwrap();
        assert!(!keep(directory.path(), "mouse", "false").unwrap().looks.has_mouse);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mouse = false\n");
    }
}
