//! What was typed into a pane and is not known to have reached its program, for the next daemon if this one dies.
//!
//! The daemon gives receipts. The end of a socket tells whether it had read everything: without unread bytes everything that
//! was sent has been typed, although the last receipt may be missing; typing it again would be worse than losing it.

use std::collections::VecDeque;

/// One piece of input.
#[derive(Debug)]
struct Piece {
    bytes: Vec<u8>,
    /// Where it ends among the bytes of the connection.
    ends_at: u64,
}

/// The input of one connection that is not confirmed.
#[derive(Debug, Default)]
pub(crate) struct Unconfirmed {
    pieces: VecDeque<Piece>,
    /// Input up to here has left `pieces`.
    confirmed: u64,
    /// The daemon gives receipts; otherwise what is sent counts as typed.
    pub(crate) has_receipts: bool,
}

impl Unconfirmed {
    /// Notes input that was queued and ends at a place of the connection.
    pub(crate) fn queued(&mut self, bytes: &[u8], ends_at: u64) {
        self.pieces.push_back(Piece { bytes: bytes.to_vec(), ends_at });
    }

    /// Notes that so many bytes of input were typed since the beginning.
    pub(crate) fn typed(&mut self, total: u64) {
        while let Some(piece) = self.pieces.front() {
            let end = self.confirmed + piece.bytes.len() as u64;
            if end > total {
                return;
            }
            self.confirmed = end;
            self.pieces.pop_front();
        }
    }

    /// Notes how much of the connection was sent, where no receipts come.
    pub(crate) fn sent(&mut self, sent: u64) {
        if !self.has_receipts {
            self.forget_sent(sent);
        }
    }

    /// The daemon is gone: returns the input that it has not typed.
    pub(crate) fn take_untyped(&mut self, sent: u64, is_reset: bool) -> Vec<u8> {
        if !is_reset {
            self.forget_sent(sent);
        }
        std::mem::take(self).pieces.into_iter().flat_map(|piece| piece.bytes).collect()
    }

    fn forget_sent(&mut self, sent: u64) {
        let kept = self.pieces.iter().position(|piece| piece.ends_at > sent).unwrap_or(self.pieces.len());
        let gone: usize = self.pieces.drain(..kept).map(|piece| piece.bytes.len()).sum();
        self.confirmed += gone as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three pieces on a connection whose frames have a head of ten bytes.
    fn three(has_receipts: bool) -> Unconfirmed {
        let mut unconfirmed = Unconfirmed { has_receipts, ..Unconfirmed::default() };
        for (bytes, ends_at) in [(b"ab", 12), (b"cd", 24), (b"ef", 36)] {
            unconfirmed.queued(bytes, ends_at);
        }
        unconfirmed
    }

    #[test]
    fn u26_what_has_a_receipt_is_not_typed_again() {
        let mut unconfirmed = three(true);
        unconfirmed.typed(2);
        unconfirmed.queued(b"gh", 48);
        unconfirmed.typed(4);
        assert_eq!(unconfirmed.take_untyped(48, true), b"efgh");
    }

    #[test]
    fn u26_a_daemon_that_had_read_everything_has_typed_what_was_sent() {
        assert_eq!(three(true).take_untyped(36, false), b"");
        assert_eq!(three(true).take_untyped(30, false), b"ef", "half of a frame types nothing");
        assert_eq!(three(true).take_untyped(0, false), b"abcdef");
    }

    #[test]
    fn u26_a_daemon_without_receipts_gets_again_what_was_never_sent() {
        let mut unconfirmed = three(false);
        unconfirmed.sent(24);
        assert_eq!(unconfirmed.take_untyped(24, true), b"ef");
    }
}
