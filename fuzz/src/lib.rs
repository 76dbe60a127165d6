//! Makes long inputs out of short ones, and limits how slow an input may be.
//!
//! A few bytes of input stand for megabytes, so that every limit is within reach of a fuzzer that grows its
//! inputs byte by byte and of seeds that fit in a commit. Only few inputs are long, so that the others stay
//! fast.
//!
//! `FE n s` repeats the last `n` bytes so far: `s` times below F0, and from F0 on until 2^(s - E8) bytes have
//! been added, which is 256 bytes to 8 MiB. `FE 00` is the byte FE itself.
//!
//! One input in [`RARITY`] may be long, by a sum over its bytes; in the others a repetition adds nothing past
//! [`SHORT`]. A megabyte takes an instrumented program a hundred times longer than what it reads first, and
//! without this nearly every descendant of a long seed would be long. Seeds that are meant to be long end in
//! two bytes that make the sum right.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The byte that begins a repetition; it occurs in no UTF-8 text.
const REPEAT: u8 = 0xfe;
/// One in so many inputs is long.
pub const RARITY: u32 = 2048;
/// How far a repetition of several bytes, or of line feeds, goes even in a long input.
pub const MANY: usize = 64 << 10;
/// How far the others reach.
pub const SHORT: usize = 4096;

/// Most processor time that one input may take; the longest that are known take a fifth of it.
pub const SLOW: Duration = Duration::from_secs(1);

/// Runs the work of one input, which is a finding when it takes long. It measures processor time, because
/// other load on the machine must not look like a hang.
pub fn swiftly(work: impl FnOnce()) {
    let start = processor_time();
    work();
    let took = processor_time().saturating_sub(start);
    assert!(took < SLOW, "one input took {took:?} of processor time");
}

fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// How long the content of `input` may become.
#[must_use]
pub fn reach(input: &[u8], longest: usize) -> usize {
    let sum =
        input.iter().fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    // The last bytes have reached few bits of such a sum; this spreads them.
    let sum = (sum ^ (sum >> 15)).wrapping_mul(0x2c1b_3c6d);
    if (sum ^ (sum >> 13)) % RARITY == 0 { longest } else { SHORT.max(input.len()).min(longest) }
}

/// What `piece` stands for, never more than `longest` bytes.
#[must_use]
pub fn stretched(piece: &[u8], longest: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(piece.len());
    let mut rest = piece;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match (byte, after) {
            (REPEAT, [0, after @ ..]) => {
                out.push(REPEAT);
                after
            }
            (REPEAT, [count, size, after @ ..]) => {
                repeat(&mut out, usize::from(*count), *size, longest);
                after
            }
            _ => {
                out.push(byte);
                after
            }
        };
    }
    out.truncate(longest);
    out
}

fn repeat(out: &mut Vec<u8>, count: usize, size: u8, longest: usize) {
    let from = out.len().saturating_sub(count);
    let unit = out.len() - from;
    // Past some length only one byte is repeated: a hundred thousand lines are slow without being a finding.
    let is_one_thing = unit == 1 && out.last() != Some(&b'\n');
    let longest = if is_one_thing { longest } else { longest.min(MANY) };
    let added = if size < 0xf0 { unit * usize::from(size) } else { 1 << (size - 0xe8) };
    let wanted = (out.len() + added).min(longest);
    if unit == 0 {
        return;
    }
    out.reserve(wanted.saturating_sub(out.len()));
    while out.len() < wanted {
        let next = (out.len() - from).min(wanted - out.len());
        // What was added begins with the unit and repeats it, so it can be copied whole: few copies, not
        // millions.
        let whole = next - next % unit;
        let next = if whole == 0 { next } else { whole };
        out.extend_from_within(from..from + next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: usize = 5 << 20;

    #[test]
    fn ordinary_bytes_stand_for_themselves() {
        let bytes: Vec<u8> = (0..=0xfd).collect();
        assert_eq!(stretched(&bytes, LONGEST), bytes);
        assert_eq!(stretched(b"\xfe\x00a", LONGEST), b"\xfea");
    }

    #[test]
    fn a_repetition_is_counted_or_reaches_a_size() {
        assert_eq!(stretched(b"ab\xfe\x02\x03c", LONGEST), b"ababababc");
        assert_eq!(
            stretched(b"xab\xfe\x02\xf0c", LONGEST),
            ["x", &"ab".repeat(129), "c"].concat().as_bytes()
        );
        assert_eq!(stretched(b"abc\xfe\x03\xf0", LONGEST), &"abc".repeat(100).as_bytes()[..259]);
        assert_eq!(stretched(b"a\xfe\x01\xfc", LONGEST).len(), (1 << 20) + 1);
    }

    #[test]
    fn nothing_grows_past_the_longest_and_a_cut_repetition_is_text() {
        assert_eq!(stretched(b"a\xfe\x01\xff\xfe\x01\xff", LONGEST).len(), LONGEST);
        assert_eq!(stretched(b"a\xfe\x01", LONGEST), b"a\xfe\x01");
        assert_eq!(stretched(b"\xfe\x09\xff", LONGEST), b"");
    }

    #[test]
    fn only_one_thing_grows_long() {
        assert_eq!(stretched(b"ab\xfe\x02\xff", LONGEST).len(), MANY);
        assert_eq!(stretched(b"\n\xfe\x01\xff", LONGEST).len(), MANY);
        assert_eq!(stretched(b"a\xfe\x01\xfcbc\xfe\x02\xff", LONGEST).len(), (1 << 20) + 3, "nor is it cut");
    }

    #[test]
    fn waiting_is_not_slow_and_working_is() {
        swiftly(|| std::thread::park_timeout(SLOW + Duration::from_millis(50)));
        let is_slow = std::panic::catch_unwind(|| swiftly(|| while processor_time() < SLOW * 5 / 4 {}));
        assert!(is_slow.is_err());
    }

    #[test]
    fn about_one_input_in_so_many_is_long() {
        let long = (0..100_000u32).filter(|number| reach(&number.to_le_bytes(), LONGEST) == LONGEST).count();
        assert!((20..100).contains(&long), "{long}");
        assert_eq!(reach(&[7; 9000], 100), 100);
        assert_eq!(reach(&[0; 9000], LONGEST), 9000);
    }

    #[test]
    fn every_target_has_seeds_that_are_long() {
        let seeds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
        for target in std::fs::read_dir(seeds).unwrap().map(|entry| entry.unwrap().path()) {
            let inputs = std::fs::read_dir(&target)
                .unwrap()
                .map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
            let long = inputs.filter(|input| reach(input, LONGEST) == LONGEST).count();
            assert!(long >= 2, "{}: {long}", target.display());
        }
    }
}
