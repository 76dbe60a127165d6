//! Identifies the process at the other end of a socket, pinned by a pidfd, and walks the chain of its
//! parents. A result counts only if the whole chain is the same afterwards, so that a recycled pid cannot
//! forge it. The daemon decides about rights.

mod ancestors;

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::Errno;

pub use self::ancestors::Ancestors;
use self::ancestors::Known;
use crate::{proc_stat, run_mark};

/// Longest chain of parents that is followed.
const LONGEST: usize = 256;

/// How often a chain is read again that changed meanwhile.
const TRIES: usize = 8;

/// The socket option that gives a pidfd of the peer (Linux 6.5).
const SO_PEERPIDFD: libc::c_int = 77;

/// A process that was at the other end of a socket when the connection was made. The pidfd keeps its pid from
/// meaning another process: once the process is gone, nothing more is found out about it.
#[derive(Debug)]
pub struct Pinned {
    pidfd: OwnedFd,
    pid: i32,
    start_time: u64,
}

/// One process of a chain of parents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Its pid.
    pub pid: i32,
    /// When it started (field 22 of its stat file): with the pid, its identity until the next boot.
    pub start_time: u64,
    parent: i32,
    is_named_holder: bool,
}

impl Link {
    /// Returns true if it is a holder that listens in this directory.
    pub fn is_holder_in(self, holders: &std::path::Path) -> bool {
        self.is_named_holder && listens_in(self.pid, holders)
    }

    /// Returns true if both were read of the same process with the same parent. Its name may have changed.
    fn is_same(self, other: Link) -> bool {
        (self.pid, self.start_time, self.parent) == (other.pid, other.start_time, other.parent)
    }
}

/// What was found among the ancestors of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Above<T> {
    /// What the closure returned.
    Found(T),
    /// Nothing, up to the first process of the system or one of another user.
    Nothing,
    /// It comes from a run whose holder is gone, or from one of another daemon.
    Lost,
    /// It is gone, or its parents changed under us again and again.
    Unknown,
}

impl Pinned {
    /// Returns the process that connected `socket`, or that listens where `socket` was connected to.
    ///
    /// Before Linux 6.5 there is no pidfd of a peer. Then the pid is pinned at this moment: a program that
    /// delays the accepting process until the pid was recycled may pass for its next owner.
    /// `docs/design/0008` explains it.
    pub fn peer(socket: BorrowedFd<'_>) -> Option<Pinned> {
        match peer_pidfd(socket) {
            Ok(pidfd) => Pinned::from_pidfd(pidfd),
            Err(Errno::NOPROTOOPT) => Pinned::from_pid(socket),
            Err(_) => None,
        }
    }

    fn from_pidfd(pidfd: OwnedFd) -> Option<Pinned> {
        let pid = pid_of(pidfd.as_fd())?;
        let start_time = proc_stat::start_time(pid)?;
        // The process existed after its stat file was read, so the file was its own.
        (pid_of(pidfd.as_fd()) == Some(pid)).then_some(Pinned { pidfd, pid, start_time })
    }

    fn from_pid(socket: BorrowedFd<'_>) -> Option<Pinned> {
        let peer = rustix::net::sockopt::socket_peercred(socket).ok()?;
        Pinned::of(peer.pid.as_raw_pid())
    }

    /// Returns the process that has this pid now.
    pub(crate) fn of(pid: i32) -> Option<Pinned> {
        Pinned::from_pidfd(proc_stat::open(pid)?)
    }

    /// Returns its pid. It may be gone.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Returns its identity in this boot.
    pub fn identity(&self) -> (i32, u64) {
        (self.pid, self.start_time)
    }

    /// Returns true if the pid is still its own. A zombie still counts.
    pub fn is_here(&self) -> bool {
        pid_of(self.pidfd.as_fd()) == Some(self.pid)
    }

    /// Calls `visit` for the process and each of its parents, nearest first, until it returns a value.
    pub fn above<T>(&self, visit: impl FnMut(Link) -> Option<T>) -> Above<T> {
        self.above_knowing(None, visit)
    }

    /// The same, without reading again what is known of the ancestors; keeps those that were not.
    pub fn above_knowing<T>(
        &self,
        ancestors: Option<&Ancestors>,
        mut visit: impl FnMut(Link) -> Option<T>,
    ) -> Above<T> {
        for _ in 0..TRIES {
            let mut chain = Vec::new();
            let known = |pid: i32| ancestors.filter(|_| pid != self.pid)?.find(pid);
            let read = |pid: i32| known(pid).or_else(|| read_link(pid));
            if let Some(answer) = climb(self.pid, &mut chain, &read, &mut visit) {
                let answer = match answer {
                    Some(found) => Above::Found(found),
                    None if self.is_in_another_run(&chain) => Above::Lost,
                    None => Above::Nothing,
                };
                if self.is_still(&chain, ancestors) {
                    return answer;
                }
            }
            if !self.is_here() {
                break;
            }
            // One of them may have ended, and its children have another parent.
            ancestors.into_iter().for_each(Ancestors::clear);
        }
        Above::Unknown
    }

    /// Returns true if this is still the chain above the process; keeps the ancestors in it.
    fn is_still(&self, chain: &[Link], ancestors: Option<&Ancestors>) -> bool {
        let is_own = chain.first().is_some_and(|own| own.start_time == self.start_time);
        let kept = |link: &Link| ancestors.filter(|_| link.pid != self.pid)?.find(link.pid);
        let (known, unknown): (Vec<Link>, Vec<Link>) =
            chain.iter().copied().partition(|link| kept(link) == Some(*link));
        let mut new = Vec::new();
        let is_same = unknown.iter().all(|link| {
            let pidfd = ancestors.filter(|_| link.pid != self.pid).and_then(|_| proc_stat::open(link.pid));
            new.extend(pidfd.map(|pidfd| Known { link: *link, pidfd }));
            read_link(link.pid).is_some_and(|now| now.is_same(*link))
        });
        let is_live = ancestors.is_none_or(|ancestors| ancestors.all_live(&known));
        let is_still = is_own && is_same && is_live && self.is_here();
        if let Some(ancestors) = ancestors.filter(|_| is_still && !new.is_empty()) {
            ancestors.add(new);
        }
        is_still
    }

    /// Returns true if it is inside a run that the closure does not know: one without its holder, or one of another
    /// daemon. This daemon cannot know for whom the process acts there.
    fn is_in_another_run(&self, chain: &[Link]) -> bool {
        let holders = chain.iter().filter(|link| link.is_named_holder && link.pid != self.pid);
        run_mark::is_marked(self.pid) || holders.into_iter().any(|link| run_mark::is_others_holder(link.pid))
    }

    /// Returns true if it is or was inside a run whose holder listens in this directory, or if that cannot be
    /// ruled out.
    pub fn is_inside_a_run(&self, holders: &std::path::Path) -> bool {
        let is_holder = |link: Link| link.is_holder_in(holders).then_some(());
        // The process itself may be a holder, which is not inside its own run.
        !matches!(
            self.above(|link| (link.pid != self.pid).then(|| is_holder(link)).flatten()),
            Above::Nothing
        )
    }
}

/// Where the process lives that listens at a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenerOrigin {
    /// In no run, or outside of our namespace of pids, where it cannot be looked up.
    Outside,
    /// In a run of any daemon that the calling process is not in.
    InARun,
    /// It is gone; another process may have its socket.
    Gone,
}

/// Returns where the process lives that listens where `socket` was connected to.
pub fn listener(socket: BorrowedFd<'_>) -> ListenerOrigin {
    let Some(peer) = Pinned::peer(socket) else {
        let is_outside = peer_pidfd(socket).is_ok_and(|pidfd| told_pid(pidfd.as_fd()) == Some(0));
        return if is_outside { ListenerOrigin::Outside } else { ListenerOrigin::Gone };
    };
    match peer.above(|_| None::<()>) {
        Above::Nothing => ListenerOrigin::Outside,
        Above::Found(()) | Above::Lost => ListenerOrigin::InARun,
        Above::Unknown => ListenerOrigin::Gone,
    }
}

/// Walks a chain of parents. Returns `Some(Some)` when the closure has a result, `Some(None)` at the top,
/// `None` when the chain changed meanwhile.
fn climb<T>(
    pid: i32,
    chain: &mut Vec<Link>,
    read: &impl Fn(i32) -> Option<Link>,
    visit: &mut impl FnMut(Link) -> Option<T>,
) -> Option<Option<T>> {
    let mut next = pid;
    while chain.len() < LONGEST {
        let Some(link) = read(next) else {
            // A `/proc` with hidepid shows no processes of other users, such as the login's; none of them is
            // a holder of ours. A parent that is gone has left its child to another parent.
            let is_hidden = !chain.is_empty() && is_another_users(next);
            return is_hidden.then_some(None);
        };
        chain.push(link);
        if let Some(found) = visit(link) {
            return Some(Some(found));
        }
        if link.parent <= 1 {
            return Some(None);
        }
        next = link.parent;
    }
    None
}

/// Returns true if there is such a process and it belongs to another user.
fn is_another_users(pid: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid.max(0));
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(Errno::PERM))
}

fn read_link(pid: i32) -> Option<Link> {
    proc_stat::stat(pid).map(|stat| Link {
        pid,
        start_time: stat.start_time,
        parent: stat.parent,
        is_named_holder: stat.is_named_holder,
    })
}

/// Returns the pid behind a pidfd, in our own namespace; `None` when the process is gone or outside of it.
fn pid_of(pidfd: BorrowedFd<'_>) -> Option<i32> {
    told_pid(pidfd).filter(|pid| *pid > 0)
}

/// Returns the pid as the kernel tells it: 0 for a process outside of our namespace, -1 for one that is gone.
fn told_pid(pidfd: BorrowedFd<'_>) -> Option<i32> {
    let info = proc_stat::read_text(&format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd())).ok()?;
    info.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()
}

#[expect(unsafe_code, reason = "no safe wrapper knows this socket option yet")]
fn peer_pidfd(socket: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let mut pidfd: libc::c_int = -1;
    let mut length = libc::socklen_t::try_from(size_of::<libc::c_int>()).map_err(|_| Errno::INVAL)?;
    // SAFETY: both pointers are to locals that live through the call, and the length is that of the first.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut pidfd).cast(),
            &raw mut length,
        )
    };
    if result != 0 || pidfd < 0 {
        return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL));
    }
    // SAFETY: the kernel has just made this descriptor for us (close-on-exec), and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(pidfd) })
}

/// Returns true if a process listens in this directory, or if that cannot be ruled out.
fn listens_in(pid: i32, holders: &std::path::Path) -> bool {
    let Some(holders) = holders.to_str() else { return true };
    let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let ours: Vec<&str> = sockets.lines().filter_map(|line| inode_below(line, holders)).collect();
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut links = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    links.any(|link| {
        let inode = link.to_str().and_then(|link| link.strip_prefix("socket:[")?.strip_suffix(']'));
        inode.is_some_and(|inode| ours.contains(&inode))
    })
}

/// Returns the inode in a line of `/proc/net/unix` whose socket lies below this directory. The path is the
/// rest of the line, and may have spaces in it.
fn inode_below<'a>(line: &'a str, directory: &str) -> Option<&'a str> {
    let path = line.get(line.find('/')?..)?;
    let inode = line.split_ascii_whitespace().nth(6)?;
    path.strip_prefix(directory)?.starts_with('/').then_some(inode)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::process::{Command, Stdio};

    use super::*;

    fn own() -> i32 {
        i32::try_from(std::process::id()).unwrap()
    }

    #[test]
    fn b6_a_socket_is_found_by_the_directory_it_lies_in() {
        let line = "0000000000000000: 00000002 00000000 00010000 0001 01 4242 /run/my qd/holders/p_x.1";
        assert_eq!(inode_below(line, "/run/my qd/holders"), Some("4242"));
        for other in ["/run/my", "/run/my qd/hold", "/other"] {
            assert_eq!(inode_below(line, other), None, "{other}");
        }
        assert_eq!(inode_below("0: 2 0 0 1 1 7", "/run"), None);
        assert_eq!(inode_below("0: 2 0 0 1 1 7 @abstract", "/run"), None);
    }

    #[test]
    fn m4a_both_ends_of_a_connection_pin_the_other_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let caller = UnixStream::connect(&path).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        for socket in [caller.as_fd(), accepted.as_fd()] {
            let pinned = Pinned::peer(socket).unwrap();
            assert_eq!(pinned.identity(), (own(), proc_stat::start_time(own()).unwrap()));
            assert!(pinned.is_here());
            let by_pid = Pinned::from_pid(socket).unwrap();
            assert_eq!(by_pid.identity(), pinned.identity(), "an older kernel says the same");
        }
    }

    fn sleeper() -> (std::process::Child, Pinned) {
        let child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let pinned = Pinned::of(i32::try_from(child.id()).unwrap()).unwrap();
        (child, pinned)
    }

    #[test]
    fn m4a_nothing_is_found_above_a_process_that_is_gone_whoever_has_its_pid_now() {
        let (mut child, pinned) = sleeper();
        assert_eq!(pinned.above(|link| (link.pid == own()).then_some(())), Above::Found(()));
        child.kill().unwrap();
        assert!(pinned.is_here(), "its pid is its own until it is reaped");
        child.wait().unwrap();
        assert!(!pinned.is_here());
        assert_eq!(pinned.above(|_| Some(())), Above::Unknown);
        // As if the pid had been recycled and were ours now: our ancestors are not its ancestors.
        let recycled = Pinned { pid: own(), ..pinned };
        assert_eq!(recycled.above(|_| Some(())), Above::Unknown);
    }

    #[test]
    fn m4a_a_chain_that_changes_while_it_is_read_is_read_again() {
        let (mut child, pinned) = sleeper();
        let pid = pinned.pid();
        let elsewhere = Pinned { start_time: pinned.start_time + 1, ..pinned };
        assert_eq!(elsewhere.above(|_| Some(())), Above::Unknown, "another start, another process");
        let pinned = Pinned { start_time: elsewhere.start_time - 1, ..elsewhere };
        let mut looks = 0;
        let found = pinned.above(|link| {
            looks += usize::from(link.pid == pid);
            (link.pid == own()).then_some(looks)
        });
        assert_eq!(found, Above::Found(1));
        // It dies between being read and being checked.
        let died = pinned.above(|link| {
            if link.pid == pid {
                child.kill().unwrap();
                child.wait().unwrap();
            }
            (link.pid == own()).then_some(())
        });
        assert_eq!(died, Above::Unknown);
    }

    /// Returns a shell, and a grandchild of it that outlives it.
    fn shell_with_grandchild() -> (std::process::Child, Pinned) {
        use std::io::{BufRead, BufReader};
        let mut shell = Command::new("sh");
        shell.args(["-c", "sh -c 'sleep 1000 > /dev/null & echo $!; wait' & read -r line"]);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = shell.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        (shell, Pinned::of(line.trim().parse().unwrap()).unwrap())
    }

    #[test]
    fn m4a_known_ancestors_are_not_read_again_unless_one_of_them_has_ended() {
        let ancestors = Ancestors::default();
        let (mut shell, sleeper) = shell_with_grandchild();
        let above = || {
            let mut chain = Vec::new();
            let found = sleeper.above_knowing(Some(&ancestors), |link| {
                // A chain that does not count any more is read again from its beginning.
                if link.pid == sleeper.pid() {
                    chain.clear();
                }
                chain.push(link);
                (link.pid == own()).then_some(())
            });
            (found, chain)
        };
        let (found, chain) = above();
        assert_eq!(
            (found, chain.len()),
            (Above::Found(()), 4),
            "itself, two shells and this process: {chain:?}"
        );
        assert!(ancestors.find(sleeper.pid()).is_none(), "the process itself is always read");
        assert!(chain[1..].iter().all(|link| ancestors.find(link.pid) == Some(*link)));
        assert_eq!(above(), (Above::Found(()), chain.clone()));
        let unknown = Link { start_time: chain[1].start_time + 1, ..chain[1] };
        assert!(ancestors.all_live(&chain[1..]) && !ancestors.all_live(&[unknown]));
        shell.kill().unwrap();
        shell.wait().unwrap();
        // The shell between has another parent now, and is known with its former one.
        assert!(ancestors.find(chain[1].pid) == Some(chain[1]) && !ancestors.all_live(&chain[1..]));
        let (_, now) = above();
        assert!(now.len() > 1 && now[1].pid == chain[1].pid && now[1].parent != chain[2].pid, "{now:?}");
        assert!(!now.contains(&chain[2]), "{now:?}");
        let sleeper = rustix::process::Pid::from_raw(sleeper.pid()).unwrap();
        rustix::process::kill_process(sleeper, rustix::process::Signal::KILL).unwrap();
    }
}
