//! One program under test with its own directories, environment and copy of the program file, so that
//! contenders share nothing with each other or with the user. `peers` and `quarterdeck` have their command
//! lines.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::process_scan;
use super::pty::{Client, Size, run_within};

/// How long any single command of a contender may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// The command lines of one program. `session` is a short name of letters and digits.
pub(crate) trait Dialect {
    /// Returns its name in the table and on PATH.
    fn name(&self) -> &'static str;
    /// Starts a process without a viewer.
    fn create(&self, place: &Place, session: &str, size: Size, argv: &[String]) -> Result<(), String>;
    /// Shows a process in the terminal it is started in.
    fn attach(&self, place: &Place, session: &str) -> Command;
    /// Shows all processes with chrome around them in the terminal it is started in, if it can; `4`, a name and Enter then
    /// show one of them.
    fn deck(&self, _place: &Place) -> Option<Command> {
        None
    }
    /// Starts what must run before the first `create`; most start by themselves.
    fn prepare(&self, _place: &Place) -> Result<(), String> {
        Ok(())
    }
    /// Keeps the server alive between processes, if it would end with the last one.
    fn keep_alive(&self, _place: &Place) -> Result<(), String> {
        Ok(())
    }
    /// Removes what is left of a process whose child has ended.
    fn forget(&self, _place: &Place, _session: &str) {}
    /// Ends everything gracefully; a sweep kills what stays.
    fn stop(&self, _place: &Place) {}
    /// Lists all processes, if it can.
    fn list(&self, _place: &Place) -> Option<Command> {
        None
    }
    /// Prints one screen, if it can.
    fn read(&self, _place: &Place, _session: &str) -> Option<Command> {
        None
    }
    /// Returns true if attaching paints the screen; contenders that only pass bytes on paint nothing.
    fn paints(&self) -> bool {
        true
    }
}

/// Directories and program of one contender.
pub(crate) struct Place {
    pub(crate) root: PathBuf,
    program: PathBuf,
}

impl Place {
    /// Makes the directories under `root` and copies the program file there, which distinguishes its
    /// processes from any other use of the same program.
    pub(crate) fn new(root: PathBuf, program: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", root.display());
        let name = program.file_name().ok_or("a program has a name")?;
        make_private(&root.join("bin")).map_err(failed)?;
        let copy = root.join("bin").join(name);
        std::fs::copy(program, &copy).map_err(failed)?;
        let place = Self { root, program: copy };
        place.empty()?;
        Ok(place)
    }

    /// Removes what an earlier row has left, on disk as well: a server keeps its ended processes there, and
    /// listing a thousand of them would distort the next row. No process may be running here.
    pub(crate) fn empty(&self) -> Result<(), String> {
        for name in ["home", "run", "data", "config"] {
            let directory = self.root.join(name);
            let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
            match std::fs::remove_dir_all(&directory) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
                _ => make_private(&directory).map_err(failed)?,
            }
        }
        Ok(())
    }

    /// Returns the program with an environment of its own.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        self.furnish(&mut command);
        command
    }

    /// Gives any command this place's environment and directory.
    pub(crate) fn furnish(&self, command: &mut Command) {
        let (home, run) = (self.root.join("home"), self.root.join("run"));
        command.env_clear().current_dir(&home).stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs([("TERM", "xterm-256color"), ("LANG", "C.UTF-8"), ("SHELL", "/bin/sh")]);
        command.env("HOME", &home);
        for name in ["QD_RUNTIME_DIR", "TMUX_TMPDIR", "SCREENDIR", "ABDUCO_SOCKET_DIR", "XDG_RUNTIME_DIR"] {
            command.env(name, &run);
        }
        for name in ["QD_DATA_DIR", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
            command.env(name, self.root.join("data"));
        }
        for name in ["QD_CONFIG_DIR", "XDG_CONFIG_HOME"] {
            command.env(name, self.root.join("config"));
        }
    }

    /// Runs a command to its end; returns its output or its last error lines. Output goes through files
    /// because a daemon that inherits a pipe would keep it open.
    pub(crate) fn run(&self, mut command: Command) -> Result<String, String> {
        let (said, complained) = (self.root.join("said"), self.root.join("complained"));
        let file = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
        command.stdout(file(&said)?).stderr(file(&complained)?);
        let read =
            |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).trim().to_owned();
        match run_within(command, TIMEOUT) {
            Ok(()) => Ok(read(&said)),
            Err(error) => Err(format!("{error} {}", read(&complained))),
        }
    }

    /// Returns the contender's own processes that run now.
    pub(crate) fn servers(&self) -> Vec<u32> {
        process_scan::servers(&self.root)
    }
}

fn make_private(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(directory)?;
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))
}

/// A dialect in its place.
pub(crate) struct Contender {
    pub(crate) dialect: Box<dyn Dialect>,
    pub(crate) place: Place,
}

impl Contender {
    pub(crate) fn name(&self) -> &'static str {
        self.dialect.name()
    }

    /// Starts a process without a viewer and returns when the command line does.
    pub(crate) fn create(&self, session: &str, size: Size, argv: &[String]) -> Result<(), String> {
        self.dialect.create(&self.place, session, size, argv)
    }

    /// Opens a terminal of our own and attaches in it.
    pub(crate) fn attach(&self, session: &str, size: Size) -> Result<Client, String> {
        Client::start(&self.dialect.attach(&self.place, session), size)
    }

    /// Opens a terminal of our own with the deck in it; none where there is no deck.
    pub(crate) fn deck(&self, size: Size) -> Option<Result<Client, String>> {
        self.dialect.deck(&self.place).map(|command| Client::start(&command, size))
    }

    /// Removes what is left of a process.
    pub(crate) fn forget(&self, session: &str) {
        self.dialect.forget(&self.place, session);
    }

    /// Ends everything and starts again with no process, no server and no stored state.
    pub(crate) fn renew(&self) -> Result<(), String> {
        self.stop();
        self.place.empty()?;
        self.dialect.prepare(&self.place)?;
        self.dialect.keep_alive(&self.place)
    }

    /// Ends everything.
    pub(crate) fn stop(&self) {
        self.dialect.stop(&self.place);
        process_scan::sweep(&self.place.root);
    }
}
