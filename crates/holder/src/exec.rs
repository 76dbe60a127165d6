//! Executes a program in a child that borrows our memory until then, as `posix_spawn` does: nothing of the holder is
//! copied for it, and its error needs no pipe. Everything that the child needs is made before; it makes system calls
//! only.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, waitpid};

use crate::config::RunConfig;
use crate::program::candidates;

/// The child's stack: a few frames, and room for a build without optimisation or with a sanitizer.
const STACK: usize = 128 << 10;

/// What runs files that have no header.
const SHELL: &std::ffi::CStr = c"/bin/sh";

/// A program that is about to be executed.
pub(crate) struct Program<'a> {
    /// The files to try, in this order.
    files: Vec<CString>,
    arguments: Strings,
    /// For a file without a header: the shell, room for the file, and the arguments.
    script: Vec<*const libc::c_char>,
    environment: Strings,
    cwd: CString,
    terminal: RawFd,
    /// Runs in the child before it executes anything.
    prepare: &'a dyn Fn() -> io::Result<()>,
    /// Why the child could not execute it, as it reports through our memory; 0 if it could.
    failed: AtomicI32,
}

/// Strings, and the array of their addresses with a null at its end.
struct Strings {
    addresses: Vec<*const libc::c_char>,
    _strings: Vec<CString>,
}

impl Strings {
    fn new(strings: Vec<CString>) -> Strings {
        let addresses = strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect();
        Strings { addresses, _strings: strings }
    }
}

impl<'a> Program<'a> {
    /// Returns the program of a configuration, on this terminal. `prepare` runs in the child, in its working
    /// directory and with its terminal, and may only make system calls.
    pub(crate) fn new(
        config: &RunConfig,
        terminal: BorrowedFd<'_>,
        prepare: &'a dyn Fn() -> io::Result<()>,
    ) -> io::Result<Program<'a>> {
        let Some(word) = config.argv.first() else { return Err(io::ErrorKind::InvalidInput.into()) };
        // The last value of a variable counts.
        let environment: BTreeMap<&OsString, &OsString> =
            config.env.iter().map(|(name, value)| (name, value)).collect();
        let path = config.env.iter().rev().find(|(name, _)| name == "PATH");
        let path = path.map(|(_, value)| value.as_os_str());
        let pairs = environment.iter().map(|(name, value)| {
            let pair = [name.as_bytes(), b"=", value.as_bytes()].concat();
            text(OsStr::from_bytes(&pair))
        });
        let arguments =
            Strings::new(config.argv.iter().map(|word| text(word)).collect::<io::Result<Vec<_>>>()?);
        let after_first = arguments.addresses.iter().skip(1).copied();
        let script = [SHELL.as_ptr(), std::ptr::null()].into_iter().chain(after_first).collect();
        Ok(Program {
            files: candidates(word, path)
                .iter()
                .map(|file| text(file.as_os_str()))
                .collect::<io::Result<_>>()?,
            script,
            arguments,
            environment: Strings::new(pairs.collect::<io::Result<Vec<_>>>()?),
            cwd: text(config.cwd.as_os_str())?,
            terminal: terminal.as_raw_fd(),
            prepare,
            failed: AtomicI32::new(0),
        })
    }

    /// Starts it in a child; returns when it is executed.
    #[expect(unsafe_code, reason = "no safe wrapper starts a child that borrows our memory")]
    pub(crate) fn start(mut self) -> io::Result<Pid> {
        let mut stack: Vec<MaybeUninit<u128>> = Vec::with_capacity(STACK / size_of::<u128>());
        // SAFETY: one past the end of the allocation, where a stack that grows downwards begins; aligned to 16 bytes.
        let top = unsafe { stack.as_mut_ptr().add(stack.capacity()) };
        // SAFETY: the child runs `run_child` on a stack of its own, while this thread, the only one, is suspended until
        // the child has executed a program or ended. `self` and `stack` live until then.
        let pid = unsafe {
            libc::clone(
                run_child,
                top.cast(),
                libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
                (&raw mut self).cast(),
            )
        };
        let Some(pid) = Pid::from_raw(pid.max(0)) else { return Err(io::Error::last_os_error()) };
        match self.failed.load(Ordering::Acquire) {
            0 => Ok(pid),
            failed => {
                let _reaped = rustix::io::retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()));
                Err(io::Error::from_raw_os_error(failed))
            }
        }
    }

    /// Runs in the child; returns why nothing was executed.
    fn run(&mut self) -> i32 {
        let error = self.enter().err().unwrap_or_else(|| self.execute());
        error.raw_os_error().unwrap_or(libc::EIO)
    }

    /// Gives the child its terminal and its directory.
    #[expect(unsafe_code, reason = "the child's descriptors 0 to 2 have no owner")]
    fn enter(&self) -> io::Result<()> {
        for standard in 0..=2 {
            // SAFETY: the child has a table of descriptors of its own, in which nothing owns these three.
            if unsafe { libc::dup2(self.terminal, standard) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        rustix::process::chdir(self.cwd.as_c_str())?;
        (self.prepare)()
    }

    /// Tries one file after the other, as the C library's `execvp` does.
    fn execute(&mut self) -> io::Error {
        let mut is_denied = false;
        let mut last = io::Error::from_raw_os_error(libc::ENOENT);
        for number in 0..self.files.len() {
            last = self.execute_file(number);
            match last.raw_os_error() {
                Some(libc::EACCES) => is_denied = true,
                Some(libc::ENOENT | libc::ESTALE | libc::ENOTDIR | libc::ENODEV | libc::ETIMEDOUT) => {}
                _ => return last,
            }
        }
        if is_denied { io::Error::from_raw_os_error(libc::EACCES) } else { last }
    }

    /// Executes one file; returns only if that fails. The shell executes a file without a header.
    #[expect(unsafe_code, reason = "rustix has no exec in its stable part")]
    fn execute_file(&mut self, number: usize) -> io::Error {
        let Some(file) = self.files.get(number).map(|file| file.as_ptr()) else {
            return Errno::NOENT.into();
        };
        let environment = self.environment.addresses.as_ptr();
        // SAFETY: every string ends with a null byte, both arrays with a null address, and all of them live in `self`.
        unsafe {
            libc::execve(file, self.arguments.addresses.as_ptr(), environment);
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::ENOEXEC) {
                return error;
            }
            if let Some(room) = self.script.get_mut(1) {
                *room = file;
            }
            libc::execve(SHELL.as_ptr(), self.script.as_ptr(), environment);
            io::Error::last_os_error()
        }
    }
}

/// The child's first function.
#[expect(unsafe_code, reason = "called by the kernel with an address")]
extern "C" fn run_child(program: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `Program::start` gives the address of a program that lives until this child is gone, and touches it no
    // more meanwhile.
    let program = unsafe { &mut *program.cast::<Program<'_>>() };
    let failed = program.run();
    program.failed.store(failed, Ordering::Release);
    // SAFETY: ends the child at once; nothing of the holder, whose memory this is, is cleaned up.
    unsafe { libc::_exit(127) }
}

fn text(word: &OsStr) -> io::Result<CString> {
    CString::new(word.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;

    fn ready() -> io::Result<()> {
        Ok(())
    }

    fn write(file: &Path, text: &str, mode: u32) {
        std::fs::write(file, text).unwrap();
        std::fs::set_permissions(file, PermissionsExt::from_mode(mode)).unwrap();
    }

    /// Starts a program in a directory with this search path; returns its exit code, or why it did not start.
    fn run(argv: &[&str], path: &str, cwd: &Path, prepare: &dyn Fn() -> io::Result<()>) -> Result<i32, i32> {
        let argv = argv.iter().map(OsString::from).collect();
        let mut config = RunConfig::new(argv, cwd.to_owned(), "/socket".into());
        config.env = vec![("PATH".into(), "/nowhere".into()), ("PATH".into(), path.into())];
        let null = File::options().read(true).write(true).open("/dev/null").unwrap();
        let started = Program::new(&config, null.as_fd(), prepare).and_then(Program::start);
        let pid = started.map_err(|error| error.raw_os_error().unwrap_or(0))?;
        let ended = waitpid(Some(pid), WaitOptions::empty()).unwrap();
        Ok(ended.and_then(|(_, status)| status.exit_status()).unwrap_or(-1))
    }

    #[test]
    fn t11_a_program_is_searched_for_as_the_c_library_does() {
        let root = tempfile::tempdir().unwrap();
        let (first, second) = (root.path().join("first"), root.path().join("second"));
        [&first, &second].into_iter().for_each(|dir| std::fs::create_dir(dir).unwrap());
        write(&first.join("tool"), "#!/bin/sh\nexit 1\n", 0o644);
        write(&second.join("tool"), "#!/bin/sh\nexit 7\n", 0o755);
        let found = |path: &str| run(&["tool"], path, root.path(), &ready);
        assert_eq!(found("first:second"), Ok(7), "relative to the working directory");
        assert_eq!(found("first:missing"), Err(libc::EACCES), "one is there and may not be executed");
        assert_eq!(found("missing"), Err(libc::ENOENT));
        assert_eq!(run(&["tool"], "", &second, &ready), Ok(7), "an empty part is the working directory");
        assert_eq!(run(&["./tool"], "/bin", &second, &ready), Ok(7));
        assert_eq!(run(&[""], "/bin", &second, &ready), Err(libc::ENOENT));
    }

    #[test]
    fn t11_a_file_without_a_header_is_run_by_the_shell_with_its_arguments() {
        let root = tempfile::tempdir().unwrap();
        write(&root.path().join("script"), "test $# = 2 && exit $2\n", 0o755);
        assert_eq!(run(&["./script", "a", "9"], "/bin", root.path(), &ready), Ok(9));
    }

    #[test]
    fn t11_what_fails_before_the_program_is_executed_is_told() {
        let root = tempfile::tempdir().unwrap();
        let refuse = || Err(io::Error::from_raw_os_error(libc::EPERM));
        assert_eq!(run(&["true"], "/bin:/usr/bin", root.path(), &refuse), Err(libc::EPERM));
        assert_eq!(run(&["true"], "/bin:/usr/bin", &root.path().join("gone"), &ready), Err(libc::ENOENT));
        assert_eq!(run(&["a\0b"], "/bin", root.path(), &ready), Err(0), "no word has a null byte");
        assert_eq!(run(&["true"], "/bin:/usr/bin", root.path(), &ready), Ok(0));
    }
}
