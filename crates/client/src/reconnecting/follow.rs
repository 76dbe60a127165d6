//! Follows a log across the ends of daemons: no byte twice, none left out, and never in another run's log.

use proto::Size;
use proto::reply::Following;
use proto::request::{Follow, RunChoice, Target};

use super::{Next, check_runs};
use crate::reconnect::{Reconnected, begin_again};
use crate::{Chunk, ClientError, Connection, DaemonAddress, FollowStream, Stops, StreamEnd};

/// An ongoing `follow` that survives the end of a daemon.
#[derive(Debug)]
pub struct ReconnectingFollow {
    stream: FollowStream,
    stops: Stops,
    /// The first daemon's reply.
    pub began: Following,
    /// The offset of the next byte.
    at: u64,
    /// True if it ends with the run; otherwise at the end of the log when it began.
    is_live: bool,
    /// True if it also gets the times of output.
    has_times: bool,
    /// True for an earlier run's log, which no longer changes.
    is_earlier: bool,
    /// Where the next daemon must end: it would otherwise use the end of the log at that time.
    until: Option<u64>,
    /// The last announced size.
    size: Size,
    /// The run's end was announced: only the end of the stream is missing.
    is_ended: bool,
}

impl ReconnectingFollow {
    /// Begins to follow.
    pub fn begin(connection: Connection, follow: Follow, stops: Stops) -> Result<Self, ClientError> {
        let (is_live, has_times, is_earlier) = (follow.live, follow.times, !follow.run.is_present());
        let stream = FollowStream::begin(connection, follow)?;
        let began = stream.began.clone();
        Ok(Self {
            stream,
            stops,
            at: began.from,
            is_live,
            has_times,
            is_earlier,
            until: None,
            size: began.size,
            began,
            is_ended: false,
        })
    }

    /// Returns the next piece, from the present daemon.
    pub fn next(&mut self, address: &mut DaemonAddress) -> Result<Next<Chunk>, ClientError> {
        loop {
            if self.until.is_some_and(|until| self.at >= until) {
                return Ok(Next::Over);
            }
            match self.stream.next_unless(&mut self.stops) {
                Ok(Next::Came(chunk)) => return Ok(Next::Came(self.note(chunk))),
                Err(error) if error.is_leaving() && self.is_ended => return Ok(Next::Over),
                Err(error) if error.is_leaving() => {
                    if let Some(stop) = self.follow_on(address, error)? {
                        return Ok(Next::Stopped(stop));
                    }
                    let size = self.stream.began.size;
                    if self.is_live && size != self.size {
                        return Ok(Next::Came(self.note(Chunk::Resized(size))));
                    }
                }
                other => return other,
            }
        }
    }

    /// Records the position, and cuts off what has grown since.
    fn note(&mut self, mut chunk: Chunk) -> Chunk {
        match &mut chunk {
            Chunk::Bytes { offset, bytes } => {
                let most = self.until.map_or(u64::MAX, |until| until.saturating_sub(*offset));
                bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
                self.at = *offset + bytes.len() as u64;
            }
            Chunk::Gap { to, .. } => self.at = *to,
            Chunk::Time(_) | Chunk::Screen(_) => {}
            Chunk::Resized(size) => self.size = *size,
            Chunk::Exit(_) => self.is_ended = true,
        }
        chunk
    }

    /// Continues with the next daemon, unless this side stops meanwhile.
    fn follow_on(
        &mut self,
        address: &mut DaemonAddress,
        parting: ClientError,
    ) -> Result<Option<StreamEnd>, ClientError> {
        let Self { stops, began, at, is_live, has_times, is_earlier, .. } = self;
        let begun = begin_again(address, stops, parting, |mut connection| {
            let mut run = RunChoice::Number(began.run.0);
            if !*is_earlier {
                check_runs(&mut connection, &[(began.id, began.run)])?;
                run = RunChoice::Present;
            }
            let target = Target(began.id.to_string());
            let (from, live, times) = (Some(*at), *is_live, *has_times);
            FollowStream::begin(connection, Follow { target, run, from, live, times, ..Follow::default() })
        })?;
        match begun {
            Reconnected::Stopped(stop) => Ok(Some(stop)),
            Reconnected::There(stream) => {
                self.stream = stream;
                self.until = (!self.is_live).then_some(self.began.log.end);
                Ok(None)
            }
        }
    }
}
