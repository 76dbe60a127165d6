//! The sockets for clients: one in the runtime directory, one in the data directory.
//!
//! The runtime directory may vanish at any moment: systemd removes it at the last logout, people remove it by
//! hand. This recreates sockets and locks where clients look for them. It notices a removal by inotify, and
//! checks again whenever a client came through the data directory, because a directory that is created later
//! causes no event.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use directory_watch::{Inotify, WatchFlags};
use engine::{AuditNote, Caller, Command, Principal};
use proto::Dirs;
use proto::request::Shutdown;
use store::ensure_private_dir;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::daemon_lock::Locks;
use crate::directory_lock::{describe, holder_of};
use crate::door::Server;
use crate::warnings::{Cause, Warnings};

/// How soon a socket that could not be opened is tried again. Each failure doubles the pause.
const AGAIN: Duration = Duration::from_millis(500);
/// The longest such pause: a runtime directory may be missing until the next login.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);
/// The most connections that wait to be accepted; further connections wait in the kernel.
const WAITING: i32 = 128;

/// The sockets of a daemon. The locks are held as long as one of these exists.
#[derive(Clone)]
pub(crate) struct Kept(Arc<Mutex<Sockets>>);

impl Kept {
    /// Opens the sockets and starts to maintain them.
    pub(crate) fn open(
        dirs: &Arc<Dirs>,
        daemon_lock: Locks,
        warnings: &Warnings,
        server: &Server,
    ) -> io::Result<Self> {
        let mut sockets = Sockets {
            dirs: Arc::clone(dirs),
            has_database: dirs.database().exists(),
            daemon_lock,
            detour: Arc::new(Notify::new()),
            runtime: None,
            data: None,
            rival: None,
            warnings: warnings.clone(),
            is_closed: false,
        };
        sockets.open(server)?;
        let detour = Arc::clone(&sockets.detour);
        let kept = Self(Arc::new(Mutex::new(sockets)));
        drop(tokio::spawn(kept.clone().keep(Arc::clone(dirs), detour, server.clone())));
        Ok(kept)
    }

    /// Recreates the sockets whenever they are gone, until the daemon ends.
    async fn keep(self, dirs: Arc<Dirs>, detour: Arc<Notify>, server: Server) {
        let mut pause = AGAIN;
        loop {
            let mut watch = SocketWatch::start(&dirs);
            let opened = self.mend(&server).await;
            let is_settled = opened == Opened::Before && watch.is_some();
            // What vanished before the watch was recreated, and now there is something new to watch.
            if opened == Opened::Now {
                pause = AGAIN;
                continue;
            }
            tokio::select! {
                () = SocketWatch::changed(&mut watch) => {}
                () = detour.notified() => {}
                // Nothing announces that what has failed would work now, nor what happens without a watch.
                () = tokio::time::sleep(pause), if !is_settled => {}
            }
            pause = if is_settled { AGAIN } else { (pause * 2).min(LONGEST_PAUSE) };
        }
    }

    /// Recreates what is missing.
    async fn mend(&self, server: &Server) -> Opened {
        let (me, shared) = (self.clone(), server.clone());
        let mended = crate::threads::run(move || {
            let mut sockets = me.0.lock().unwrap_or_else(PoisonError::into_inner);
            sockets.open(&shared)
        });
        let mended = mended.await;
        self.mend_database(server).await;
        self.give_way(server).await;
        match mended {
            Ok(Ok(opened)) => opened,
            Ok(Err(error)) => {
                tracing::warn!(%error, "a socket could not be opened again");
                Opened::InPart
            }
            // The panic hook has reported it.
            Err(_) => Opened::InPart,
        }
    }

    /// Ends this daemon if another one has the data directory that is at its path now: the processes stay, and the
    /// other daemon adopts them. A process of a run is no daemon, and only warned about.
    async fn give_way(&self, server: &Server) {
        let rival = self.0.lock().unwrap_or_else(PoisonError::into_inner).rival;
        let Some(rival) = rival.filter(|rival| !holder::run_mark::is_marked(*rival)) else { return };
        tracing::warn!(pid = rival, "another daemon has the data directory: this one ends, processes stay");
        let shutdown = Shutdown { kill: false, stop: proto::Stop::default() };
        drop(server.engine.ask(Principal::unlimited(Caller::Person), Command::Shutdown(shutdown)).await);
    }

    /// Makes the store write the database again if it was removed: a note in the audit log is a change, and
    /// the store looks for its file before each. If it cannot, its own warning says so until it can.
    async fn mend_database(&self, server: &Server) {
        let file = self.0.lock().unwrap_or_else(PoisonError::into_inner).lost_database();
        let Some(file) = file else { return };
        let detail = format!("{} was removed while the daemon runs", file.display());
        let (verb, decision) = ("save", "renewed".to_owned());
        server
            .records
            .note(AuditNote { caller: None, via: None, verb, target: None, decision, detail })
            .await;
    }

    /// Removes the socket files at the end of the daemon.
    pub(crate) fn remove(&self) {
        let mut sockets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sockets.is_closed = true;
        for entrance in [&sockets.runtime, &sockets.data].into_iter().flatten() {
            if entrance.is_there() {
                let _gone = std::fs::remove_file(&entrance.path);
            }
        }
    }
}

/// Since when both sockets are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opened {
    Before,
    Now,
    /// One of them is not: its directory cannot be made, or vanished again while it was.
    InPart,
}

/// The sockets, and what maintaining them needs.
struct Sockets {
    dirs: Arc<Dirs>,
    /// False for a daemon whose database is in memory.
    has_database: bool,
    daemon_lock: Locks,
    /// Fires when a client came through the data directory.
    detour: Arc<Notify>,
    runtime: Option<SocketFile>,
    data: Option<SocketFile>,
    /// The process that holds the data directory by which ours was replaced.
    rival: Option<i32>,
    warnings: Warnings,
    /// The daemon ends: what it removes itself is not recreated.
    is_closed: bool,
}

/// A socket file of ours.
struct SocketFile {
    path: PathBuf,
    /// Device and inode of the socket's file.
    file: (u64, u64),
    serving: Option<JoinHandle<()>>,
}

impl SocketFile {
    /// Returns true if the file at its path is still our socket.
    fn is_there(&self) -> bool {
        identity(&self.path).is_ok_and(|file| file == self.file)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if let Some(serving) = &self.serving {
            serving.abort();
        }
    }
}

/// A socket that listens and is not served yet.
type Fresh = (SocketFile, std::os::unix::net::UnixListener);

impl Sockets {
    /// Opens both, unless they are open. The runtime directory's may fail, because clients find the other one.
    fn open(&mut self, server: &Server) -> io::Result<Opened> {
        if self.is_closed {
            return Ok(Opened::Before);
        }
        let (data, runtime) = self.mend();
        let has_made = [&data, &runtime].iter().any(|fresh| matches!(fresh, Ok(Some(_))));
        let in_data = self.serve_data(data, server);
        let in_runtime = self.serve_runtime(runtime, server);
        let opened = match (&in_data, &in_runtime) {
            (Ok(()), Ok(())) if has_made => Opened::Now,
            (Ok(()), Ok(())) => Opened::Before,
            _ => Opened::InPart,
        };
        let served = if self.dirs.data_socket().is_some() { in_data } else { in_runtime };
        served.map(|()| opened)
    }

    /// Recreates what is missing: directories, locks, socket files.
    fn mend(&mut self) -> (io::Result<Option<Fresh>>, io::Result<Option<Fresh>>) {
        let locked = self.daemon_lock.mend_data();
        self.report_rival(locked.as_ref().err());
        let data = match self.dirs.data_socket() {
            Some(path) => locked.and_then(|()| renew(self.data.as_ref(), &path)),
            None => locked.map(|()| None),
        };
        let private = ensure_private_dir(&self.dirs.runtime).map_err(io::Error::other);
        let runtime = private
            .and_then(|()| self.daemon_lock.mend_runtime(&self.dirs))
            .and_then(|()| renew(self.runtime.as_ref(), &self.dirs.socket()));
        self.report_runtime_dir(runtime.as_ref().err());
        (data, runtime)
    }

    fn serve_data(&mut self, fresh: io::Result<Option<Fresh>>, server: &Server) -> io::Result<()> {
        let Some((mut entrance, listener)) = fresh? else { return Ok(()) };
        let listener = UnixListener::from_std(listener)?;
        let detour = Some(Arc::clone(&self.detour));
        entrance.serving = Some(tokio::spawn(server.clone().serve(listener, detour)));
        self.data = Some(entrance);
        Ok(())
    }

    fn serve_runtime(&mut self, fresh: io::Result<Option<Fresh>>, server: &Server) -> io::Result<()> {
        let Some((mut entrance, listener)) = fresh? else { return Ok(()) };
        let listener = UnixListener::from_std(listener)?;
        entrance.serving = Some(tokio::spawn(server.clone().serve(listener, None)));
        self.runtime = Some(entrance);
        Ok(())
    }

    /// Notes which process holds the directory that has replaced ours, and warns the user of it while it does.
    fn report_rival(&mut self, error: Option<&io::Error>) {
        let is_busy = error.is_some_and(|error| error.kind() == io::ErrorKind::ResourceBusy);
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let holder = is_busy.then(|| holder_of(&self.dirs.data)).flatten();
        self.rival = holder.filter(|pid| *pid != own);
        let text = self.rival.map(|pid| {
            let (data, process) = (self.dirs.data.display(), describe(&pid.to_string()));
            format!(
                "{data} was replaced, and another process (pid {process}) holds the new one, so nothing is saved: end it"
            )
        });
        self.warnings.set_all(Cause::DataDir, text.into_iter().collect());
    }

    /// Warns the user that the runtime directory cannot be used, once, and removes the warning when it can.
    fn report_runtime_dir(&mut self, error: Option<&io::Error>) {
        let text = error.map(|error| {
            let socket = self.dirs.data_socket().unwrap_or_else(|| self.dirs.socket());
            format!(
                "the runtime directory cannot be used ({error}); commands reach the daemon at {}",
                socket.display()
            )
        });
        self.warnings.set_all(Cause::RuntimeDir, text.into_iter().collect());
    }

    /// Returns the database's file if it was removed.
    fn lost_database(&self) -> Option<PathBuf> {
        let file = self.dirs.database();
        (self.has_database && !self.is_closed && !file.exists()).then_some(file)
    }
}

/// Listens at `path`, unless the file there is still our socket. The lock is held, so a file there belongs to
/// no living daemon; the directory is private, so no other user can reach the socket at any moment.
fn renew(current: Option<&SocketFile>, path: &Path) -> io::Result<Option<Fresh>> {
    if current.is_some_and(SocketFile::is_there) {
        return Ok(None);
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    // A short queue: nobody waits behind thousands of connections that a program opens and leaves.
    rustix::net::listen(&listener, WAITING)?;
    listener.set_nonblocking(true)?;
    let entrance = SocketFile { path: path.to_owned(), file: identity(path)?, serving: None };
    Ok(Some((entrance, listener)))
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = std::fs::symlink_metadata(path)?;
    Ok((file.dev(), file.ino()))
}

/// Notices when something is removed or replaced in the two directories, or one of them is.
struct SocketWatch(AsyncFd<Inotify>);

impl SocketWatch {
    /// Starts to watch. Without inotify only clients through the data directory are noticed.
    fn start(dirs: &Dirs) -> Option<Self> {
        let started = Self::try_start(dirs);
        if let Err(error) = &started {
            tracing::debug!(%error, "the sockets' directories are not watched");
        }
        started.ok()
    }

    fn try_start(dirs: &Dirs) -> io::Result<Self> {
        let inotify = Inotify::new()?;
        // Moving a file to the place of ours removes ours without a word about that.
        let lost = WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVE_SELF;
        let watches = [&dirs.runtime, &dirs.data].map(|directory| inotify.watch(directory, lost).is_ok());
        if watches == [false, false] {
            return Err(io::ErrorKind::NotFound.into());
        }
        #[expect(
            deprecated,
            reason = "its replacement is unsafe; the descriptor is owned by the AsyncFd until it is dropped"
        )]
        let watch = AsyncFd::new(inotify)?;
        Ok(Self(watch))
    }

    /// Waits for the next removal.
    async fn changed(watch: &mut Option<Self>) {
        let Some(Self(watch)) = watch else { return std::future::pending().await };
        if let Ok(mut ready) = watch.readable_mut().await {
            // What was removed does not matter: everything is checked.
            let _events = ready.get_inner().events();
            ready.clear_ready();
        }
    }
}
