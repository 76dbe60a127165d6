//! Builds the manifest that one version of the program needs: merges the patches of the matching
//! `[[version]]` entries over it. The caller finds out the installed version.

use toml::{Table, Value};

use crate::Manifest;
use crate::merge;
use crate::version::{Version, VersionSpec};

/// Returns the manifest for `version`; `None` when no entry covers that version.
pub(crate) fn of_version(manifest: &Manifest, table: &Table, version: Version) -> Option<Manifest> {
    let matching: Vec<&VersionSpec> = manifest.version.iter().filter(|spec| spec.covers(version)).collect();
    if matching.is_empty() {
        return None;
    }
    // Each entry was checked alone when the file was read; together they could still contradict each other.
    let mut patched = patched(&manifest.name, table, &matching).ok()?;
    patched.version = matching.into_iter().cloned().collect();
    Some(patched)
}

/// Returns the faults of the `[[version]]` entries: the id of each entry and the reason.
pub(crate) fn faults(manifest: &Manifest, table: &Table) -> Vec<(String, String)> {
    let fault = |spec: &VersionSpec| {
        let reason = spec.fault().or_else(|| patched(&manifest.name, table, &[spec]).err())?;
        Some((spec.id.clone(), format!("{}: {reason}", spec.id)))
    };
    manifest.version.iter().filter_map(fault).collect()
}

fn patched(name: &str, table: &Table, specs: &[&VersionSpec]) -> Result<Manifest, String> {
    let mut table = table.clone();
    table.remove("version");
    for spec in specs {
        for key in &spec.without {
            // A table that does not exist is probably a typing error.
            table.remove(key).ok_or_else(|| format!("the manifest has no `{key}` to go without"))?;
        }
        merge::merge_into(&mut table, spec.patch.clone());
    }
    merge::without_disabled(&mut table);
    let mut manifest: Manifest =
        Value::Table(table).try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
    name.clone_into(&mut manifest.name);
    match manifest.contradictions().into_iter().next() {
        Some(contradiction) => Err(contradiction.reason),
        None => Ok(manifest),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::catalogue::{Catalogue, Layer};

    const FILE: &str = "argv = ['mine', '--new']\n\
        [[rule]]\nid = 'r'\nregion = 'title'\npattern = 'x'\nverdict = 'idle'\n\
        [[version]]\nid = 'no-flag'\nbefore = '2.0'\npatch = { argv = ['mine'] }\n\
        [[version]]\nid = 'no-rule'\nfrom = '1.5'\nbefore = '1.8'\n\
        [[version.patch.rule]]\nid = 'r'\ndisabled = true\n";

    fn manifest(version: &str) -> Arc<Manifest> {
        let files = vec![("mine".to_owned(), FILE.to_owned())];
        let (catalogue, problems) = Catalogue::merged(&[Layer { origin: "user".to_owned(), files }]);
        assert_eq!(problems, []);
        catalogue.for_version("mine", version.parse().ok()).unwrap()
    }

    #[test]
    fn c22_a_version_gets_the_patches_of_every_range_it_lies_in() {
        let seen = ["1.0", "1.6", "2.0", "unknown"].map(|version| {
            let manifest = manifest(version);
            (manifest.argv.len(), manifest.rule.len())
        });
        assert_eq!(seen, [(1, 1), (1, 0), (2, 1), (2, 1)]);
    }

    #[test]
    fn c22_a_version_goes_without_the_tables_it_does_not_have() {
        let file = "argv = ['mine']\n[context]\ndefault = 5\n\
            [[version]]\nid = 'old'\nbefore = '2.0'\nwithout = ['context']\n";
        let layer = |text: &str| Layer {
            origin: "user".to_owned(),
            files: vec![("mine".to_owned(), text.to_owned())],
        };
        let (catalogue, problems) = Catalogue::merged(&[layer(file)]);
        assert_eq!(problems, []);
        let has_context =
            |version: &str| catalogue.for_version("mine", version.parse().ok()).unwrap().context.is_some();
        assert!(!has_context("1.0") && has_context("2.0"));
        let (_, problems) = Catalogue::merged(&[layer(&file.replace("['context']", "['server']"))]);
        assert!(problems[0].reason.contains("has no `server`"), "{problems:?}");
    }

    #[test]
    fn c22_every_patch_of_a_shipped_manifest_makes_a_sound_one() {
        let catalogue = Catalogue::built_in();
        for name in catalogue.names() {
            for spec in &catalogue.get(name).unwrap().version {
                let tried = spec.from.or(catalogue.get(name).unwrap().tried.oldest).unwrap();
                assert!(spec.covers(tried), "{name}: {} is about no version that was tried", spec.id);
                assert_ne!(catalogue.for_version(name, Some(tried)), catalogue.get(name).cloned(), "{name}");
            }
        }
    }
}
