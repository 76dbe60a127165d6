//! Identifies the caller of a connection: a person, a process inside one of our runs, or nobody.
//!
//! It uses the peer's lineage from the kernel. A token can only reduce what the lineage gives.

use std::path::Path;
use std::time::Instant;

use engine::{AuditNote, Caller, RunKey};
use holder::origin::{Above, Ancestors, Link, Pinned};
use proto::ProcessId;
use proto::rights::PERSON;
use tokio::net::UnixStream;

use crate::screens::Screens;
use crate::tokens::{PidIdentity, TokenCheck, Tokens};

/// Who shares limits and turns. A restart does not make a process another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    People,
    Process(ProcessId),
    Nobody,
}

impl Who {
    pub(crate) fn of(caller: Caller) -> Self {
        match caller {
            Caller::Person => Self::People,
            // A program may run where a person sits, so it is counted like one.
            Caller::Process(run) | Caller::Via(run) => Self::Process(run.process),
            Caller::Nobody => Self::Nobody,
        }
    }
}

/// Returns true if the peer is the same user.
pub(crate) fn is_same_user(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw())
}

/// The peer of one connection.
pub(crate) struct Peer {
    /// Its identity when it connected, from the kernel.
    bearer: PidIdentity,
    lineage: Caller,
    /// It comes from a run that is not hosted yet: kept by its pidfd, to be checked again.
    early: Option<Pinned>,
    /// It sent a wrong token: it stays nobody on this connection.
    is_refused: bool,
}

impl Peer {
    /// Identifies the peer, once. `holders` is the directory where our holders listen.
    pub(crate) fn identify(
        stream: &UnixStream,
        screens: &Screens,
        holders: &Path,
        ancestors: &Ancestors,
    ) -> Self {
        use std::os::fd::AsFd;
        let Some(peer) = Pinned::peer(stream.as_fd()) else {
            return Self { bearer: (0, 0), lineage: Caller::Nobody, early: None, is_refused: false };
        };
        let mut found =
            Self { bearer: peer.identity(), lineage: Caller::Nobody, early: Some(peer), is_refused: false };
        found.identify_again(screens, holders, ancestors);
        found
    }

    /// Returns the caller that it counts as.
    pub(crate) fn caller(&self) -> Caller {
        if self.is_refused { Caller::Nobody } else { self.lineage }
    }

    /// Checks a peer again whose run was not hosted: a program may connect before its run is. No other peer
    /// is checked twice.
    pub(crate) fn identify_again(&mut self, screens: &Screens, holders: &Path, ancestors: &Ancestors) {
        let Some(peer) = self.early.take() else { return };
        match lineage(&peer, screens, holders, ancestors) {
            PeerOrigin::Unhosted => self.early = Some(peer),
            PeerOrigin::Run(run) => self.lineage = Caller::Process(run),
            PeerOrigin::Outside => self.lineage = Caller::Person,
            PeerOrigin::Nowhere => {}
        }
    }

    /// Returns true while it comes from a run that is not hosted yet.
    pub(crate) fn is_early(&self) -> bool {
        self.early.is_some()
    }

    /// Processes a token; returns the audit note for a wrong one.
    pub(crate) fn check_token(&mut self, token: &str, tokens: &Tokens) -> Option<AuditNote> {
        let bearer = self.bearer;
        let verdict = tokens.judge(bearer, self.lineage, token, Instant::now());
        if verdict == TokenCheck::Own {
            return None;
        }
        self.is_refused = true;
        let is_last = tokens.has_just_tired(bearer);
        if is_last {
            tracing::warn!(pid = bearer.0, "too many wrong tokens: no more of them are looked at");
        }
        let (target, what) = match verdict {
            TokenCheck::Own | TokenCheck::TooManyTries => return None,
            TokenCheck::Stolen(run) => (Some(run.process.to_string()), "the token of another run"),
            TokenCheck::Unknown => (None, "a token of no living run"),
        };
        let more = if is_last { ", and no more are looked at" } else { "" };
        Some(AuditNote {
            caller: Some(self.lineage),
            via: None,
            verb: "hello",
            target,
            decision: "unauthorized".to_owned(),
            detail: format!("pid {} brought {what}{more}", bearer.0),
        })
    }
}

/// The origin of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeerOrigin {
    /// From a run that we host.
    Run(RunKey),
    /// From a run of ours that we do not host, or not yet.
    Unhosted,
    /// From none of our runs: a person.
    Outside,
    /// From the daemon itself, from a run without its holder, or unknown.
    Nowhere,
}

/// Finds a process's origin by its lineage. A descendant of a holder belongs to that run, however it got its
/// socket. A program that the daemon itself runs (for a version, a notification) is nobody: a file that an
/// agent has written may decide about it. It also carries the mark of a run, so it stays nobody when the
/// daemon is gone.
fn lineage(peer: &Pinned, screens: &Screens, holders: &Path, ancestors: &Ancestors) -> PeerOrigin {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let visit = |link: Link| match screens.run_of_holder(link.pid, link.start_time) {
        Some(run) => Some(PeerOrigin::Run(run)),
        None if link.pid == own => Some(PeerOrigin::Nowhere),
        None => link.is_holder_in(holders).then_some(PeerOrigin::Unhosted),
    };
    match peer.above_knowing(Some(ancestors), visit) {
        Above::Found(place) => place,
        Above::Nothing => PeerOrigin::Outside,
        Above::Lost | Above::Unknown => PeerOrigin::Nowhere,
    }
}

/// Returns the caller's name in a welcome.
pub(crate) fn name(caller: Caller) -> String {
    match caller {
        Caller::Person | Caller::Via(_) => PERSON.to_owned(),
        Caller::Process(run) => run.process.to_string(),
        Caller::Nobody => "nobody".to_owned(),
    }
}
