//! Answers to the child's queries that wait for their turn, bounded: a child that asks and does not read
//! costs nothing. An answer is never cut; dropped ones are counted.

/// The most bytes of answers that wait for a child that does not read, besides as many in the holder. Beyond
/// it the oldest are dropped, because the child has asked again since.
const MOST: usize = 4 * 1024;

/// Answers that wait.
#[derive(Default)]
pub(super) struct Replies {
    waiting: Vec<u8>,
    /// The holder has some that are not written: more wait here, where they can be dropped.
    is_under_way: bool,
    /// How many were dropped since the last query of this count.
    dropped: u64,
}

impl Replies {
    pub(super) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    pub(super) fn push(&mut self, answers: &[u8]) {
        self.waiting.extend_from_slice(answers);
        let surplus = self.waiting.len().saturating_sub(MOST);
        if surplus == 0 {
            return;
        }
        // Every answer begins with ESC; ESC and a backslash end an answer.
        let is_start = |pair: &[u8]| matches!(pair, [0x1b, next] if *next != b'\\');
        let start = self.waiting.windows(2).skip(surplus).position(is_start);
        let end = start.map_or(self.waiting.len(), |start| surplus + start);
        self.dropped += self.waiting[..end].windows(2).filter(|pair| is_start(pair)).count() as u64;
        self.waiting.drain(..end);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns how many bytes the holder may get now.
    pub(super) fn ready(&self) -> Option<usize> {
        Some(self.waiting.len()).filter(|length| *length > 0 && !self.is_under_way)
    }

    /// Takes them for the holder.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.is_under_way = true;
        std::mem::take(&mut self.waiting)
    }

    /// Records that the holder has written them.
    pub(super) fn done(&mut self) {
        self.is_under_way = false;
    }
}
