//! One alarm on the boot clock: it fires at a moment even if the machine slept until after it. It uses a
//! timer descriptor and has no ticks.

use std::io;
use std::os::fd::OwnedFd;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;

/// The alarm.
pub(crate) struct Alarm {
    timer: AsyncFd<OwnedFd>,
    set_for: Option<u64>,
}

impl Alarm {
    pub(crate) fn new() -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        #[expect(
            deprecated,
            reason = "its replacement is unsafe; the descriptor is owned by the AsyncFd until it is dropped"
        )]
        let timer = AsyncFd::new(timer)?;
        Ok(Self { timer, set_for: None })
    }

    /// Sets it for a moment of uptime, or switches it off.
    pub(crate) fn set(&mut self, at_ms: Option<u64>) {
        if self.set_for == at_ms {
            return;
        }
        self.set_for = at_ms;
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        // A value of zero would switch the timer off, so a past moment becomes the first one after it.
        let value = at_ms.map_or(zero, |at| Timespec {
            tv_sec: i64::try_from(at / 1000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(at % 1000 * 1_000_000).unwrap_or(0).max(1),
        });
        let spec = Itimerspec { it_interval: zero, it_value: value };
        if let Err(error) = timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::ABSTIME, &spec) {
            tracing::error!(%error, "the alarm cannot be set");
        }
    }

    /// Returns when it fires.
    pub(crate) async fn rings(&mut self) {
        if let Ok(mut guard) = self.timer.readable().await {
            let _count = rustix::io::read(self.timer.get_ref(), &mut [0u8; 8]);
            guard.clear_ready();
        }
        self.set_for = None;
    }
}
