//! Finds commits in a write-ahead log that SQLite will not read. It follows SQLite's published format and
//! changes nothing.
//!
//! SQLite reads the log up to the first frame that does not fit and silently drops the rest. That is right
//! for a frame that a killed writer had not finished, but whole commits behind the damage must be reported.

/// Bytes before the first frame.
const HEADER: usize = 32;
/// Bytes of a frame before its page.
const FRAME: usize = 24;
/// The first word of a log; its lowest bit is the byte order of the checksums.
const MAGIC: u32 = 0x377f_0682;

/// Returns true if this log has commits that SQLite will not find.
pub(crate) fn has_unreadable_commits(log: &[u8]) -> bool {
    let Some(head) = LogHeader::read(log) else {
        return log.len() > HEADER + FRAME;
    };
    let mut sum = head.sum;
    let frames = log.get(HEADER..).unwrap_or_default().chunks_exact(FRAME + head.page);
    let mut rest = frames.skip_while(|frame| head.continues(frame, &mut sum));
    // The first frame that does not fit may be one that a killed writer had begun to write over an older one.
    // A log that was never restarted has no older frames.
    let is_damaged = rest.next().is_some_and(|frame| head.is_first && head.is_own_commit(frame));
    is_damaged || rest.any(|frame| head.is_own_commit(frame))
}

/// The part before the first frame.
struct LogHeader {
    /// Bytes of a page.
    page: usize,
    /// The file has no frames of an older log.
    is_first: bool,
    /// Two numbers that every frame of this log carries.
    salts: (u32, u32),
    sum: Sum,
}

impl LogHeader {
    /// Returns `None` when the header is damaged.
    fn read(log: &[u8]) -> Option<Self> {
        let magic = word(log, 0)?;
        if magic & !1 != MAGIC {
            return None;
        }
        let sum = Sum { is_big_endian: magic & 1 == 1, first: 0, second: 0 }.plus(log.get(..24)?);
        let page = usize::try_from(word(log, 8)?).ok()?;
        let is_whole = sum.is(word(log, 24)?, word(log, 28)?) && page.is_power_of_two() && page >= 512;
        let salts = (word(log, 16)?, word(log, 20)?);
        is_whole.then_some(Self { page, is_first: word(log, 12)? == 0, salts, sum })
    }

    /// Returns true if this frame continues the frames with checksum `sum`, and adds it to the sum.
    fn continues(&self, frame: &[u8], sum: &mut Sum) -> bool {
        let read = || {
            let next = sum.plus(frame.get(..8)?).plus(frame.get(FRAME..)?);
            let is_whole = next.is(word(frame, 16)?, word(frame, 20)?);
            (is_whole && self.salts == (word(frame, 8)?, word(frame, 12)?)).then_some(next)
        };
        let next = read();
        next.into_iter().for_each(|next| *sum = next);
        next.is_some()
    }

    /// Returns true if this frame ended a commit of this log. An older log's frames differ in both salts, a
    /// damaged one in one.
    fn is_own_commit(&self, frame: &[u8]) -> bool {
        let is_own = word(frame, 8) == Some(self.salts.0) || word(frame, 12) == Some(self.salts.1);
        is_own && word(frame, 4).is_some_and(|pages| pages != 0)
    }
}

/// The running sum over a log.
#[derive(Clone, Copy)]
struct Sum {
    is_big_endian: bool,
    first: u32,
    second: u32,
}

impl Sum {
    fn plus(mut self, bytes: &[u8]) -> Self {
        let (words, _) = bytes.as_chunks::<4>();
        let number = |word: [u8; 4]| match self.is_big_endian {
            true => u32::from_be_bytes(word),
            false => u32::from_le_bytes(word),
        };
        let (pairs, _) = words.as_chunks::<2>();
        for [left, right] in pairs {
            self.first = self.first.wrapping_add(number(*left)).wrapping_add(self.second);
            self.second = self.second.wrapping_add(number(*right)).wrapping_add(self.first);
        }
        self
    }

    fn is(self, first: u32, second: u32) -> bool {
        (self.first, self.second) == (first, second)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_be_bytes)
}
