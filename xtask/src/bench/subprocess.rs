//! The children under test: shell scripts with gates. A gate is a named pipe through which a child waits for
//! us or reports to us, so that nothing is timed by guessing.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

use super::pty::is_readable;

/// What a child prints last. The text of the scripts does not hold it in one piece, so no title or command line
/// can be mistaken for it; `~` occurs in no generated stream.
pub(crate) const END: &[u8] = b"~QDEND~";
/// All of what is printed last.
pub(crate) const PRINTED_END: &[u8] = b"\x1b[0m\x1b[24;1H\n~QDEND~";
const PRINT_END: &str = "printf '\\033[0m\\033[24;1H\\n~QD%s~' END";

/// A named pipe that one side opens by writing a line.
pub(crate) struct Gate {
    path: PathBuf,
    pipe: OwnedFd,
}

impl Gate {
    fn new(path: PathBuf) -> Result<Self, String> {
        let failed = |error| format!("cannot make the pipe {}: {error}", path.display());
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).map_err(failed)?;
        // Read-write: neither side ever blocks in open, and a gate opened early stays open.
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let pipe = rustix::fs::open(&path, flags, Mode::empty()).map_err(failed)?;
        Ok(Self { path, pipe })
    }

    /// Lets the child through.
    pub(crate) fn open(&self) {
        // A full pipe holds thousands of lines; the gate is open already then.
        let _sent = rustix::io::write(&self.pipe, b"go\n");
    }

    /// Waits until the child has written its line.
    pub(crate) fn wait(&self, timeout: Duration) -> Result<(), String> {
        if !is_readable(&self.pipe, timeout) {
            return Err(format!("the child did not report within {timeout:?}"));
        }
        let mut line = [0; 16];
        rustix::io::read(&self.pipe, &mut line).map(|_| ()).map_err(|error| format!("gate: {error}"))
    }
}

/// One child's script with its gates.
pub(crate) struct Subprocess {
    script: PathBuf,
    /// The child begins when we open this.
    pub(crate) start: Gate,
    /// The child opens this when its last byte is written.
    pub(crate) done: Gate,
    /// The child ends when we open this, or when the errand is dropped.
    pub(crate) hold: Gate,
}

impl Subprocess {
    /// Prints `file`, then the end marker.
    pub(crate) fn print(directory: &Path, name: &str, file: &Path) -> Result<Self, String> {
        let work =
            format!("read _ <START\ncat '{}'\n{PRINT_END}\necho x >DONE\nread _ <HOLD\n", file.display());
        Self::new(directory, name, &work)
    }

    /// Sends every byte back as it comes.
    pub(crate) fn echo(directory: &Path, name: &str) -> Result<Self, String> {
        let work = "stty raw -echo\n(read _ <HOLD; kill -9 $$) &\necho x >DONE\nexec cat\n";
        Self::new(directory, name, work)
    }

    /// Prints a line of other characters for every key, and a line of `Z` for `z`.
    pub(crate) fn scrolls(directory: &Path, name: &str) -> Result<Self, String> {
        let program = "import os\nn = 0\nwhile True:\n    key = os.read(0, 1)\n    n += 1\n    \
                       line = 'Z' * 60 if key == b'z' else chr(97 + n % 24) * 60\n    os.write(1, line.encode() + b'\\r\\n')\n";
        let script = directory.join(format!("{name}.py"));
        std::fs::write(&script, program).map_err(|error| format!("{}: {error}", script.display()))?;
        let work = format!(
            "stty raw -echo\n(read _ <HOLD; kill -9 $$) &\necho x >DONE\nexec python3 '{}'\n",
            script.display()
        );
        Self::new(directory, name, &work)
    }

    /// Prints `file` over and over and keeps count of the rounds in `count`.
    pub(crate) fn flood(directory: &Path, name: &str, file: &Path, count: &Path) -> Result<Self, String> {
        let work = format!(
            "(read _ <HOLD; kill -9 $$) &\nread _ <START\nn=0\nwhile :; do cat '{}'; n=$((n+1)); echo $n >'{}'; done\n",
            file.display(),
            count.display()
        );
        Self::new(directory, name, &work)
    }

    /// Prints the beginning of `file` over and over at this many bytes a second, a hundred pieces a second, and keeps
    /// count, in `count`, of how many seconds' worth of bytes it wrote.
    pub(crate) fn paced(
        directory: &Path,
        name: &str,
        file: &Path,
        rate: usize,
        count: &Path,
    ) -> Result<Self, String> {
        let program = format!(
            "import sys, time\npiece = open('{}', 'rb').read({})\nout = sys.stdout.buffer\nwritten, due = 0, time.monotonic()\n\
             while True:\n    out.write(piece)\n    out.flush()\n    written, due = written + 1, due + 0.01\n    \
             if written % 10 == 0:\n        open('{}', 'w').write(str(written / 100))\n    \
             time.sleep(max(0, due - time.monotonic()))\n",
            file.display(),
            rate / 100,
            count.display()
        );
        let script = directory.join(format!("{name}.py"));
        std::fs::write(&script, program).map_err(|error| format!("{}: {error}", script.display()))?;
        let work =
            format!("(read _ <HOLD; kill -9 $$) &\nread _ <START\nexec python3 '{}'\n", script.display());
        Self::new(directory, name, &work)
    }

    /// Reports that it runs, then waits.
    pub(crate) fn report(directory: &Path, name: &str) -> Result<Self, String> {
        Self::new(directory, name, "echo x >DONE\nread _ <HOLD\n")
    }

    fn new(directory: &Path, name: &str, work: &str) -> Result<Self, String> {
        let gate = |kind: &str| Gate::new(directory.join(format!("{name}.{kind}")));
        let (start, done, hold) = (gate("start")?, gate("done")?, gate("hold")?);
        let quoted = |gate: &Gate| format!("'{}'", gate.path.display());
        let text = work
            .replace("START", &quoted(&start))
            .replace("DONE", &quoted(&done))
            .replace("HOLD", &quoted(&hold));
        let script = directory.join(format!("{name}.sh"));
        std::fs::write(&script, text).map_err(|error| format!("{}: {error}", script.display()))?;
        Ok(Self { script, start, done, hold })
    }

    /// Returns what to run.
    pub(crate) fn argv(&self) -> Vec<String> {
        vec!["sh".to_owned(), self.script.display().to_string()]
    }
}

impl Drop for Subprocess {
    fn drop(&mut self) {
        self.hold.open();
        for path in [&self.script, &self.start.path, &self.done.path] {
            // The whole directory goes at the end; an early removal only keeps it small.
            let _gone = std::fs::remove_file(path);
        }
    }
}
