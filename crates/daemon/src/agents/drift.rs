//! Keeps masked samples of screens about which two sources disagreed, so that a rule that no longer fits its
//! vendor can be repaired. A limited number is kept per version; the counts continue.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agents::Manifest;
use agents::sample::RecordedScreen;
use proto::Evidence;
use store::{ensure_private_dir, write_file_atomically};
use term::Screen;

use crate::clock;

/// Most samples kept of one vendor version.
const MOST_KEPT: usize = 200;
/// The file with how often which sources disagreed.
const COUNTS: &str = "counts.json";

/// Why a sample was not kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DriftError {
    #[error("{0}")]
    Place(#[from] store::PrivateDirError),
    #[error("{0}")]
    Write(#[from] store::StoreError),
    #[error("the screen cannot be recorded: {0}")]
    Record(#[from] agents::DetectError),
}

/// Keeps the screen, under the names of the two sources.
pub(crate) fn keep(
    data: &Path,
    manifest: &Manifest,
    version: Option<&str>,
    screen: &Screen,
    winner: &Evidence,
    other: &Evidence,
) -> Result<(), DriftError> {
    let (sample, _) = RecordedScreen::record(manifest, version.unwrap_or_default(), screen, None)?;
    let all = data.join("drift");
    ensure_private_dir(&all)?;
    let place = all.join(plain(&format!("{}-{}", manifest.name, version.unwrap_or("unknown"))));
    ensure_private_dir(&place)?;
    let pair = format!("{}.{}", word(winner), word(other));
    count(&place, &pair)?;
    if kept(&place) < MOST_KEPT {
        let text = format!("# {} over {}\n", describe(winner), describe(other));
        let file = place.join(plain(&format!("{}-{pair}.sample", clock::now().wall_ms)));
        write_file_atomically(&file, with_comment(&sample.to_string(), &text).as_bytes())?;
    }
    Ok(())
}

/// Adds a comment with the reason to the header, which is TOML.
fn with_comment(sample: &str, comment: &str) -> String {
    sample
        .split_once('\n')
        .map_or_else(|| sample.to_owned(), |(fence, rest)| format!("{fence}\n{comment}{rest}"))
}

fn count(place: &Path, pair: &str) -> Result<(), DriftError> {
    let path = place.join(COUNTS);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let mut counts: BTreeMap<String, u64> = serde_json::from_str(&text).unwrap_or_default();
    *counts.entry(pair.to_owned()).or_default() += 1;
    let text = serde_json::to_string_pretty(&counts).unwrap_or_default();
    Ok(write_file_atomically(&path, text.as_bytes())?)
}

fn kept(place: &Path) -> usize {
    let samples = |path: &PathBuf| path.extension().is_some_and(|end| end == "sample");
    std::fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path()).filter(samples).count()
}

fn word(evidence: &Evidence) -> String {
    let source = serde_json::to_value(evidence.source).ok();
    let source = source.as_ref().and_then(|source| source.as_str()).unwrap_or("unknown");
    format!("{source}-{}", evidence.state.map_or("hold", |state| state.word()))
}

fn describe(evidence: &Evidence) -> String {
    format!("{} ({})", word(evidence), proto::Printable(&evidence.rule))
}

/// Makes a file name out of arbitrary words.
fn plain(words: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
    words.chars().map(keep).take(120).collect::<String>().trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::AgentState;
    use proto::agent::Source;
    use std::os::unix::fs::PermissionsExt;
    use term::{GridSize, Limits};

    fn evidence(source: Source, state: AgentState) -> Evidence {
        Evidence::new(source, "rule", Some(state))
    }

    #[test]
    fn b12_a_drift_is_kept_masked_counted_and_closed_to_others() {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("data");
        std::fs::create_dir(&data).unwrap();
        let manifest = Manifest { name: "mine".to_owned(), ..Manifest::default() };
        let mut screen = Screen::new(GridSize::clamped(80, 24), Limits::default());
        screen.feed(b"token sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789 here");
        let (winner, other) =
            (evidence(Source::Hook, AgentState::Idle), evidence(Source::Screen, AgentState::Working));
        for _ in 0..2 {
            keep(&data, &manifest, Some("1.0 (x/y)"), &screen, &winner, &other).unwrap();
        }
        let place = data.join("drift/mine-1.0__x_y_");
        let counts = std::fs::read_to_string(place.join(COUNTS)).unwrap();
        assert!(counts.contains("\"hook-idle.screen-working\": 2"), "{counts}");
        for entry in std::fs::read_dir(&place).unwrap().flatten() {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            assert!(!text.contains("sk-ant-api03"), "{text}");
            assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o077, 0);
            if entry.path().extension().is_some_and(|end| end == "sample") {
                RecordedScreen::parse(&text).unwrap();
            }
        }
        assert!(kept(&place) >= 1);
    }

    #[test]
    fn f4_a_version_names_no_other_directory() {
        assert_eq!(plain("../../etc/x"), "_.._etc_x");
        assert_eq!(plain("mine-2.1"), "mine-2.1");
    }
}
