//! Answers to the child's queries that wait for their turn, bounded: a child that asks and does not read
//! costs nothing. An answer is never cut; dropped ones are counted.

/// The most bytes of answers that wait for a child that does not read, besides as many in the holder. Beyond
/// it the oldest are dropped, because the child has asked again since.
const MOST: usize = 4 * 1024;

/// Answers that wait.
#[derive(Default)]
pub(super) struct Replies {
    waiting: Vec<u8>,
    /// How many answers the holder has that are not written: more wait here, where they can be dropped.
    under_way: Option<u64>,
    /// How many were dropped since the last query of this count.
    dropped: u64,
}

impl Replies {
    pub(super) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    /// Returns how many answers the terminal has not accepted.
    pub(super) fn waiting(&self) -> u64 {
        count(&self.waiting) + self.under_way.unwrap_or(0)
    }

    pub(super) fn push(&mut self, answers: &[u8]) {
        self.waiting.extend_from_slice(answers);
        let surplus = self.waiting.len().saturating_sub(MOST);
        if surplus == 0 {
            return;
        }
        let start = self.waiting.windows(2).skip(surplus).position(is_start);
        let end = start.map_or(self.waiting.len(), |start| surplus + start);
        self.dropped += count(&self.waiting[..end]);
        self.waiting.drain(..end);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns how many bytes the holder may get now.
    pub(super) fn ready(&self) -> Option<usize> {
        Some(self.waiting.len()).filter(|length| *length > 0 && self.under_way.is_none())
    }

    /// Takes them for the holder.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.under_way = Some(count(&self.waiting));
        std::mem::take(&mut self.waiting)
    }

    /// Records that the holder has written them.
    pub(super) fn done(&mut self) {
        self.under_way = None;
    }
}

/// Every answer begins with ESC; ESC and a backslash end an answer.
fn is_start(pair: &[u8]) -> bool {
    matches!(pair, [0x1b, next] if *next != b'\\')
}

/// Returns how many answers begin in these bytes.
pub(super) fn count(answers: &[u8]) -> u64 {
    answers.windows(2).filter(|pair| is_start(pair)).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &[u8] = b"\x1b]11;rgb:1111/1111/2222\x1b\\";

    #[test]
    fn m10h_answers_that_wait_are_counted_here_and_in_the_holder_until_they_are_written() {
        let mut replies = Replies::default();
        replies.push(&ANSWER.repeat(2));
        assert_eq!((replies.waiting(), replies.take().len()), (2, 2 * ANSWER.len()));
        replies.push(ANSWER);
        assert_eq!(replies.waiting(), 3, "the holder has two of them");
        replies.done();
        assert_eq!(replies.waiting(), 1);
        replies.push(&ANSWER.repeat(MOST / ANSWER.len()));
        let most = (MOST / ANSWER.len()) as u64;
        assert_eq!((replies.waiting(), replies.take_dropped()), (most, 1), "the oldest is dropped");
    }
}
