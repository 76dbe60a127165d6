//! The order of what reaches a child, with a child that the test controls.

use std::time::{Duration, Instant};

use engine::ViewerId;
use engine::effect::Guard;
use engine::input::TypingOutcome;
use holder::{KeyState, PendingInput};
use proto::Owner;
use term::{PasteEncoder, PastePiece, encode_paste};
use tokio::sync::oneshot;

use super::queue::{MAX_ALL_KEYS, MAX_KEYS, Outlet, Queue};
use crate::screens::order::{JobKey, Text, WriteJob, WriteOutcome};

/// The viewer where it does not matter which.
const TYPIST: ViewerId = ViewerId(1);
/// Longer than a child must have read raw before a held job goes.
const LATER: Duration = Duration::from_secs(1);

/// A child and its holder.
#[derive(Default)]
struct Child {
    is_canonical: bool,
    takes_brackets: bool,
    is_deaf: bool,
    /// What was written past the holder.
    direct: Vec<u8>,
    /// What the holder got.
    handed: Vec<(u64, Vec<u8>)>,
    cancelled: Vec<u64>,
    /// The note of the newest keyed input.
    note: u64,
    /// Its holder is of an earlier version.
    knows_no_keys: bool,
}

impl Outlet for Child {
    fn is_canonical(&self) -> bool {
        self.is_canonical
    }

    fn takes_brackets(&self) -> bool {
        self.takes_brackets
    }

    fn write_now(&mut self, bytes: &[u8]) -> usize {
        let taken = if self.is_deaf { &[] } else { bytes };
        self.direct.extend_from_slice(taken);
        taken.len()
    }

    fn send_to_holder(&mut self, id: u64, bytes: Vec<u8>, key: Option<(Vec<u8>, u64)>) {
        if let Some((_, note)) = key {
            self.note = note;
        }
        self.handed.push((id, bytes));
    }

    fn ask_key(&mut self, _key: &[u8]) -> bool {
        !self.knows_no_keys
    }

    fn cancel(&mut self, id: u64) {
        self.cancelled.push(id);
    }
}

/// A queue, its child, and a clock.
struct Scene {
    queue: Queue,
    child: Child,
    now: Instant,
    /// How many of the holder's inputs are written.
    done: usize,
    /// The key of the next jobs.
    key: Option<JobKey>,
}

impl Scene {
    fn new(last_input_id: u64, child: Child) -> Self {
        Self { queue: Queue::new(last_input_id), child, now: Instant::now(), done: 0, key: None }
    }

    fn write(&mut self, text: Text, is_prompt: bool) -> oneshot::Receiver<WriteOutcome> {
        let (reply, outcome) = oneshot::channel();
        let deadline = self.now + 10 * LATER;
        let guard = Guard { dialog: None, composer: engine::ComposerIs::Any, person_quiet_ms: 0 };
        let (by, guard, key) = (Owner::User, Some(guard), self.key.clone());
        let job = WriteJob { text, is_prompt, deadline, by, guard, key, reply };
        self.queue.write(job, self.now, &mut self.child);
        outcome
    }

    fn paste(&mut self, text: &str) -> oneshot::Receiver<WriteOutcome> {
        self.write(Text::Paste(PastePiece::whole(text)), true)
    }

    /// Types; returns true if the viewer may continue.
    fn type_keys(&mut self, keys: &str) -> bool {
        self.type_as(TYPIST, keys)
    }

    fn type_as(&mut self, typist: ViewerId, keys: &str) -> bool {
        self.queue.type_keys(typist, keys.as_bytes(), self.now, &mut self.child);
        !self.queue.is_full_for(typist, false)
    }

    fn answer(&mut self, reply: &str) {
        self.queue.answer(reply.as_bytes(), self.now, &mut self.child);
    }

    /// The holder writes everything that it has, and what follows from that.
    fn drain(&mut self) {
        while let Some((id, bytes)) = self.child.handed.get(self.done).cloned() {
            self.done += 1;
            self.queue.done(id, bytes.len() as u64, self.now, &mut self.child);
        }
    }

    /// The child reads raw, and has for a while.
    fn goes_raw(&mut self) {
        self.child.is_canonical = false;
        for _ in 0..2 {
            self.now += LATER;
            self.queue.pass(self.now, &mut self.child);
        }
    }

    fn handed(&self) -> String {
        let all: Vec<u8> = self.child.handed.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        String::from_utf8(all).unwrap()
    }
}

fn bracketed(text: &str) -> String {
    String::from_utf8(encode_paste(text, true)).unwrap()
}

fn canonical() -> Child {
    Child { is_canonical: true, ..Child::default() }
}

fn in_brackets() -> Child {
    Child { takes_brackets: true, ..Child::default() }
}

const ANSWER: &str = "\u{1b}[1;1R";

#[test]
fn e3_a_held_paste_is_encoded_by_the_modes_it_meets_not_by_those_it_waited_in() {
    let mut scene = Scene::new(0, canonical());
    let text = "a line\n".repeat(1_000);
    let mut outcome = scene.paste(&text);
    assert!(scene.child.handed.is_empty() && outcome.try_recv().is_err());
    scene.child.takes_brackets = true;
    scene.goes_raw();
    scene.drain();
    assert!(scene.handed() == bracketed(&text));
    let of = bracketed(&text).len() as u64;
    assert_eq!(
        outcome.try_recv().unwrap(),
        WriteOutcome { written: of, of, was_held: false, obstacle: None, begun: None }
    );
}

#[test]
fn e3_a_held_paste_waits_until_the_child_has_read_raw_for_a_moment() {
    let mut scene = Scene::new(0, canonical());
    let _outcome = scene.paste(&"x".repeat(5_000));
    scene.child.is_canonical = false;
    let mut looks = 0;
    while scene.child.handed.is_empty() {
        let due = scene.queue.due().unwrap();
        assert!(due > scene.now && due < scene.now + LATER, "it is not looked at");
        scene.now = due;
        scene.queue.pass(scene.now, &mut scene.child);
        looks += 1;
    }
    assert!(looks > 2, "it went at once: {looks}");
    // A child that only flickers is not raw.
    let mut scene = Scene::new(0, canonical());
    let _outcome = scene.paste(&"x".repeat(5_000));
    for look in 0..100 {
        scene.child.is_canonical = look % 4 == 0;
        scene.now += Duration::from_millis(20);
        scene.queue.pass(scene.now, &mut scene.child);
    }
    assert!(scene.child.handed.is_empty());
}

#[test]
fn c3_what_stands_in_the_way_when_a_held_paste_would_go_refuses_it() {
    let mut scene = Scene::new(0, canonical());
    let mut outcome = scene.paste(&"x".repeat(5_000));
    scene.child.is_canonical = false;
    scene.now += LATER;
    scene.queue.pass(scene.now, &mut scene.child);
    assert!(scene.queue.about_to_go(scene.now).is_none());
    scene.now += LATER;
    assert!(scene.queue.about_to_go(scene.now).is_some());
    scene.queue.refuse_held(TypingOutcome::Dialog);
    scene.queue.pass(scene.now, &mut scene.child);
    let outcome = outcome.try_recv().unwrap();
    assert_eq!((outcome.written, outcome.obstacle), (0, Some(TypingOutcome::Dialog)));
    assert!(scene.child.handed.is_empty());
    assert!(scene.type_keys("k") && scene.child.direct == b"k", "it is in the way for ever");
}

#[test]
fn p2_a_line_over_two_pieces_that_the_kernel_would_cut_is_told() {
    let mut scene = Scene::new(0, canonical());
    let mut encoder = PasteEncoder::default();
    let half = "x".repeat(3_000);
    let mut first = scene.write(Text::Paste(encoder.piece(half.as_bytes())), false);
    scene.drain();
    assert_eq!(first.try_recv().unwrap().written, 3_000);
    let mut second = scene.write(Text::Paste(encoder.last(half.as_bytes())), false);
    scene.now += 20 * LATER;
    scene.queue.pass(scene.now, &mut scene.child);
    let told = second.try_recv().unwrap();
    assert_eq!((told.written, told.of, told.was_held), (0, 3_000, true));
    assert!(scene.handed() == half);
}

#[test]
fn a_persons_keys_pass_a_job_that_is_held() {
    let mut scene = Scene::new(0, canonical());
    let _outcome = scene.paste(&"x".repeat(5_000));
    assert!(scene.type_keys("a") && scene.child.direct == b"a");
    scene.child.is_deaf = true;
    assert!(scene.type_keys("b"));
    assert_eq!(scene.handed(), "b");
}

#[test]
fn e2_answers_pass_a_job_that_is_held_and_every_job_that_has_not_begun() {
    let mut scene = Scene::new(0, canonical());
    let _outcome = scene.paste(&"x".repeat(5_000));
    scene.answer(ANSWER);
    assert_eq!(scene.child.direct, ANSWER.as_bytes());
    // A job as long as the window is under way; a second has not begun.
    let mut scene = Scene::new(0, Child::default());
    let long = "y".repeat(holder::INPUT_WINDOW);
    let _first = scene.write(Text::Bytes(long.clone().into_bytes()), false);
    let _second = scene.write(Text::Bytes(b"second".to_vec()), false);
    scene.answer(ANSWER);
    scene.drain();
    assert!(scene.handed() == format!("{long}{ANSWER}second"));
}

#[test]
fn e2_the_oldest_answers_are_dropped_and_none_is_cut() {
    let mut scene = Scene::new(0, Child { is_deaf: true, ..Child::default() });
    let answers = |range: std::ops::Range<u32>| -> String {
        range.map(|n| format!("\u{1b}[{n};1R\u{1b}P1+r{n}\u{1b}\\")).collect()
    };
    for start in 0..100 {
        scene.answer(&answers(start * 50..start * 50 + 50));
    }
    assert!(scene.queue.due().is_none());
    scene.child.is_deaf = false;
    scene.drain();
    let handed = scene.handed();
    assert!(handed.len() < 9_000, "{} bytes were kept", handed.len());
    assert!(handed.ends_with(&answers(4_950..5_000)), "the newest were dropped");
    let last = &scene.child.handed.last().unwrap().1;
    assert!(last.starts_with(b"\x1b[") || last.starts_with(b"\x1bP"), "{:?}", last.escape_ascii());
    assert!(last.len() > 3_000);
    let delivered = handed.matches("\u{1b}[").count() + handed.matches("\u{1b}P").count();
    let dropped = usize::try_from(scene.queue.take_dropped_answers()).unwrap();
    assert_eq!(delivered + dropped, 10_000, "m10e: every answer was delivered or is counted");
}

#[test]
fn e2_keys_that_wait_leave_room_for_answers_and_the_other_way_round() {
    let mut scene = Scene::new(0, Child { is_deaf: true, ..Child::default() });
    assert!(scene.type_keys(&"k".repeat(200_000)));
    scene.answer(ANSWER);
    scene.drain();
    assert!(scene.handed().ends_with(ANSWER));
    let mut scene = Scene::new(0, Child { is_deaf: true, ..Child::default() });
    scene.answer(&ANSWER.repeat(2_000));
    assert!(scene.type_keys(&"k".repeat(256 * 1024)));
}

#[test]
fn a_viewer_with_more_keys_than_wait_is_not_read_until_half_of_them_are_written() {
    let mut scene = Scene::new(0, Child { is_deaf: true, ..Child::default() });
    let (mut typed, piece) = (String::new(), 40_000);
    let mut is_read = true;
    while is_read {
        let keys: String =
            (typed.len()..typed.len() + piece).map(|n| char::from(b'a' + (n % 23) as u8)).collect();
        is_read = scene.type_keys(&keys);
        typed.push_str(&keys);
        assert!(typed.len() <= MAX_KEYS + piece, "there is no bound");
    }
    assert!(typed.len() > MAX_KEYS * 9 / 10, "{}", typed.len());
    assert!(scene.type_as(ViewerId(2), "x"), "another is not read either");
    let mut is_read_at = None;
    while let Some((id, bytes)) = scene.child.handed.get(scene.done).cloned() {
        scene.done += 1;
        scene.queue.done(id, bytes.len() as u64, scene.now, &mut scene.child);
        let left = typed.len()
            - scene.child.handed[..scene.done]
                .iter()
                .map(|(_, bytes)| bytes.len())
                .sum::<usize>()
                .min(typed.len());
        if !scene.queue.is_full_for(TYPIST, true) {
            is_read_at.get_or_insert(left);
        }
    }
    let is_read_at = is_read_at.expect("it is never read again");
    assert!((MAX_KEYS / 4..MAX_KEYS * 3 / 4).contains(&is_read_at), "{is_read_at}");
    assert!(scene.handed() == format!("{typed}x"), "something is missing");
}

#[test]
fn keys_one_at_a_time_cost_no_more_than_their_bound() {
    let mut scene = Scene::new(0, Child { is_deaf: true, ..Child::default() });
    let _outcome = scene.write(Text::Bytes(vec![b'y'; holder::INPUT_WINDOW]), false);
    let word = "word".repeat(16);
    let typed = (1..=MAX_KEYS).step_by(64).take_while(|_| scene.type_keys(&word)).count() * 64;
    assert!(typed > MAX_KEYS / 2, "keys that wait together are one job: {typed}");
    // Those in the holder are jobs of their own, and are counted as such.
    let mut scene = Scene::new(0, Child { is_deaf: true, ..Child::default() });
    let count = (1..=MAX_KEYS).take_while(|_| scene.type_keys("k")).count();
    assert!(count < MAX_KEYS / 100, "{count} jobs wait");
}

#[test]
fn keys_of_viewers_who_come_and_go_are_bounded_together() {
    let mut scene = Scene::new(0, Child { is_deaf: true, ..Child::default() });
    let text = "k".repeat(100_000);
    let count = (1..1_000).take_while(|viewer| scene.type_as(ViewerId(*viewer), &text)).count();
    assert!(count * text.len() < MAX_ALL_KEYS && (count + 2) * text.len() > MAX_ALL_KEYS, "{count}");
    scene.queue.clear();
    assert!(scene.type_as(ViewerId(1), "k"), "what was cleared still counts");
}

#[test]
fn what_is_cancelled_is_cancelled_from_its_end() {
    let mut scene = Scene::new(0, Child::default());
    let mut outcome = scene.write(Text::Bytes(vec![b'y'; 200_000]), false);
    let ids: Vec<u64> = scene.child.handed.iter().map(|(id, _)| *id).collect();
    assert!(ids.len() > 2);
    scene.now += 20 * LATER;
    scene.queue.pass(scene.now, &mut scene.child);
    assert_eq!(scene.child.cancelled, ids.iter().rev().copied().collect::<Vec<_>>());
    // The holder wrote the first while it cancelled the others.
    for id in scene.child.cancelled.clone() {
        let written = if id == ids[0] { 65_536 } else { 0 };
        scene.queue.done(id, written, scene.now, &mut scene.child);
    }
    assert_eq!(outcome.try_recv().map(|told| (told.written, told.of)), Ok((65_536, 200_000)));
    assert!(scene.type_keys("k") && scene.child.direct == b"k");
}

#[test]
fn e2_nothing_stands_within_the_brackets_of_a_paste_in_pieces() {
    let mut scene = Scene::new(0, in_brackets());
    let mut encoder = PasteEncoder::default();
    for piece in ["one ", "two "] {
        let mut outcome = scene.write(Text::Paste(encoder.piece(piece.as_bytes())), false);
        scene.answer(ANSWER);
        scene.drain();
        assert_eq!(outcome.try_recv().map(|outcome| outcome.written == outcome.of), Ok(true));
        scene.answer(ANSWER);
        assert!(scene.type_keys("key"));
    }
    // Mode 2004 going off in between does not leave the bracket open.
    scene.child.takes_brackets = false;
    let _outcome = scene.write(Text::Paste(encoder.last(b"three")), false);
    scene.drain();
    assert!(scene.child.direct.is_empty());
    let expected = format!("{}{}keykey", bracketed("one two three"), ANSWER.repeat(4));
    assert_eq!(scene.handed(), expected);
    assert!(scene.type_keys("k") && scene.child.direct == b"k");
}

#[test]
fn a_paste_that_is_given_up_half_written_is_closed_before_anything_follows() {
    let mut scene = Scene::new(0, in_brackets());
    let mut outcome = scene.paste("hello");
    assert!(scene.type_keys("later"));
    scene.answer(ANSWER);
    scene.now += 20 * LATER;
    scene.queue.pass(scene.now, &mut scene.child);
    assert_eq!(scene.child.cancelled, [1]);
    scene.queue.done(1, 8, scene.now, &mut scene.child);
    assert_eq!(outcome.try_recv().unwrap().written, 8);
    let after: Vec<_> = scene.child.handed.iter().skip(1).map(|(_, bytes)| bytes.clone()).collect();
    assert_eq!(after, [PastePiece::ending().encode(true), ANSWER.into(), b"later".to_vec()]);
    // Nothing was written, so nothing must be closed.
    let mut scene = Scene::new(0, in_brackets());
    let _outcome = scene.paste("hello");
    scene.now += 20 * LATER;
    scene.queue.pass(scene.now, &mut scene.child);
    scene.queue.done(1, 0, scene.now, &mut scene.child);
    assert_eq!(scene.child.handed.len(), 1);
}

#[test]
fn a_paste_whose_rest_never_comes_is_closed_by_its_ending_and_only_then() {
    let mut scene = Scene::new(0, in_brackets());
    let _outcome = scene.write(Text::Paste(PasteEncoder::default().piece(b"one")), false);
    // Its client goes before the piece is written.
    let _ending = scene.write(Text::Paste(PastePiece::ending()), false);
    assert!(scene.type_keys("k"));
    scene.drain();
    assert_eq!(scene.handed(), format!("{}k", bracketed("one")));
    let mut again = scene.write(Text::Paste(PastePiece::ending()), false);
    assert_eq!(again.try_recv().unwrap().written, 0);
    assert_eq!(scene.handed(), format!("{}k", bracketed("one")));
}

#[test]
fn a_paste_whose_next_piece_does_not_come_is_closed_for_what_waits_and_goes_on_later() {
    let mut scene = Scene::new(0, in_brackets());
    let mut encoder = PasteEncoder::default();
    let _outcome = scene.write(Text::Paste(encoder.piece(b"one")), false);
    scene.drain();
    assert!(scene.queue.due().is_none(), "nobody waits");
    scene.answer(ANSWER);
    scene.now = scene.queue.due().expect("it waits for ever");
    assert!(scene.type_keys("key"));
    scene.drain();
    assert!(bracketed("one").starts_with(&scene.handed()), "something stands within: {}", scene.handed());
    scene.queue.pass(scene.now, &mut scene.child);
    scene.drain();
    let first = format!("{}{ANSWER}key", bracketed("one"));
    assert_eq!(scene.handed(), first);
    assert!(scene.type_keys("k") && scene.child.direct == b"k");
    let _outcome = scene.write(Text::Paste(encoder.piece(b"two")), false);
    assert!(scene.type_keys("l") && scene.child.direct == b"k");
    scene.drain();
    let _outcome = scene.write(Text::Paste(encoder.last(b"")), false);
    scene.drain();
    assert_eq!(scene.handed(), format!("{first}{}l", bracketed("two")));
    assert!(scene.queue.due().is_none());
}

#[test]
fn an_interrupted_paste_that_ends_without_more_is_not_opened_again() {
    let mut scene = Scene::new(0, in_brackets());
    let mut encoder = PasteEncoder::default();
    let _outcome = scene.write(Text::Paste(encoder.piece(b"one")), false);
    scene.drain();
    assert!(scene.type_keys("key"));
    scene.now += 2 * LATER;
    scene.queue.pass(scene.now, &mut scene.child);
    let mut last = scene.write(Text::Paste(encoder.last(b"")), false);
    scene.drain();
    assert_eq!(last.try_recv().map(|last| (last.written, last.of)), Ok((0, 0)));
    assert_eq!(scene.handed(), format!("{}key", bracketed("one")));
    assert!(scene.type_keys("k") && scene.child.direct == b"k");
}

#[test]
fn s1_no_key_is_written_past_what_a_dead_daemon_left_with_the_holder() {
    let mut scene = Scene::new(7, Child::default());
    assert!(scene.type_keys("a"));
    scene.answer(ANSWER);
    assert!(scene.child.direct.is_empty());
    assert_eq!(scene.handed(), format!("a{ANSWER}"));
    // Neither an answer to the dead daemon's input nor a refusal proves anything.
    scene.queue.done(7, 1, scene.now, &mut scene.child);
    assert!(scene.type_keys("b") && scene.child.direct.is_empty());
    scene.drain();
    assert!(scene.type_keys("c") && scene.child.direct == b"c");
}

#[test]
fn whoever_waits_is_told_when_the_child_goes() {
    let mut scene = Scene::new(0, in_brackets());
    let mut begun = scene.paste("hello");
    let mut queued = scene.write(Text::Bytes(b"more".to_vec()), false);
    scene.queue.clear();
    assert_eq!(begun.try_recv().unwrap().written, 0);
    assert_eq!(
        queued.try_recv().unwrap(),
        WriteOutcome { written: 0, of: 4, was_held: false, obstacle: None, begun: None }
    );
    assert!(scene.queue.due().is_none());
    // The end of a paste that the child has read before it ended is not missing.
    let mut ending = scene.write(Text::Paste(PastePiece::ending()), false);
    assert_eq!(ending.try_recv().map(|told| (told.written, told.of)), Ok((0, 0)));
}

fn key(is_repeated: bool) -> Option<JobKey> {
    Some(JobKey { key: b"human/w-1/text".to_vec(), offset: 77, is_repeated })
}

/// Returns the report of a holder that has finished the first `done` inputs of the scene and still has the
/// others.
fn state_after(scene: &Scene, done: usize) -> KeyState {
    let length = |bytes: &Vec<u8>| bytes.len() as u64;
    let handed = &scene.child.handed;
    let pending = |(id, bytes): &(u64, Vec<u8>)| PendingInput { id: *id, length: length(bytes) };
    KeyState {
        key: b"human/w-1/text".to_vec(),
        note: scene.child.note,
        accepted: handed.iter().map(|(_, bytes)| length(bytes)).sum(),
        written: handed[..done].iter().map(|(_, bytes)| length(bytes)).sum(),
        pending: handed[done..].iter().map(pending).collect(),
    }
}

/// Returns the queue of the next daemon after it got the same text again and the report of the holder.
fn next_daemon(before: &Scene, state: &KeyState, text: &str) -> (Scene, oneshot::Receiver<WriteOutcome>) {
    let last_id = before.child.handed.last().map_or(0, |(id, _)| *id);
    let mut scene = Scene::new(last_id, Child::default());
    scene.key = key(true);
    let outcome = scene.paste(text);
    assert!(scene.child.handed.is_empty(), "the holder is asked first");
    scene.queue.go_on(state, None, scene.now, &mut scene.child);
    (scene, outcome)
}

#[test]
fn m7d_the_next_daemon_types_what_is_missing_and_in_the_same_brackets() {
    let text = "x".repeat(600_000);
    let mut first = Scene::new(0, Child { takes_brackets: true, ..Child::default() });
    first.key = key(false);
    drop(first.paste(&text));
    let handed = first.child.handed.len();
    assert!(handed > 2 && first.handed().len() < text.len(), "it goes out in parts");
    let state = state_after(&first, 1);
    let (mut next, mut outcome) = next_daemon(&first, &state, &text);
    next.type_keys("later");
    for input in &state.pending {
        next.queue.done(input.id, input.length, next.now, &mut next.child);
    }
    next.drain();
    assert!(first.handed() + &next.handed() == bracketed(&text) + "later", "nothing twice, nothing missing");
    let outcome = outcome.try_recv().unwrap();
    let of = bracketed(&text).len() as u64;
    assert_eq!((outcome.written, outcome.of), (of, of));
    assert_eq!(outcome.begun.map(|begun| begun.offset), Some(77));
}

#[test]
fn m7d_what_was_written_is_told_exactly_when_the_child_takes_no_more() {
    let text = "x".repeat(600_000);
    let mut first = Scene::new(0, Child::default());
    first.key = key(false);
    drop(first.paste(&text));
    let state = state_after(&first, 2);
    let (mut next, mut outcome) = next_daemon(&first, &state, &text);
    next.now += 20 * LATER;
    next.queue.pass(next.now, &mut next.child);
    let cancelled: Vec<u64> = state.pending.iter().map(|input| input.id).collect();
    assert!(cancelled.iter().all(|id| next.child.cancelled.contains(id)), "what the holder has is given up");
    for (place, input) in state.pending.iter().enumerate() {
        next.queue.done(input.id, if place == 0 { 5 } else { 0 }, next.now, &mut next.child);
    }
    for (id, _) in next.child.handed.clone() {
        next.queue.done(id, 0, next.now, &mut next.child);
    }
    let outcome = outcome.try_recv().unwrap();
    assert_eq!((outcome.written, outcome.of), (state.written + 5, text.len() as u64));
}

#[test]
fn m7d_a_text_of_which_the_holder_has_nothing_is_typed_whole_and_one_it_has_is_not_typed_again() {
    let mut first = Scene::new(0, Child::default());
    first.key = key(false);
    drop(first.paste("text"));
    let nothing = KeyState { key: b"human/w-1/text".to_vec(), ..KeyState::default() };
    let (next, _outcome) = next_daemon(&first, &nothing, "text");
    assert_eq!(next.handed(), "text");
    let (next, mut outcome) = next_daemon(&first, &state_after(&first, 1), "text");
    assert_eq!(next.handed(), "");
    assert_eq!(outcome.try_recv().unwrap().written, 4);
}

#[test]
fn m7d_an_obstacle_or_an_older_holder_leaves_the_rest_untyped() {
    let text = "x".repeat(600_000);
    let mut first = Scene::new(0, Child::default());
    first.key = key(false);
    drop(first.paste(&text));
    let state = state_after(&first, first.child.handed.len());
    let mut next = Scene::new(99, Child::default());
    next.key = key(true);
    let mut outcome = next.paste(&text);
    next.queue.go_on(&state, Some(TypingOutcome::PersonTyping), next.now, &mut next.child);
    let told = outcome.try_recv().unwrap();
    assert_eq!((told.written, told.obstacle), (state.written, Some(TypingOutcome::PersonTyping)));
    next.child.knows_no_keys = true;
    let mut outcome = next.paste(&text);
    assert!(outcome.try_recv().is_err() && next.child.handed.is_empty(), "nothing is typed on doubt");
}

#[test]
fn m7d_a_report_closes_the_brackets_that_a_torn_paste_left_open() {
    let mut encoder = PasteEncoder::default();
    let mut first = Scene::new(0, Child { takes_brackets: true, ..Child::default() });
    first.key = key(false);
    drop(first.write(Text::Paste(encoder.piece(b"begun")), false));
    let last_id = first.child.handed.last().map_or(0, |(id, _)| *id);
    let mut next = Scene::new(last_id, Child::default());
    next.key = key(true);
    let mut outcome = next.write(Text::Bytes(Vec::new()), false);
    next.queue.go_on(&state_after(&first, 1), None, next.now, &mut next.child);
    next.drain();
    assert_eq!(first.handed() + &next.handed(), bracketed("begun"));
    let told = outcome.try_recv().unwrap();
    assert_eq!((told.written, told.begun.map(|begun| begun.is_whole)), (11, Some(false)));
}
