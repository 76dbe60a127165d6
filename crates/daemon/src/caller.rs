//! Who is at the door: a person, something inside one of our runs, or nobody.
//!
//! Owns the look at the peer's lineage and what a token adds to it. Refuses trusting anything the peer says about itself:
//! a token can only take away what the lineage gives.

use std::path::Path;
use std::time::Instant;

use engine::{AuditNote, Caller};
use tokio::net::UnixStream;
use tokio::net::unix::UCred;

use crate::screens::Screens;
use crate::tokens::{Bearer, Tokens, Verdict};

/// Longest chain of parents that is followed.
const MAX_LINEAGE: usize = 256;
/// What a holder calls itself.
const HOLDER: &str = "qd-hold\n";

/// The peer's credentials, if it is the same user.
pub(crate) fn same_user(stream: &UnixStream) -> Option<UCred> {
    let peer = stream.peer_cred().ok()?;
    (peer.uid() == rustix::process::geteuid().as_raw()).then_some(peer)
}

/// Whoever is at the other end of one connection.
pub(crate) struct Visitor {
    /// None: the kernel does not say, as for a peer in another pid namespace.
    pid: Option<i32>,
    lineage: Caller,
    /// It brought a wrong token: whatever it says later, it is nobody on this connection.
    is_refused: bool,
}

impl Visitor {
    /// Looks at who has come. `holders` is where our holders listen.
    pub(crate) fn meet(peer: &UCred, screens: &Screens, holders: &Path) -> Self {
        let pid = peer.pid();
        let lineage = pid.map_or(Caller::Nobody, |pid| lineage(pid, screens, holders));
        Self { pid, lineage, is_refused: false }
    }

    /// Whom it is taken for.
    pub(crate) fn caller(&self) -> Caller {
        if self.is_refused { Caller::Nobody } else { self.lineage }
    }

    /// Looks again at somebody who could not be placed: a program may knock before its run is hosted.
    pub(crate) fn look_again(&mut self, screens: &Screens, holders: &Path) {
        if let (Caller::Nobody, Some(pid)) = (self.lineage, self.pid) {
            self.lineage = lineage(pid, screens, holders);
        }
    }

    /// It brings a token. What is to be written down about that, if it is a wrong one.
    pub(crate) fn bring(&mut self, token: &str, tokens: &Tokens) -> Option<AuditNote> {
        let bearer = self.bearer();
        let verdict = tokens.judge(bearer, self.lineage, token, Instant::now());
        if verdict == Verdict::Own {
            return None;
        }
        self.is_refused = true;
        let is_last = tokens.has_just_tired(bearer);
        if is_last {
            tracing::warn!(pid = bearer.0, "too many wrong tokens: no more of them are looked at");
        }
        let (target, what) = match verdict {
            Verdict::Own | Verdict::Unheard => return None,
            Verdict::Stolen(run) => (Some(run.process.to_string()), "the token of another run"),
            Verdict::Unknown => (None, "a token of no living run"),
        };
        let more = if is_last { ", and no more are looked at" } else { "" };
        Some(AuditNote {
            caller: Some(self.lineage),
            verb: "hello",
            target,
            decision: "unauthorized".to_owned(),
            detail: format!("pid {} brought {what}{more}", bearer.0),
        })
    }

    fn bearer(&self) -> Bearer {
        let pid = self.pid.unwrap_or(0);
        (pid, holder::tree::start_time(pid).unwrap_or(0))
    }
}

/// Whom the kernel says a process is. A descendant of a holder is that run, however it got its socket; one whose lineage
/// cannot be read, or leads to a holder of ours that we do not host, is nobody. So is one that comes from a run and has
/// got rid of its holder: the mark of a run outlives every parent.
fn lineage(peer: i32, screens: &Screens, holders: &Path) -> Caller {
    let mut pid = peer;
    for _ in 0..MAX_LINEAGE {
        if let Some(run) = screens.run_of_holder(pid) {
            return Caller::Process(run);
        }
        if is_own_holder(pid, holders) {
            return Caller::Nobody;
        }
        match holder::tree::stat(pid).map(|stat| stat.parent) {
            Some(parent) if parent > 1 => pid = parent,
            Some(_) if holder::mark::has_lost_its_holder(peer) => return Caller::Nobody,
            Some(_) => return Caller::Human,
            // A `/proc` with hidepid shows nothing of other users' processes, such as the login's; none of them is a holder
            // of ours.
            None if is_another_users(pid) && !holder::mark::has_lost_its_holder(peer) => {
                return Caller::Human;
            }
            None => return Caller::Nobody,
        }
    }
    Caller::Nobody
}

/// Whether there is such a process and it belongs to another user.
fn is_another_users(pid: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::PERM))
}

/// Whether a process is a holder that listens where ours do. Another daemon's holder is not: its runs may well be where
/// a person sits.
fn is_own_holder(pid: i32, holders: &Path) -> bool {
    if std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name != HOLDER) {
        return false;
    }
    let Some(holders) = holders.to_str() else { return true };
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let ours: Vec<&str> = sockets.lines().filter_map(|line| inode_below(line, holders)).collect();
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut links = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.any(|link| {
        let inode = link.to_str().and_then(|link| link.strip_prefix("socket:[")?.strip_suffix(']'));
        inode.is_some_and(|inode| ours.contains(&inode))
    })
}

/// The inode in a line of `/proc/net/unix` whose socket lies below this directory. The path is the rest of the line, and
/// may have spaces in it.
fn inode_below<'a>(line: &'a str, directory: &str) -> Option<&'a str> {
    let path = line.get(line.find('/')?..)?;
    let inode = line.split_ascii_whitespace().nth(6)?;
    path.strip_prefix(directory)?.starts_with('/').then_some(inode)
}

/// The caller's name in a welcome.
pub(crate) fn name(caller: Caller) -> String {
    match caller {
        Caller::Human => "human".to_owned(),
        Caller::Process(run) => run.process.to_string(),
        Caller::Nobody => "nobody".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::inode_below;

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
}
