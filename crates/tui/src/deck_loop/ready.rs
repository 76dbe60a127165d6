//! Waiting: for keys, signals, the daemon, the panes, the terminal that takes bytes again, and the next deadline.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::{DeckLoop, LeftDeck};
use crate::TuiError;
use crate::model::splits::PaneId;
use crate::pane::Pane;
use crate::update::typed_pane;

/// What there is to do.
#[derive(Clone, Debug, Default)]
pub(super) struct Ready {
    pub(super) signals: bool,
    pub(super) input: bool,
    /// What the parser holds is due.
    pub(super) is_late: bool,
    /// The daemon has said something, or is gone.
    pub(super) daemon: bool,
    /// The panes whose programs have drawn something, or are gone.
    pub(super) panes: Vec<PaneId>,
    /// The settings may have changed.
    pub(super) settings: bool,
}

/// What a descriptor belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Daemon,
    Pane(PaneId),
    Settings,
}

impl DeckLoop<'_> {
    pub(super) fn wait(&mut self) -> Result<Ready, TuiError> {
        let now = Instant::now();
        self.due = self.model.next_deadline();
        self.parser.is_status_awaited = self.host.link.is_asking(now);
        let held_until = self.parser.pause().map(|pause| self.read_at + pause);
        let has_more = self.panes.values().any(Pane::has_more).then_some(Duration::ZERO);
        let keys_from = self.keys_from(now);
        let takes_keys = keys_from.is_some_and(|from| from <= now);
        let stall = keys_from.filter(|_| !takes_keys).map(|from| from.saturating_duration_since(now));
        let timeout = self.next_moment(held_until, now).into_iter().chain(has_more).chain(stall).min();
        let Some(terminal) = &self.host.terminal else { return Ok(Ready::default()) };
        let keys = if takes_keys { PollFlags::IN } else { PollFlags::empty() };
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(terminal.input(), keys),
        ];
        if !self.host.output.is_empty() {
            fds.push(PollFd::from_borrowed_fd(terminal.output(), PollFlags::OUT));
        }
        let sockets = self.sockets();
        let first = fds.len();
        fds.extend(sockets.iter().map(|(_, fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Ready { signals: true, ..Ready::default() }),
            Err(error) => return Err(TuiError::Terminal(error.into())),
        }
        let input = fds[1].revents();
        let has_input = input.contains(PollFlags::IN);
        let mut ready = Ready {
            signals: !fds[0].revents().is_empty(),
            input: has_input,
            // Its time alone decides: beside a program that draws without pause something is ready at every moment.
            is_late: !has_input && held_until.is_some_and(|until| until <= Instant::now()),
            ..Ready::default()
        };
        // Room for what is sent is no news; everything else is, also an end.
        let is_news = |fd: &PollFd<'_>| fd.revents().intersects(!PollFlags::OUT);
        for ((source, _, _), _) in sockets.iter().zip(&fds[first..]).filter(|(_, fd)| is_news(fd)) {
            match source {
                Source::Daemon => ready.daemon = true,
                Source::Pane(pane) => ready.panes.push(*pane),
                Source::Settings => ready.settings = true,
            }
        }
        if input.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) && !ready.input {
            self.left = Some(LeftDeck::HungUp);
        }
        Ok(ready)
    }

    /// From when on keys are read: the program that gets them may have to read first.
    fn keys_from(&mut self, now: Instant) -> Option<Instant> {
        let Some(pane) = typed_pane(&self.model) else { return Some(now) };
        match self.panes.get_mut(&pane) {
            Some(pane) => pane.keys_from(now),
            None => Some(now),
        }
    }

    fn sockets(&self) -> Vec<(Source, BorrowedFd<'_>, PollFlags)> {
        let interest =
            |is_sending: bool| if is_sending { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let control = self.daemon.wire.iter();
        let control = control.map(|wire| (Source::Daemon, wire.as_fd(), interest(wire.is_sending())));
        let panes = self.panes.iter().filter(|(_, pane)| !pane.is_ended() && !pane.is_lost());
        let panes =
            panes.map(|(id, pane)| (Source::Pane(*id), pane.wire.as_fd(), interest(pane.wire.is_sending())));
        let settings = self.watch.iter().map(|watch| (Source::Settings, watch.as_fd(), PollFlags::IN));
        control.chain(panes).chain(settings).collect()
    }

    /// How long until something is due by itself.
    fn next_moment(&self, held_until: Option<Instant>, now: Instant) -> Option<Duration> {
        let model = self.due.map(|due| self.began + Duration::from_millis(due));
        let panes = self.panes.values().filter_map(|pane| pane.due()).min();
        let away = self.daemon.next_attempt();
        let all = [model, panes, away, held_until, self.drawing.due];
        all.into_iter().flatten().min().map(|due| due.saturating_duration_since(now))
    }
}
