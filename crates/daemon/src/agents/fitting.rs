//! The manifest as the installed version and this machine need it.
//!
//! Chooses the patches for the version and leaves out what the program would not believe here. Finding out the version
//! is the job of `versions`.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use agents::launch::shortfalls;
use agents::{Catalogue, Manifest, Version};

/// A manifest that fits one launch.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    pub(crate) manifest: Arc<Manifest>,
    /// What the program says of its version, where that is known.
    pub(crate) version: Option<String>,
    /// What the launch lacks, one sentence each.
    pub(crate) shortfalls: Vec<String>,
}

impl Fitted {
    /// The manifest of this name for a launch whose files lie below `directory`, which need not exist yet; nothing when
    /// there is no such manifest.
    pub(crate) fn find(
        catalogue: &Catalogue,
        name: &str,
        version: Option<String>,
        directory: &Path,
    ) -> Option<Self> {
        let number = version.as_deref().and_then(Version::in_output);
        let manifest = catalogue.for_version(name, number)?;
        let is_roots_own = is_roots_own(directory);
        let shortfalls = shortfalls(&manifest, number, is_roots_own);
        let lesser = if is_roots_own { None } else { manifest.without_root_only() };
        Some(Self { manifest: lesser.map_or(manifest, Arc::new), version, shortfalls })
    }
}

/// Whether only root may write into any directory on the way to this one, which need not exist yet.
fn is_roots_own(directory: &Path) -> bool {
    let existing = directory.ancestors().filter_map(|path| std::fs::metadata(path).ok());
    existing.into_iter().all(|meta| meta.uid() == 0 && meta.mode() & 0o022 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c19_below_a_directory_that_others_may_write_to_a_launch_lacks_what_needs_root() {
        let below_tmp = tempfile::tempdir().unwrap();
        let fitted =
            |directory: &Path| Fitted::find(&Catalogue::built_in(), "gemini", None, directory).unwrap();
        let lesser = fitted(below_tmp.path());
        assert!(lesser.manifest.hooks.is_none() && lesser.manifest.mcp.is_none());
        assert_eq!(lesser.shortfalls.len(), 1);
        let whole = fitted(Path::new("/"));
        assert!(whole.manifest.hooks.is_some() && whole.shortfalls.is_empty());
    }

    #[test]
    fn c22_a_manifest_fits_what_the_program_says_of_its_version() {
        let fitted = |version: &str| {
            let version = Some(version.to_owned());
            Fitted::find(&Catalogue::built_in(), "codex", version, Path::new("/")).unwrap()
        };
        assert_eq!(fitted("codex-cli 0.150.1").manifest.argv, ["codex"]);
        assert_eq!(fitted("codex-cli 0.166.0").manifest.argv, ["codex", "--no-daemon"]);
        assert_eq!(fitted("codex-cli 0.1.0").shortfalls.len(), 1);
    }
}
