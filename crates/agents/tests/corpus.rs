//! Every recorded screen has the result in its header, every rule is covered by a recording, and a broken
//! rule is noticed.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in the functions it calls too"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agents::detect::Pattern;
use agents::sample::{Expectation, Origin, RecordedScreen};
use agents::{Catalogue, Manifest};
use proto::agent::Composer;

/// Matches nothing.
const NEVER: &str = r"[^\s\S]";
/// Manifests whose rules must be covered by screens of the program itself.
const PROVEN: [&str; 4] = ["claude", "codex", "opencode", "gemini"];

struct Recording {
    path: PathBuf,
    sample: RecordedScreen,
}

fn corpus() -> Vec<Recording> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let mut paths: Vec<PathBuf> = entries(&root).iter().flat_map(|directory| entries(directory)).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let sample =
                RecordedScreen::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            Recording { path, sample }
        })
        .collect()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn by_manifest(corpus: &[Recording]) -> BTreeMap<&str, Vec<&Recording>> {
    let mut groups: BTreeMap<&str, Vec<&Recording>> = BTreeMap::new();
    for recording in corpus {
        groups.entry(&recording.sample.header.manifest).or_default().push(recording);
    }
    groups
}

fn outcome(recording: &Recording, manifest: &Manifest) -> Expectation {
    recording.sample.outcome(manifest).unwrap_or_else(|error| panic!("{}: {error}", manifest.name))
}

fn disagreements<'a>(recordings: &[&'a Recording], manifest: &Manifest) -> Vec<&'a Recording> {
    let wrong = |recording: &&&Recording| outcome(recording, manifest) != recording.sample.header.expect;
    recordings.iter().filter(wrong).copied().collect()
}

#[test]
fn every_recording_means_what_its_header_says() {
    let (corpus, catalogue) = (corpus(), Catalogue::built_in());
    let mut wrong = String::new();
    for (name, recordings) in by_manifest(&corpus) {
        let manifest = catalogue.get(name).unwrap_or_else(|| panic!("there is no manifest {name}"));
        for recording in disagreements(&recordings, manifest) {
            let outcome = outcome(recording, manifest);
            if std::env::var_os("QD_BLESS").is_some() {
                let mut sample = recording.sample.clone();
                sample.header.expect = outcome;
                std::fs::write(&recording.path, sample.to_string()).unwrap();
                continue;
            }
            let expected = &recording.sample.header.expect;
            wrong += &format!("\n{}\nexpected:\n{expected}found:\n{outcome}", recording.path.display());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Views of programs into which a message must never be typed, recorded from the programs themselves. goose has no shell mode.
const VIEWS: [(&str, &[&str]); 8] = [
    (
        "claude",
        &[
            "shell-mode",
            "shell-draft",
            "agents-view",
            "agents-view-text",
            "history-search",
            "history-search-text",
            "resume-picker",
            "editor",
            "model-picker",
            "settings",
            "transcript",
        ],
    ),
    (
        "codex",
        &[
            "shell-mode",
            "shell-draft",
            "history-search",
            "history-search-text",
            "resume-picker",
            "editor",
            "model-picker",
        ],
    ),
    (
        "gemini",
        &[
            "shell-mode",
            "shell-draft",
            "history-search",
            "history-search-text",
            "resume-picker",
            "settings",
            "theme-picker",
            "model",
        ],
    ),
    (
        "opencode",
        &["shell-mode", "shell-draft", "session-list", "timeline", "editor", "rename", "commands", "models"],
    ),
    (
        "copilot",
        &[
            "shell-mode",
            "shell-draft",
            "shell-mode-bar",
            "shell-draft-bar",
            "shell-mode-bar-60x18",
            "shell-draft-bar-60x18",
            "history-search",
            "history-search-text",
            "resume-picker",
            "sessions-tab",
            "model-picker",
            "editor",
            "sidebar",
            "sidebar-used",
            "shortcuts",
        ],
    ),
    ("qwen", &["model"]),
    ("goose", &["history-search", "history-search-text", "editor"]),
    ("aider", &["shell-draft", "history-search", "history-search-text", "editor"]),
];

#[test]
fn c17_no_view_of_a_vendor_is_taken_for_a_composer_that_takes_prompts() {
    let (corpus, catalogue) = (corpus(), Catalogue::built_in());
    for (name, views) in VIEWS {
        for view in views {
            let file = format!("{name}/{view}.screen");
            let recording = corpus.iter().find(|recording| recording.path.ends_with(&file));
            let recording = recording.unwrap_or_else(|| panic!("{file} is missing"));
            assert_eq!(recording.sample.header.origin, Origin::Real, "{file}");
            let expected = if view.starts_with("shell") { Composer::Shell } else { Composer::Unknown };
            assert_eq!(outcome(recording, catalogue.get(name).unwrap()).composer, expected, "{file}");
        }
    }
}

#[test]
fn the_corpus_is_wide_enough() {
    let (corpus, catalogue) = (corpus(), Catalogue::built_in());
    assert!(corpus.len() >= 60, "{} recordings", corpus.len());
    let groups = by_manifest(&corpus);
    for name in catalogue.names() {
        assert!(groups.contains_key(name), "{name} has no recording");
    }
    for name in PROVEN {
        let real =
            groups[name].iter().filter(|recording| recording.sample.header.origin == Origin::Real).count();
        assert!(real >= 10, "{name} has {real} recordings of the program itself");
    }
    for size in [(80, 24), (200, 50)] {
        assert!(corpus.iter().any(|recording| recording.sample.header.size == size), "none of {size:?}");
    }
}

#[test]
fn a_recording_lies_where_its_header_says() {
    for recording in corpus() {
        let directory = recording.path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        assert_eq!(
            directory,
            Some(recording.sample.header.manifest.as_str()),
            "{}",
            recording.path.display()
        );
    }
}

#[test]
fn no_recording_has_a_secret_in_it() {
    for recording in corpus() {
        for row in &recording.sample.rows {
            assert_eq!(agents::sample::mask(row).1, 0, "{}: {row}", recording.path.display());
        }
    }
}

/// Returns a manifest with one of its rules broken, and the name of what is broken.
fn broken(manifest: &Manifest) -> Vec<(String, Manifest)> {
    let never = || Pattern::new(NEVER).unwrap();
    let mut variants = Vec::new();
    let mut variant = |what: String, damage: &dyn Fn(&mut Manifest)| {
        let mut copy = manifest.clone();
        damage(&mut copy);
        variants.push((what, copy));
    };
    for (index, rule) in manifest.rule.iter().enumerate() {
        // The message's capture stays, otherwise the manifest would be refused before it is tried.
        let pattern = rule.message.as_ref().map_or(NEVER.to_owned(), |name| format!("(?<{name}>{NEVER})"));
        let pattern = Pattern::new(&pattern).unwrap();
        variant(format!("rule {}", rule.id), &|copy| copy.rule[index].pattern = pattern.clone());
    }
    for (index, dialog) in manifest.dialog.iter().enumerate() {
        variant(format!("dialog {}", dialog.id), &|copy| copy.dialog[index].anchors = vec![never()]);
        variant(format!("title of {}", dialog.id), &|copy| copy.dialog[index].title = never());
        if !dialog.names.is_empty() {
            variant(format!("names of {}", dialog.id), &|copy| copy.dialog[index].names.clear());
        }
    }
    for (index, background) in manifest.background.iter().enumerate() {
        variant(format!("background {}", background.id), &|copy| copy.background[index].pattern = never());
    }
    if let Some(composer) = &manifest.composer {
        variant("composer".to_owned(), &|copy| copy.composer = None);
        if composer.shell.is_some() {
            variant("shell mode".to_owned(), &|copy| {
                copy.composer.as_mut().unwrap().shell = None;
            });
        }
    }
    variants
}

#[test]
fn a_broken_rule_is_noticed_by_the_corpus() {
    let (corpus, catalogue) = (corpus(), Catalogue::built_in());
    let mut unnoticed = Vec::new();
    for (name, recordings) in by_manifest(&corpus) {
        for (what, manifest) in broken(catalogue.get(name).unwrap()) {
            let is_noticed = recordings
                .iter()
                .any(|recording| outcome(recording, &manifest) != recording.sample.header.expect);
            if !is_noticed {
                unnoticed.push(format!("{name}: {what}"));
            }
        }
    }
    assert!(unnoticed.is_empty(), "no recording depends on:\n{}", unnoticed.join("\n"));
}

#[test]
fn what_is_left_of_a_screen_without_its_chrome_is_what_was_said() {
    let (corpus, catalogue) = (corpus(), Catalogue::built_in());
    let text = |name: &str, of: &str| {
        let recording =
            corpus.iter().find(|recording| recording.path.ends_with(format!("{name}/{of}.screen"))).unwrap();
        let text = recording.sample.screen().text(term::Wraps::Keep);
        agents::trim(catalogue.get(name).unwrap(), &text)
    };
    for (name, chrome) in [
        ("claude", "? for shortcuts"),
        ("codex", "? for shortcuts"),
        ("opencode", "ctrl+p commands"),
        ("gemini", "workspace (/directory)"),
    ] {
        let trimmed = text(name, "done");
        assert!(trimmed.contains("script done"), "{name}: {trimmed}");
        assert!(!trimmed.contains(chrome), "{name}: {trimmed}");
    }
}
