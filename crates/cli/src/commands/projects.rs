//! `qd projects` and `qd pick`: repositories and worktrees on this machine. Both need no daemon.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use daemon::{FoundProject, find_projects};
use proto::Printable;
use serde::Serialize;

use crate::context::{Context, settings};
use crate::errors::CliError;
use crate::output::{Output, Style, Table};

/// List the repositories below a directory, with their worktrees
#[derive(Debug, Args)]
pub(crate) struct ProjectsArgs {
    /// Where to look [default: the roots in config.toml, or else your home directory]
    path: Option<PathBuf>,

    /// Print paths only, one on each line
    #[arg(long)]
    raw: bool,
}

/// Choose a repository or a worktree and print its path, for example in cd "$(qd pick)"
#[derive(Debug, Args)]
pub(crate) struct PickArgs {
    /// A part of its name or path; if several match, you choose
    word: Option<String>,

    /// Where to look [default: the roots in config.toml, or else your home directory]
    #[arg(long, value_name = "DIR")]
    below: Option<PathBuf>,
}

/// One repository, as it is printed.
#[derive(Debug, Serialize)]
struct ProjectRow {
    name: String,
    key: String,
    path: String,
    is_bare: bool,
    worktrees: Vec<String>,
}

/// A checkout to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Checkout {
    name: String,
    path: PathBuf,
}

impl ProjectsArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let found = find(self.path.as_deref())?;
        if self.raw {
            checkouts(&found).iter().try_for_each(|checkout| raw_line(&mut context.out, &checkout.path))?;
            return Ok(ExitCode::SUCCESS);
        }
        let rows: Vec<ProjectRow> = found.into_iter().map(row).collect();
        context.print(&rows, |rows, out| match rows.is_empty() {
            true => out.line("no repositories; qd projects DIR looks elsewhere"),
            false => out.clipped_table(&table(rows)),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

impl PickArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let all = checkouts(&find(self.below.as_deref())?);
        let fitting = fitting(all, self.word.as_deref().unwrap_or_default());
        let chosen = match &fitting[..] {
            [] => {
                return Err(
                    CliError::usage("no repository or worktree fits").hinted("qd projects lists them")
                );
            }
            [only] => only.clone(),
            several if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() => ask(several)?,
            several => {
                let names: Vec<&str> =
                    several.iter().take(8).map(|checkout| checkout.name.as_str()).collect();
                let message = format!("{} fit: {}", several.len(), names.join(", "));
                return Err(CliError::usage(message).hinted("name one of them: qd pick WORD"));
            }
        };
        match context.json {
            true => context.out.json(&serde_json::json!({ "path": chosen.path.to_string_lossy() }))?,
            false => raw_line(&mut context.out, &chosen.path)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn find(root: Option<&Path>) -> Result<Vec<FoundProject>, CliError> {
    if let Some(root) = root.filter(|root| !root.is_dir()) {
        return Err(CliError::usage(format!("{} is no directory", Printable(&root.to_string_lossy()))));
    }
    Ok(find_projects(&settings()?.projects, root))
}

fn row(project: FoundProject) -> ProjectRow {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    ProjectRow {
        path: text(&project.path),
        worktrees: project.worktrees.iter().map(|path| text(path)).collect(),
        name: project.name,
        key: project.key,
        is_bare: project.is_bare,
    }
}

fn table(rows: &[ProjectRow]) -> Table {
    let mut table = Table::new(&["NAME", "WORKTREES", "PATH"]);
    for row in rows {
        let count = if row.worktrees.is_empty() { "-".to_owned() } else { row.worktrees.len().to_string() };
        table.row(vec![
            (row.name.clone(), Style::Bold),
            (count, Style::Plain),
            (row.path.clone(), Style::Dim),
        ]);
    }
    table
}

/// Every checkout: that of each repository, then its worktrees. A bare repository has only worktrees.
fn checkouts(projects: &[FoundProject]) -> Vec<Checkout> {
    let mut all = Vec::new();
    for project in projects {
        if !project.is_bare {
            all.push(Checkout { name: project.name.clone(), path: project.path.clone() });
        }
        for path in &project.worktrees {
            let end = path.file_name().unwrap_or_default().to_string_lossy();
            all.push(Checkout { name: format!("{} ({end})", project.name), path: path.clone() });
        }
    }
    all
}

/// The checkouts whose name is the word; otherwise those whose name or path has it in it.
fn fitting(all: Vec<Checkout>, word: &str) -> Vec<Checkout> {
    if let Some(exact) = all.iter().find(|checkout| checkout.name == word) {
        return vec![exact.clone()];
    }
    let has =
        |checkout: &Checkout| checkout.name.contains(word) || checkout.path.to_string_lossy().contains(word);
    all.into_iter().filter(has).collect()
}

/// A path with every byte of it, for programs.
fn raw_line(out: &mut Output, path: &Path) -> Result<(), CliError> {
    use std::os::unix::ffi::OsStrExt;
    let mut line = path.as_os_str().as_bytes().to_vec();
    line.push(b'\n');
    out.bytes(&line)
}

/// Asks on the terminal; standard output has only the answer.
fn ask(several: &[Checkout]) -> Result<Checkout, CliError> {
    let mut to = std::io::stderr().lock();
    let rows = several.iter().enumerate().map(|(index, checkout)| {
        let path = checkout.path.to_string_lossy();
        format!("{:>3}  {}  {}", index + 1, Printable(&checkout.name), Printable(&path))
    });
    let written = rows.into_iter().try_for_each(|row| writeln!(to, "{row}"));
    let written = written.and_then(|()| write!(to, "Which one? (number, or a part of its name) "));
    written.and_then(|()| to.flush()).map_err(CliError::io("the question"))?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(CliError::io("the answer"))?;
    answered(several, line.trim())
}

fn answered(several: &[Checkout], answer: &str) -> Result<Checkout, CliError> {
    let by_number = answer.parse::<usize>().ok().and_then(|number| several.get(number.checked_sub(1)?));
    let by_name = || match &fitting(several.to_vec(), answer)[..] {
        [only] if !answer.is_empty() => Some(only.clone()),
        _ => None,
    };
    by_number
        .cloned()
        .or_else(by_name)
        .ok_or_else(|| CliError::usage(format!("\"{}\" matches none of them, or several", Printable(answer))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(name: &str, worktrees: &[&str]) -> FoundProject {
        FoundProject {
            key: "00".to_owned(),
            name: name.to_owned(),
            path: PathBuf::from(format!("/src/{name}")),
            is_bare: false,
            worktrees: worktrees.iter().map(PathBuf::from).collect(),
        }
    }

    #[test]
    fn k12_a_checkout_is_chosen_by_its_name_a_part_of_it_or_its_number() {
        let bare = FoundProject { is_bare: true, ..project("store.git", &["/w/store--x"]) };
        let all = checkouts(&[project("api", &["/w/api--fix"]), project("web", &[]), bare]);
        let paths: Vec<&str> = all.iter().map(|checkout| checkout.path.to_str().unwrap()).collect();
        assert_eq!(paths, ["/src/api", "/w/api--fix", "/src/web", "/w/store--x"]);
        let fit = |word: &str| fitting(all.clone(), word).len();
        assert_eq!((fit("api"), fit("fix"), fit("/w/"), fit("zzz"), fit("")), (1, 1, 2, 0, 4));
        assert_eq!(answered(&all, "2").unwrap().path, PathBuf::from("/w/api--fix"));
        assert_eq!(answered(&all, "web").unwrap().path, PathBuf::from("/src/web"));
        for bad in ["0", "5", "", "/w/", "zzz"] {
            assert!(answered(&all, bad).is_err(), "{bad:?}");
        }
    }
}
