//! Ends a daemon and waits until its process is gone. It does not report processes as ended when another
//! request has ended the daemon first.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use proto::request::Shutdown;

use crate::connection::broken;
use crate::{ClientError, Connection, ready};

impl Connection {
    /// Ends the daemon and waits until its process is gone, so that another one may take its place. Returns
    /// false if it was not gone before `deadline`.
    ///
    /// A plain shutdown also succeeds when the daemon is ending for another request. A request to end every
    /// process gets an error that [is leaving](ClientError::is_leaving) once the daemon is gone, because it
    /// may have left them running.
    pub fn shutdown(&mut self, arguments: Shutdown, deadline: Instant) -> Result<bool, ClientError> {
        // The connection ends before the process does: its end proves nothing about locks and sockets.
        let process = match self.daemon_process() {
            Ok(process) => process,
            // It was gone before it accepted the connection.
            Err(error) if is_no_process(&error) && !arguments.kill => return Ok(true),
            Err(error) if is_no_process(&error) => return Err(ClientError::gone()),
            Err(error) => return Err(ClientError::Broken(error)),
        };
        // Ending everything takes time; a daemon that does not even answer `status` will not end anything.
        let agreed = self.status().and_then(|_| self.begin_shutdown(arguments));
        match agreed {
            // It ends all the same.
            Err(error) if error.is_survived() => self.is_gone(process, deadline).and(Err(error)),
            Err(error) if !error.is_leaving() => Err(error),
            Err(error) if arguments.kill => self.is_gone(process, deadline).and(Err(error)),
            _ => self.is_gone(process, deadline),
        }
    }

    /// Waits for the end of the daemon. One outside of our namespace of pids cannot be watched: there the end of the
    /// connection, which comes a moment earlier, has to do.
    fn is_gone(&mut self, process: Option<OwnedFd>, deadline: Instant) -> Result<bool, ClientError> {
        if let Some(process) = process {
            return ready::readable_before(process.as_fd(), deadline).map_err(broken);
        }
        loop {
            match self.receive_before(deadline) {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(false),
                Err(error) if error.is_leaving() => return Ok(true),
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_no_process(error: &std::io::Error) -> bool {
    rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::SRCH)
}
