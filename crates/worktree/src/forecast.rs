//! Which branches would conflict with each other or with their base, found by merging them in memory: no checkout, no
//! reference and no object of the repository is touched.

use std::collections::{BTreeSet, HashMap};

use crate::error::{GitError, Result};
use crate::git::GitInput;
use crate::oid::Oid;
use crate::repository::Repository;
use crate::temporary::TemporaryDirectory;

/// Two commits, the smaller name first.
type Pair = (Oid, Oid);

/// Two commits and the files in which they conflict; none if they do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForecastPair {
    /// The name of the one.
    pub one: String,
    /// The name of the other.
    pub other: String,
    /// The files that a person would have to look at.
    pub files: Vec<String>,
}

/// Remembers pairs of commits that were judged. A pair never changes, so nothing in it grows old; the caller keeps it for as
/// long as it likes.
#[derive(Debug, Clone, Default)]
pub struct ForecastCache {
    pairs: HashMap<Pair, Vec<String>>,
    /// What a commit (the second) has changed since it left another.
    changes: HashMap<Pair, BTreeSet<String>>,
}

impl ForecastCache {
    /// Returns how many pairs are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns true if no pair is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}

impl Repository {
    /// Judges every pair of `commits` (names and commits, the base among them) and returns those that conflict. Only pairs
    /// that the cache lacks are merged, all by one git process.
    ///
    /// # Errors
    /// git cannot be run, or a commit is gone.
    pub fn forecast(
        &self,
        commits: &[(String, Oid)],
        cache: &mut ForecastCache,
    ) -> Result<Vec<ForecastPair>> {
        let pairs: Vec<[&(String, Oid); 2]> = commits
            .iter()
            .enumerate()
            .flat_map(|(index, one)| commits[index + 1..].iter().map(move |other| [one, other]))
            .collect();
        let mut unknown: Vec<Pair> = pairs.iter().map(|[one, other]| key(&one.1, &other.1)).collect();
        unknown.retain(|pair| pair.0 != pair.1 && !cache.pairs.contains_key(pair));
        unknown.sort();
        unknown.dedup();
        for (pair, files) in self.merge_pairs(unknown)? {
            cache.pairs.insert(pair, files);
        }
        let conflict = |[(one, first), (other, second)]: &[&(String, Oid); 2]| {
            let files = cache.pairs.get(&key(first, second)).filter(|files| !files.is_empty())?;
            Some(ForecastPair { one: one.clone(), other: other.clone(), files: files.clone() })
        };
        Ok(pairs.iter().filter_map(conflict).collect())
    }

    /// Returns the files that `head` has changed since it left `base`, from the cache if it knows them.
    ///
    /// # Errors
    /// git cannot be run, or the two have no common beginning.
    pub fn changed_files<'a>(
        &self,
        base: &Oid,
        head: &Oid,
        cache: &'a mut ForecastCache,
    ) -> Result<&'a BTreeSet<String>> {
        let pair = (base.clone(), head.clone());
        if !cache.changes.contains_key(&pair) {
            let options = ["-r", "-z", "--name-only", "--no-renames", "--merge-base"];
            let call = self.read("diff-tree").args(options).names([base.as_str(), head.as_str()]);
            let printed = call.run()?;
            let names = printed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
            let names = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
            cache.changes.insert(pair.clone(), names);
        }
        Ok(cache.changes.entry(pair).or_default())
    }

    fn merge_pairs(&self, pairs: Vec<Pair>) -> Result<Vec<(Pair, Vec<String>)>> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        let directory = TemporaryDirectory::new()?;
        let input: String = pairs.iter().map(|(one, other)| format!("{one} {other}\n")).collect();
        let options =
            ["--write-tree", "--stdin", "--name-only", "--no-messages", "--allow-unrelated-histories"];
        let call = self.read("merge-tree").args(options).input(GitInput::Bytes(input.into_bytes()));
        let printed = directory.quarantine(call, self.directory()).run()?;
        let results = parse_merges(&printed).filter(|results| results.len() == pairs.len());
        let unreadable =
            || GitError::Unreadable { command: "merge-tree".to_owned(), detail: "its results".to_owned() };
        Ok(pairs.into_iter().zip(results.ok_or_else(unreadable)?).collect())
    }
}

/// The same pair in either order is one pair.
fn key(one: &Oid, other: &Oid) -> Pair {
    if one <= other { (one.clone(), other.clone()) } else { (other.clone(), one.clone()) }
}

/// Reads the results of `git merge-tree --stdin --name-only --no-messages`: for each merge its status (1 if it is clean), the
/// tree, the files in conflict, each ended by NUL, and one more NUL.
#[must_use]
pub fn parse_merges(printed: &[u8]) -> Option<Vec<Vec<String>>> {
    let mut fields = printed.split(|byte| *byte == 0);
    let mut results = Vec::new();
    loop {
        let is_clean = match fields.next()? {
            b"1" => true,
            b"0" => false,
            [] if fields.next().is_none() => return Some(results),
            _ => return None,
        };
        Oid::parse(&String::from_utf8_lossy(fields.next()?)).ok()?;
        let files: Vec<String> = fields
            .by_ref()
            .take_while(|field| !field.is_empty())
            .map(|field| String::from_utf8_lossy(field).into_owned())
            .collect();
        if is_clean != files.is_empty() {
            return None;
        }
        results.push(files);
    }
}
