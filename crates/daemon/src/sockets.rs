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

use proto::Dirs;
use store::ensure_private_dir;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::daemon_lock::Locks;
use crate::door::Server;
use crate::inotify::{Inotify, WatchFlags};
use crate::warnings::{Cause, Warnings};

/// The sockets of a daemon. The locks are held as long as one of these exists.
#[derive(Clone)]
pub(crate) struct Kept(Arc<Mutex<Sockets>>);

impl Kept {
    /// Opens the sockets and starts to maintain them.
    pub(crate) fn open(
        places: &Arc<Dirs>,
        daemon_lock: Locks,
        warnings: &Warnings,
        doorway: &Server,
    ) -> io::Result<Self> {
        let mut sockets = Sockets {
            places: Arc::clone(places),
            daemon_lock,
            detour: Arc::new(Notify::new()),
            runtime: None,
            data: None,
            warnings: warnings.clone(),
            is_closed: false,
        };
        sockets.open(doorway)?;
        let detour = Arc::clone(&sockets.detour);
        let kept = Self(Arc::new(Mutex::new(sockets)));
        drop(tokio::spawn(kept.clone().keep(Arc::clone(places), detour, doorway.clone())));
        Ok(kept)
    }

    /// Recreates the sockets whenever they are gone, until the daemon ends.
    async fn keep(self, places: Arc<Dirs>, detour: Arc<Notify>, doorway: Server) {
        loop {
            let mut watch = Watch::start(&places);
            // What vanished before the watch is recreated, and then there is something new to watch.
            if self.mend(&doorway).await {
                continue;
            }
            tokio::select! {
                () = Watch::changed(&mut watch) => {}
                () = detour.notified() => {}
            }
        }
    }

    /// Recreates what is missing; returns true if something was.
    async fn mend(&self, doorway: &Server) -> bool {
        let (me, doorway) = (self.clone(), doorway.clone());
        let mended = crate::threads::run(move || {
            let mut sockets = me.0.lock().unwrap_or_else(PoisonError::into_inner);
            sockets.open(&doorway)
        });
        match mended.await {
            Ok(Ok(has_made)) => has_made,
            Ok(Err(error)) => {
                tracing::warn!(%error, "a socket could not be opened again");
                false
            }
            // The panic hook has reported it.
            Err(_) => false,
        }
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

/// The sockets, and what maintaining them needs.
struct Sockets {
    places: Arc<Dirs>,
    daemon_lock: Locks,
    /// Fires when a client came through the data directory.
    detour: Arc<Notify>,
    runtime: Option<SocketFile>,
    data: Option<SocketFile>,
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
    /// Opens both, unless they are open; returns true if one was not. The runtime directory's may fail,
    /// because clients find the other one.
    fn open(&mut self, doorway: &Server) -> io::Result<bool> {
        if self.is_closed {
            return Ok(false);
        }
        let (data, runtime) = self.mend();
        let has_made = [&data, &runtime].iter().any(|fresh| matches!(fresh, Ok(Some(_))));
        let in_data = self.serve_data(data, doorway);
        let in_runtime = self.serve_runtime(runtime, doorway);
        let served = if self.places.data_socket().is_some() { in_data } else { in_runtime };
        served.map(|()| has_made)
    }

    /// Recreates what is missing: directories, locks, socket files.
    fn mend(&mut self) -> (io::Result<Option<Fresh>>, io::Result<Option<Fresh>>) {
        let data = match self.places.data_socket() {
            Some(path) => self.daemon_lock.mend_data().and_then(|()| renew(self.data.as_ref(), &path)),
            None => self.daemon_lock.mend_data().map(|()| None),
        };
        let private = ensure_private_dir(&self.places.runtime).map_err(io::Error::other);
        let runtime = private
            .and_then(|()| self.daemon_lock.mend_runtime(&self.places))
            .and_then(|()| renew(self.runtime.as_ref(), &self.places.socket()));
        self.report_runtime_dir(runtime.as_ref().err());
        self.report_database();
        (data, runtime)
    }

    fn serve_data(&mut self, fresh: io::Result<Option<Fresh>>, doorway: &Server) -> io::Result<()> {
        let Some((mut entrance, listener)) = fresh? else { return Ok(()) };
        let listener = UnixListener::from_std(listener)?;
        let detour = Some(Arc::clone(&self.detour));
        entrance.serving = Some(tokio::spawn(doorway.clone().serve(listener, detour)));
        self.data = Some(entrance);
        Ok(())
    }

    fn serve_runtime(&mut self, fresh: io::Result<Option<Fresh>>, doorway: &Server) -> io::Result<()> {
        let Some((mut entrance, listener)) = fresh? else { return Ok(()) };
        let listener = UnixListener::from_std(listener)?;
        entrance.serving = Some(tokio::spawn(doorway.clone().serve(listener, None)));
        self.runtime = Some(entrance);
        Ok(())
    }

    /// Warns the user that the runtime directory cannot be used, once, and removes the warning when it can.
    fn report_runtime_dir(&mut self, error: Option<&io::Error>) {
        let text = error.map(|error| {
            let socket = self.places.data_socket().unwrap_or_else(|| self.places.socket());
            format!(
                "the runtime directory cannot be used ({error}); commands reach the daemon at {}",
                socket.display()
            )
        });
        self.warnings.set_all(Cause::RuntimeDir, text.into_iter().collect());
    }

    /// Warns when the database was removed: what is written to it is lost with this daemon.
    fn report_database(&mut self) {
        let file = self.places.database();
        let text = (!file.exists()).then(|| {
            format!(
                "{} was removed: nothing is saved, and the next daemon will not know these processes; \
                 end what matters, then run `qd shutdown --kill`",
                file.display()
            )
        });
        self.warnings.set_all(Cause::Database, text.into_iter().collect());
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
    listener.set_nonblocking(true)?;
    let entrance = SocketFile { path: path.to_owned(), file: identity(path)?, serving: None };
    Ok(Some((entrance, listener)))
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = std::fs::symlink_metadata(path)?;
    Ok((file.dev(), file.ino()))
}

/// Notices when something is removed from the two directories, or one of them is.
struct Watch(AsyncFd<Inotify>);

impl Watch {
    /// Starts to watch. Without inotify only clients through the data directory are noticed.
    fn start(places: &Dirs) -> Option<Self> {
        let started = Self::try_start(places);
        if let Err(error) = &started {
            tracing::debug!(%error, "the sockets' directories are not watched");
        }
        started.ok()
    }

    fn try_start(places: &Dirs) -> io::Result<Self> {
        let inotify = Inotify::new()?;
        let lost =
            WatchFlags::DELETE | WatchFlags::DELETE_SELF | WatchFlags::MOVED_FROM | WatchFlags::MOVE_SELF;
        let watches = [&places.runtime, &places.data].map(|directory| inotify.watch(directory, lost).is_ok());
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
