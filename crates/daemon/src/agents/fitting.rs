//! Chooses the manifest for the installed version and this machine: applies the patches for the version and
//! leaves out the files that the program would not read here. `versions` finds out the version.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use agents::launch::shortfalls;
use agents::{Catalogue, Manifest, Version};

/// A manifest that fits one launch.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    pub(crate) manifest: Arc<Manifest>,
    /// The version that the program reports, where it is known.
    pub(crate) version: Option<String>,
    /// What the launch lacks, one sentence each.
    pub(crate) shortfalls: Vec<String>,
}

impl Fitted {
    /// Returns the manifest of this name for a launch whose files are below `directory`, which need not exist
    /// yet; `None` when there is no such manifest.
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

/// Returns true if only root may write into every directory on the way to this one, which need not exist yet.
fn is_roots_own(directory: &Path) -> bool {
    let existing = directory.ancestors().filter_map(|path| std::fs::metadata(path).ok());
    existing.into_iter().all(|meta| meta.uid() == 0 && meta.mode() & 0o022 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::Layer;

    const FILE: &str = "argv = ['mine', '--new']\ntried = { oldest = '1.0', newest = '3.0' }\n\
        [mcp]\ninject = 'config_env'\nvariable = 'V'\nfile = 'f.json'\nonly_as_root = true\ndocument = { a = 'b' }\n\
        [[version]]\nid = 'without-new'\nbefore = '2.0'\npatch = { argv = ['mine'] }\n";

    fn fitted(version: Option<&str>, directory: &Path) -> Fitted {
        let files = vec![("mine".to_owned(), FILE.to_owned())];
        let (catalogue, problems) = Catalogue::merged(&[Layer { origin: "user".to_owned(), files }]);
        assert_eq!(problems, []);
        Fitted::find(&catalogue, "mine", version.map(str::to_owned), directory).unwrap()
    }

    #[test]
    fn c19_below_a_directory_that_others_may_write_to_a_launch_lacks_what_needs_root() {
        let below_tmp = tempfile::tempdir().unwrap();
        let lesser = fitted(None, below_tmp.path());
        assert!(lesser.manifest.mcp.is_none());
        assert_eq!(lesser.shortfalls.len(), 1);
        let whole = fitted(None, Path::new("/"));
        assert!(whole.manifest.mcp.is_some() && whole.shortfalls.is_empty());
    }

    #[test]
    fn c22_a_manifest_fits_what_the_program_says_of_its_version() {
        let of = |version: &str| fitted(Some(version), Path::new("/"));
        assert_eq!(of("mine-cli 1.5.1").manifest.argv, ["mine"]);
        assert_eq!(of("2.0.0 (Mine)").manifest.argv, ["mine", "--new"]);
        assert_eq!((of("mine 0.9").shortfalls.len(), of("mine 9.0").shortfalls.len()), (1, 0));
    }
}
