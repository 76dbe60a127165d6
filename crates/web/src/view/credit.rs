//! How much may be on its way to a client: it acknowledges the offsets that it has parsed. A client that does not keep
//! up is sent nothing more; the daemon then skips ahead for it, and the child never notices.

use std::collections::VecDeque;

/// The most bytes that a client has not acknowledged.
const WINDOW: usize = 512 << 10; // 512 KiB

/// The frames on their way.
#[derive(Debug, Default)]
pub(super) struct Credit {
    /// The end and the length of each frame.
    frames: VecDeque<(u64, usize)>,
    unacknowledged: usize,
}

impl Credit {
    /// Returns true if another frame may be sent.
    pub(super) fn is_open(&self) -> bool {
        self.unacknowledged < WINDOW
    }

    /// Records a frame that is sent.
    pub(super) fn sent(&mut self, end: u64, length: usize) {
        self.frames.push_back((end, length));
        self.unacknowledged += length;
    }

    /// Records that the client has parsed everything up to `offset`.
    pub(super) fn acknowledge(&mut self, offset: u64) {
        while let Some((end, length)) = self.frames.front().copied()
            && end <= offset
        {
            self.frames.pop_front();
            self.unacknowledged -= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w17_a_client_that_acknowledges_nothing_has_one_window_on_its_way() {
        let mut credit = Credit::default();
        let mut sent = 0;
        while credit.is_open() {
            sent += 64 << 10;
            credit.sent(sent, 64 << 10);
        }
        assert_eq!(sent, WINDOW as u64);
        credit.acknowledge(1);
        assert!(!credit.is_open(), "half a frame is none");
        credit.acknowledge(64 << 10);
        assert!(credit.is_open());
        credit.acknowledge(u64::MAX);
        assert_eq!(credit.unacknowledged, 0);
    }
}
