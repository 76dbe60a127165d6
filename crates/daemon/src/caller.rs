//! Who is at the door: a person, something inside one of our runs, or nobody.
//!
//! Owns the look at the peer's lineage. Refuses trusting anything the peer says about itself.

use engine::Caller;
use tokio::net::UnixStream;
use tokio::net::unix::UCred;

use crate::screens::Screens;

/// Longest chain of parents that is followed.
const MAX_LINEAGE: usize = 256;

/// The peer's credentials, if it is the same user.
pub(crate) fn same_user(stream: &UnixStream) -> Option<UCred> {
    let peer = stream.peer_cred().ok()?;
    (peer.uid() == rustix::process::geteuid().as_raw()).then_some(peer)
}

/// Whom the kernel says the peer is. A descendant of a holder is that run, however it got its socket; a peer whose
/// lineage cannot be read is nobody.
pub(crate) fn identify(peer: &UCred, screens: &Screens) -> Caller {
    let Some(mut pid) = peer.pid() else { return Caller::Nobody };
    for _ in 0..MAX_LINEAGE {
        if let Some(run) = screens.run_of_holder(pid) {
            return Caller::Process(run);
        }
        match holder::tree::stat(pid).map(|stat| stat.parent) {
            Some(parent) if parent > 1 => pid = parent,
            Some(_) => return Caller::Human,
            None => return Caller::Nobody,
        }
    }
    Caller::Nobody
}

/// The caller's name in a welcome.
pub(crate) fn name(caller: Caller) -> String {
    match caller {
        Caller::Human => "human".to_owned(),
        Caller::Process(run) => run.process.to_string(),
        Caller::Nobody => "nobody".to_owned(),
    }
}
