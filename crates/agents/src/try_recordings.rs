//! Tries a manifest on recordings: which of them give another result than expected, and which rules no
//! recording needs.

use std::collections::BTreeSet;

use proto::agent::Composer;

use crate::Manifest;
use crate::sample::{Expectation, RecordedScreen};

/// The result of a trial, one sentence each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trial {
    /// Recordings with another result than expected, and texts that are not recordings.
    pub disagreements: Vec<String>,
    /// Rules, dialogs and the composer that decided no recording.
    pub unused: Vec<String>,
}

/// Tries a manifest on recordings, given by name and text.
#[must_use]
pub fn try_on(manifest: &Manifest, recordings: &[(&str, &str)]) -> Trial {
    let mut try_recordings = Trial::default();
    let (mut deciding, mut has_composer) = (BTreeSet::new(), false);
    for (name, text) in recordings {
        let found = RecordedScreen::parse(text)
            .map_err(|error| error.to_string())
            .and_then(|sample| Ok((sample.outcome(manifest).map_err(|error| error.to_string())?, sample)));
        let (outcome, sample) = match found {
            Ok(found) => found,
            Err(why) => {
                try_recordings.disagreements.push(format!("{name}: {why}"));
                continue;
            }
        };
        try_recordings
            .disagreements
            .extend(difference(&sample.header.expect, &outcome).map(|what| format!("{name}: {what}")));
        has_composer |= outcome.composer != Composer::default();
        deciding.extend([outcome.rule, outcome.title_rule, outcome.dialog].into_iter().flatten());
    }
    if !recordings.is_empty() {
        try_recordings.unused = unused(manifest, &deciding, has_composer);
    }
    try_recordings
}

/// Returns the difference between the expected and the actual result, if there is one.
fn difference(expected: &Expectation, found: &Expectation) -> Option<String> {
    let words = |of: &Expectation| {
        let decided = of.dialog.as_ref().or(of.rule.as_ref()).or(of.title_rule.as_ref());
        format!("{} by {}, composer {:?}", of.state, decided.map_or("no rule", String::as_str), of.composer)
    };
    (expected != found)
        .then(|| format!("it expects {}; the manifest finds {}", words(expected), words(found)))
}

fn unused(manifest: &Manifest, deciding: &BTreeSet<String>, has_composer: bool) -> Vec<String> {
    let rules = manifest.rule.iter().map(|rule| ("rule", &rule.id));
    let dialogs = manifest.dialog.iter().map(|dialog| ("dialog", &dialog.id));
    let idle = rules.chain(dialogs).filter(|(_, id)| !deciding.contains(*id));
    let mut unused: Vec<String> =
        idle.map(|(what, id)| format!("the {what} `{id}` decided none of these recordings")).collect();
    if manifest.composer.is_some() && !has_composer {
        unused.push("the composer was found in none of these recordings".to_owned());
    }
    unused
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalogue, Layer};

    const SCREEN: &str = "+++\nmanifest = \"own\"\nsize = [40, 4]\norigin = \"synthetic\"\n\n[expect]\nstate = \"working\"\nrule = \"busy\"\n+++\nspinning...\n";

    fn manifest(rules: &str) -> std::sync::Arc<Manifest> {
        let text = format!("argv = [\"own\"]\n{rules}");
        let layer = Layer { origin: "a test".to_owned(), files: vec![("own".to_owned(), text)] };
        let (catalogue, problems) = Catalogue::merged(&[layer]);
        assert_eq!(problems, []);
        catalogue.get("own").cloned().unwrap()
    }

    const BUSY: &str =
        "[[rule]]\nid = \"busy\"\nregion = \"whole\"\npattern = 'spinning'\nverdict = \"working\"\n";
    const NEVER: &str =
        "[[rule]]\nid = \"never\"\nregion = \"whole\"\npattern = 'never there'\nverdict = \"idle\"\n";

    #[test]
    fn m23_a_rule_that_decides_no_recording_is_named() {
        let try_recordings = try_on(&manifest(&format!("{BUSY}{NEVER}")), &[("one", SCREEN)]);
        assert_eq!(try_recordings.disagreements, Vec::<String>::new());
        assert_eq!(try_recordings.unused, ["the rule `never` decided none of these recordings"]);
    }

    #[test]
    fn m23_a_recording_that_is_read_otherwise_is_named_with_what_was_found() {
        let try_recordings = try_on(&manifest(NEVER), &[("one", SCREEN), ("two", "no recording")]);
        assert_eq!(try_recordings.disagreements.len(), 2, "{try_recordings:?}");
        let expected =
            "one: it expects working by busy, composer Unknown; the manifest finds unknown by no rule";
        assert!(try_recordings.disagreements[0].starts_with(expected), "{try_recordings:?}");
        assert!(try_recordings.disagreements[1].starts_with("two: "), "{try_recordings:?}");
    }

    #[test]
    fn m23_without_recordings_nothing_is_called_unused() {
        assert_eq!(try_on(&manifest(NEVER), &[]), Trial::default());
    }
}
