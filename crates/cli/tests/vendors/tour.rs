//! The tour of `docs/tour.md` with the real programs: a task is started in a worktree from the empty deck, asks, is
//! answered, reviewed with two comments, mends its work and lands. `ShownKeys` presses no key that is neither on the screen
//! nor in the list of keys.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use proto::request::{Read, ReadMode, Target};
use proto::{ProcessView, Size};
use term::Wraps;
use testkit::vendor::{Home, Vendor};
use testkit::{DEADLINE, ModelServer, TestDaemon};

use crate::QD;
use crate::shown_keys::ShownKeys;
use crate::vendor_stage::shell_script;
use crate::window::Window;

const SIZE: Size = Size { cols: 140, rows: 44 };
/// The task, and its agent after it.
const TASK: &str = "greet-people";
/// The program of the repository that the agent asks to run: its work, and its second attempt.
const WORK: &str = "set -e\ncase $1 in\n1) printf 'hello there\\nand welcome\\n' > greeting ;;\n\
                    2) printf 'hello Ada\\n' > greeting ;;\nesac\ngit commit --quiet --all --message=\"step $1\"\n";

/// An answer has worked before this, or it was refused and is given again.
const ANSWERED: Duration = Duration::from_secs(10);

/// A repository, and a person who has used the vendor's program before.
struct Tour {
    // Dropped in this order: the deck, then the daemon, which ends the agent before its home and its model are removed.
    window: Window,
    keys: ShownKeys,
    daemon: TestDaemon,
    home: Home,
    _server: ModelServer,
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn make_repository(repository: &Path) {
    git(repository, &["init", "--quiet", "--initial-branch=main"]);
    for setting in [["user.name", "t"], ["user.email", "t@example.com"], ["commit.gpgsign", "false"]] {
        git(repository, &["config", setting[0], setting[1]]);
    }
    std::fs::write(repository.join("greeting"), "hello\n").unwrap();
    std::fs::write(repository.join("work.sh"), WORK).unwrap();
    git(repository, &["add", "--all"]);
    git(repository, &["commit", "--quiet", "--message=first"]);
}

impl Tour {
    /// The empty deck in the repository. Worktrees lie where the program trusts them.
    fn begin(vendor: Vendor) -> Self {
        let server = ModelServer::start();
        let home = Home::seeded(vendor, &server);
        make_repository(&home.workdir());
        let trees = home.outside_tmp().join("trees");
        std::fs::create_dir(&trees).unwrap();
        home.trust(&trees);
        // A program that distrusts the temporary directory would have no hooks there, and an item of its own would say so.
        let daemon = TestDaemon::start_below(QD, home.outside_tmp());
        let config = daemon.dirs().config;
        std::fs::create_dir_all(&config).unwrap();
        let settings = format!("[tasks]\nroot = '{}'\n", trees.display());
        std::fs::write(config.join("config.toml"), settings).unwrap();
        // What a person starts gets the person's environment, and with this variable a program takes no input.
        let mut arguments: Vec<String> = ["-u", "CI", "-C"].map(str::to_owned).to_vec();
        arguments.push(home.workdir().display().to_string());
        let path = std::env::var("PATH").unwrap_or_default();
        arguments.push(format!("PATH={}:{path}", vendor.bin().display()));
        arguments.extend(["LANG=C.UTF-8", "EDITOR=vi"].map(str::to_owned));
        arguments
            .extend(home.env().iter().map(|(name, value)| format!("{name}={}", value.to_str().unwrap())));
        arguments.push(QD.to_owned());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (mut window, _) = Window::running(&daemon, SIZE, "env", &arguments);
        let keys = ShownKeys::read(&mut window);
        Self { window, keys, daemon, home, _server: server }
    }

    /// Presses a key that is on the screen or in the list of keys.
    fn press(&mut self, key: &str, does: &str) {
        self.keys.press(&mut self.window, key, does);
    }

    /// Presses the menu key and a key after it.
    fn press_in_menu(&mut self, key: &str, does: &str) {
        self.keys.press_in_menu(&mut self.window, key, does);
    }

    /// The directory of the task.
    fn tree(&self) -> PathBuf {
        let trees = std::fs::read_dir(self.home.outside_tmp().join("trees")).unwrap();
        trees.map(|tree| tree.unwrap().path()).next().unwrap()
    }

    /// What the agent is asked: to run one step of its work.
    fn order(&self, step: u8) -> String {
        let script = shell_script(self.home.vendor(), &format!("sh work.sh {step}"), "");
        script.lines().next().unwrap().to_owned()
    }

    /// The agent asks for permission, and gets it from the inbox by a number on the screen. A dialog that is drawn anew is a
    /// question of its own, and is answered again; so is one that stays open, because an answer is refused while it is drawn.
    fn allow(&mut self, commits: &str) {
        self.window.until_shows("NEEDS YOU");
        self.press_in_menu("a", "inbox: answer questions");
        let until = Instant::now() + DEADLINE;
        let mut answered: Vec<(u64, Instant)> = Vec::new();
        while git(&self.tree(), &["rev-list", "--count", "HEAD"]).trim() != commits {
            let account = || format!("{}\nThe window shows:\n{}", self.account(), self.window.text());
            assert!(Instant::now() < until, "no commit. {}", account());
            self.window.draw(Instant::now() + Duration::from_millis(100));
            let text = self.window.text();
            if text.contains("no longer open") {
                answered.clear();
            }
            answered.retain(|(_, at)| at.elapsed() < ANSWERED);
            // The question comes first; its answers are there once its dialog is on the screen.
            let items = self.daemon.client().inbox().unwrap();
            let Some(item) = items.iter().find(|item| !item.options.is_empty()) else { continue };
            // The beginning of its words is on the screen; the end of a long line is in the next one.
            let label: String = item.options[0].label.chars().take(12).collect();
            let is_shown = self.keys.is_known(&self.window.screen, "1", label.trim_end());
            if is_shown && answered.iter().all(|(known, _)| *known != item.item) {
                self.press("1", label.trim_end());
                answered.push((item.item, Instant::now()));
            }
        }
        self.press("q", "back");
    }

    /// What every process of the tour is at, and all that it has printed.
    fn account(&self) -> String {
        let mut client = self.daemon.client();
        let one = |view: ProcessView| {
            let (name, exit) = (view.name.to_string(), view.exit);
            let read = Read { target: Target(name.clone()), mode: ReadMode::Stream, ..Read::default() };
            let text =
                self.daemon.client().read(read).map_or_else(|error| error.to_string(), |text| text.text);
            format!("{name} is {}, exit {exit:?}; it has printed:\n{text}", view.status)
        };
        client.list().unwrap().into_iter().map(one).collect::<Vec<_>>().join("\n")
    }

    /// Opens the review of the task, once the list of tasks says what it has changed.
    fn review(&mut self, changes: &str) {
        self.press_in_menu("t", "tasks");
        self.window.until_shows("TASKS 1");
        self.window.until(changes, |screen| {
            screen.text(Wraps::Keep).lines().any(|line| line.contains(TASK) && line.contains(changes))
        });
        self.press("d", "review");
        self.window.until_shows(&format!("REVIEW {TASK}"));
    }
}

fn start_in_a_worktree(tour: &mut Tour) {
    let name = tour.home.vendor().name();
    let window = &mut tour.window;
    window.until_shows("Nothing runs here yet.");
    // The programs that were found stand beside what can be done with them.
    window.until("the agent", |screen| {
        let text = screen.text(Wraps::Keep);
        text.lines().any(|line| line.contains("1  Start an agent on a task") && line.contains(name))
    });
    tour.press("1", "Start an agent on a task");
    tour.window.until_shows("What should be done?");
    let order = tour.order(1);
    tour.window.type_keys(&order);
    tour.press("Tab", "next");
    tour.window.type_keys(TASK);
    tour.window.until_shows(&format!("will be made: {TASK}"));
    tour.press("Ctrl-S", "create");
}

/// Comments on the line so many rows below.
fn comment(tour: &mut Tour, rows: usize, place: &str, text: &str) {
    for _ in 0..rows {
        tour.press("j", "down");
    }
    tour.press("c", "comment");
    tour.window.until_shows(&format!("Comment on greeting:{place}"));
    tour.window.type_keys(text);
    tour.press("Enter", "keep it");
    tour.window.until("the comment", |screen| {
        let text = screen.text(Wraps::Keep);
        text.contains("(draft)") && !text.contains("Comment on greeting")
    });
}

/// Stops the agent of the task, and lands its work.
fn stop_and_land(tour: &mut Tour) {
    tour.press("s", "stop");
    tour.window.until_shows(&format!("Stop {TASK}?"));
    tour.press("y", "yes");
    tour.window.until_shows(&format!("Nothing works on {TASK}"));
    tour.press("L", "land");
    tour.window.until_shows(&format!("Land {TASK} on main"));
    tour.press("Enter", "land");
    tour.window.until_shows(&format!("{TASK} landed on main"));
}

fn the_tour(vendor: Vendor) {
    let mut tour = Tour::begin(vendor);
    start_in_a_worktree(&mut tour);
    tour.allow("2");
    tour.review("+2-1");
    tour.window.until_shows("+     1  hello there");
    // File, change, the removed line, the first added one.
    comment(&mut tour, 3, "1", "Say whom you greet.");
    let order = tour.order(2);
    comment(&mut tour, 2, "2", &order);
    tour.window.until_shows("2 comments, 2 unsent");
    tour.press("S", "send 2");
    tour.window.until_shows("2 comments, 0 unsent");
    tour.press("q", "back");
    tour.window.until_shows("TASKS 1");
    tour.allow("3");
    tour.review("+1-1");
    tour.window.until_shows("its lines have changed since");
    tour.press("q", "back");
    tour.window.until_shows("TASKS 1");
    stop_and_land(&mut tour);
    assert_eq!(git(&tour.home.workdir(), &["show", "main:greeting"]), "hello Ada\n");
    tour.press("q", "back");
    tour.press_in_menu("d", "leave");
    assert_eq!(tour.window.wait_exit().code(), Some(0));
}

#[test]
fn u25_the_tour_with_claude_by_keys_on_the_screen() {
    the_tour(Vendor::Claude);
}

#[test]
fn u25_the_tour_with_codex_by_keys_on_the_screen() {
    the_tour(Vendor::Codex);
}

#[test]
fn u25_the_tour_with_gemini_by_keys_on_the_screen() {
    the_tour(Vendor::Gemini);
}

#[test]
fn u25_the_tour_with_opencode_by_keys_on_the_screen() {
    the_tour(Vendor::Opencode);
}
