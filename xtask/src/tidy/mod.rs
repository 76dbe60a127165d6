//! `cargo xtask tidy`: the rules of this repository that no compiler checks, over every file that git would
//! commit. This file has the list of rules and prints the findings; each rule is in its own file.

mod edges;
mod guarantees;
mod names;
mod patterns;
mod protocol;
mod reach;
mod scan;
mod shape;
mod size;
mod tables;
#[cfg(test)]
mod tests;
mod tuples;
mod vendors;

use std::path::Path;

use crate::step;
use scan::Source;

/// One thing to repair, printed as `path:line: rule: what to do`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    rule: &'static str,
    advice: String,
    is_warning: bool,
}

impl Finding {
    fn error(path: &str, line: usize, rule: &'static str, advice: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, rule, advice: advice.into(), is_warning: false }
    }

    fn warning(path: &str, line: usize, rule: &'static str, advice: impl Into<String>) -> Self {
        Self { is_warning: true, ..Self::error(path, line, rule, advice) }
    }

    fn text(&self) -> String {
        let level = if self.is_warning { "warning: " } else { "" };
        format!("{}:{}: {level}{}: {}", self.path, self.line, self.rule, self.advice)
    }
}

/// Everything the rules look at: each file's path from the root, with forward slashes, and its text.
pub(crate) struct Tree {
    files: Vec<File>,
}

/// One text file; Rust files carry their scanned form as well.
pub(crate) struct File {
    path: String,
    text: String,
    source: Option<Source>,
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        let source = path.ends_with(".rs").then(|| Source::scan(path, text));
        Self { path: path.to_owned(), text: text.to_owned(), source }
    }
}

/// Checks the repository; `--bless` first writes the current protocol hash into docs/protocol.md.
pub(crate) fn command(arguments: &[String]) -> Result<(), String> {
    let root = step::root();
    let mut tree = Tree::read(&root)?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {}
        ["--bless"] => {
            protocol::bless(&root, &tree)?;
            tree = Tree::read(&root)?;
        }
        _ => return Err("the only argument is --bless".to_owned()),
    }
    let findings = check(&tree);
    for finding in &findings {
        println!("{}", finding.text());
    }
    let warnings = findings.iter().filter(|finding| finding.is_warning).count();
    println!("tidy: {} files, {warnings} warnings", tree.files.len());
    match findings.len() - warnings {
        0 => Ok(()),
        errors => Err(format!("{errors} findings to repair")),
    }
}

/// Checks all rules over one tree and returns the findings sorted by place.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        findings.extend(vendors::check(file));
        findings.extend(patterns::open_promises(file));
        if let Some(source) = &file.source {
            findings.extend(names::check(&file.path));
            findings.extend(patterns::check(source));
            findings.extend(size::check(source));
            findings.extend(tables::check(source, &file.text));
        }
    }
    findings.extend(patterns::paste_bracket_in_one_place(tree));
    findings.extend(size::check_exceptions(tree));
    findings.extend(edges::check(tree));
    findings.extend(edges::unexplained(tree));
    findings.extend(reach::check(tree));
    findings.extend(protocol::check(tree));
    findings.extend(shape::check(tree));
    findings.extend(tuples::check(tree));
    findings.extend(guarantees::check(tree));
    findings.extend(tables::check_map(tree));
    findings.sort();
    findings
}

impl Tree {
    /// Reads tracked files and new ones that are not ignored; deleted and non-text files are skipped.
    fn read(root: &Path) -> Result<Self, String> {
        let listed = step::output(step::command("git").current_dir(root).args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "-z",
        ]))?;
        let mut paths: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
        paths.sort_unstable();
        paths.dedup();
        let read =
            |path: &&str| std::fs::read_to_string(root.join(path)).ok().map(|text| File::new(path, &text));
        Ok(Self { files: paths.iter().filter_map(read).collect() })
    }

    fn find(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    fn sources(&self) -> impl Iterator<Item = &Source> {
        self.files.iter().filter_map(|file| file.source.as_ref())
    }
}
