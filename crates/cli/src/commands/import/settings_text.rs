//! Adding tables to the text of `config.toml` without changing what a person wrote there.

use std::io;
use std::path::Path;

/// Returns the old text with the tables of `more` that it lacks behind it, and the names of those that it has.
pub(super) fn added(old: &str, more: &str) -> (String, Vec<String>) {
    let known: toml::Table = old.parse().unwrap_or_default();
    let (mut text, mut taken) = (old.to_owned(), Vec::new());
    for table in more.split_inclusive("\n\n") {
        let name = table.trim_start_matches('[').split(']').next().unwrap_or_default();
        if known.contains_key(name) {
            taken.push(name.to_owned());
            continue;
        }
        let gap = match text.as_str() {
            "" => "",
            text if text.ends_with("\n\n") => "",
            text if text.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        text.push_str(gap);
        text.push_str(table.trim_end());
        text.push('\n');
    }
    (text, taken)
}

/// Replaces a file in one step; its directory is made if it is missing.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let part = path.with_extension("part");
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(&part, text)?;
    std::fs::rename(&part, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MORE: &str = "[tasks]\nroot = \"/w\"\n\n[projects]\ndepth = 3\n";

    #[test]
    fn k11_tables_are_added_behind_what_a_person_wrote() {
        let (text, taken) = added("# mine\nhistory = 5", MORE);
        assert_eq!(text, format!("# mine\nhistory = 5\n\n{MORE}"));
        assert!(taken.is_empty());
        assert_eq!(added("", MORE).0, MORE);
    }

    #[test]
    fn k11_a_table_that_is_there_stays_as_it_is() {
        let old = "[projects]\ndepth = 9\n";
        let (text, taken) = added(old, MORE);
        assert_eq!(text, format!("{old}\n[tasks]\nroot = \"/w\"\n"));
        assert_eq!(taken, ["projects"]);
    }
}
