//! Measures this crate beside plain git and prints one figure on each line: row, who, seconds or count, with tabs between.
//! `cargo xtask bench --only worktree` runs it.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that fails has no figure")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use worktree::{
    BranchName, CreateRequest, Git, References, Repository, StartPoint, StatusCache, StatusQuery,
};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let root = PathBuf::from(arguments.next().unwrap());
    let is_quick = arguments.next().is_some();
    let bench = Bench::new(&root);
    let (files, rounds) = if is_quick { (5_000, 3) } else { (50_000, 9) };
    bench.status(files, rounds);
    bench.create(rounds);
    bench.tasks(rounds);
}

struct Bench {
    root: PathBuf,
    environment: Vec<(OsString, OsString)>,
    git: Git,
}

impl Bench {
    fn new(root: &Path) -> Self {
        std::fs::create_dir_all(root.join("home")).unwrap();
        let config = "[user]\nname = B\nemail = b@example.org\n[init]\ndefaultBranch = main\n";
        std::fs::write(root.join("home/.gitconfig"), config).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let environment = vec![("PATH".into(), path), ("HOME".into(), root.join("home").into())];
        let git = Git::new("git", environment.clone()).unwrap();
        Self { root: root.to_owned(), environment, git }
    }

    fn plain(&self, directory: &Path, arguments: &[&str]) {
        let mut command = Command::new("git");
        command
            .current_dir(directory)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        assert!(command.args(arguments).output().unwrap().status.success(), "git {arguments:?}");
    }

    /// Returns a repository with `files` files, a hundred in each directory.
    fn repository(&self, name: &str, files: usize) -> PathBuf {
        let path = self.root.join(name);
        for number in 0..files {
            let directory = path.join(format!("dir{:03}/sub{}", number / 100, number / 100 % 7));
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join(format!("file{number}.txt")), format!("content {number}\n"))
                .unwrap();
        }
        self.plain(&path, &["init", "-q"]);
        self.plain(&path, &["add", "-A"]);
        self.plain(&path, &["commit", "-q", "-m", "all"]);
        path
    }

    /// A status as the list of tasks reads it, beside `git status`: when nothing has changed, after an edit in place, and
    /// after an edit by a new file that takes the old one's name, as many editors and agents save.
    fn status(&self, files: usize, rounds: usize) {
        let path = self.repository("large", files);
        self.plain(&path, &["status"]);
        let query = StatusQuery {
            common_dir: path.join(".git"),
            path: path.clone(),
            branch: Some("main".to_owned()),
            base: None,
            start: None,
        };
        let mut cache = StatusCache::default();
        let edited = path.join("dir000/sub0/file1.txt");
        let in_place = |round: usize| std::fs::write(&edited, format!("changed {round}\n")).unwrap();
        let by_name = |round: usize| {
            let new = edited.with_extension("new");
            std::fs::write(&new, format!("changed {round}\n")).unwrap();
            std::fs::rename(new, &edited).unwrap();
        };
        let rows: [(&str, &dyn Fn(usize)); 3] = [
            ("status, 50,000 files, unchanged", &|_| ()),
            ("status, 50,000 files, one edit", &in_place),
            ("status, 50,000 files, one edit by rename", &by_name),
        ];
        for (row, edit) in rows {
            for round in 0..rounds {
                edit(2 * round);
                let start = Instant::now();
                self.plain(&path, &["--no-optional-locks", "status", "--porcelain=v2", "--branch", "-z"]);
                figure(row, "bare", start.elapsed().as_secs_f64());
                self.settle(&mut cache, &query);
                edit(2 * round + 1);
                let start = Instant::now();
                let status = cache.status(&self.git, &query).unwrap();
                figure(row, "qd", start.elapsed().as_secs_f64());
                let lines = u64::from(row != rows[0].0);
                assert_eq!((status.lines.added, status.lines.removed), (lines, lines), "{row}");
            }
        }
    }

    /// Reads until nothing is read anew: what changed a moment ago is looked at again.
    fn settle(&self, cache: &mut StatusCache, query: &StatusQuery) {
        loop {
            let before = self.git.processes_started();
            cache.status(&self.git, query).unwrap();
            if self.git.processes_started() == before {
                return;
            }
        }
    }

    fn create(&self, rounds: usize) {
        let path = self.repository("created", 2_000);
        let repository = Repository::open(&self.git, &path).unwrap();
        for round in 0..rounds {
            let place = self.root.join(format!("plain-{round}"));
            let start = Instant::now();
            let name = format!("plain{round}");
            self.plain(&path, &["worktree", "add", "-q", "-b", &name, place.to_str().unwrap()]);
            figure("new worktree", "bare", start.elapsed().as_secs_f64());
            let start = Instant::now();
            let name = BranchName::parse(&format!("ours{round}")).unwrap();
            let request =
                CreateRequest { name, start: StartPoint::DefaultBranch, root: self.root.join("tasks") };
            repository
                .plan_worktree(&References::read(&repository).unwrap(), &request)
                .unwrap()
                .run(&self.git)
                .unwrap();
            figure("new worktree", "qd", start.elapsed().as_secs_f64());
        }
    }

    /// Fifty tasks over five repositories of 200 files: the first reading, and one when nothing has changed.
    fn tasks(&self, rounds: usize) {
        let mut queries = Vec::new();
        for number in 0..5 {
            let path = self.repository(&format!("repo{number}"), 200);
            let repository = Repository::open(&self.git, &path).unwrap();
            for task in 0..10 {
                let name = BranchName::parse(&format!("task{task}")).unwrap();
                let request =
                    CreateRequest { name, start: StartPoint::DefaultBranch, root: self.root.join("tasks") };
                let creation =
                    repository.plan_worktree(&References::read(&repository).unwrap(), &request).unwrap();
                creation.run(&self.git).unwrap();
                queries.push(StatusQuery {
                    common_dir: creation.common_dir,
                    path: creation.path,
                    branch: Some(creation.branch.to_string()),
                    base: None,
                    start: Some(creation.start),
                });
            }
        }
        let mut cache = StatusCache::default();
        let mut read = || queries.iter().for_each(|query| drop(cache.status(&self.git, query).unwrap()));
        let start = Instant::now();
        read();
        figure("50 tasks, first reading", "qd", start.elapsed().as_secs_f64());
        read();
        for _ in 0..rounds {
            let (start, before) = (Instant::now(), self.git.processes_started());
            read();
            figure("50 tasks, nothing changed", "qd", start.elapsed().as_secs_f64());
            let started = self.git.processes_started() - before;
            figure("50 tasks, git processes", "qd", f64::from(u32::try_from(started).unwrap()));
        }
    }
}

fn figure(row: &str, who: &str, value: f64) {
    println!("{row}\t{who}\t{value}");
}
