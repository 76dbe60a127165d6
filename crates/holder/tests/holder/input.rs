//! Input: exactly once, in order, bounded, and without delaying output.

use holder::{INPUT_WINDOW, KeyState, ToHolder};

use crate::rig::{config, shell, start};

fn bytes(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        })
        .collect()
}

#[test]
fn m4c_an_input_with_the_highest_id_does_not_use_up_the_ids_of_others() {
    let mut run = start(&config(&["cat"]));
    run.send(&ToHolder::Input { id: u64::MAX, bytes: b"never\n".to_vec() });
    assert_eq!(run.until_done(u64::MAX), (0, 6));
    run.send(&ToHolder::Input { id: 1, bytes: b"typed\n".to_vec() });
    assert_eq!(run.until_done(1), (6, 6));
    run.until_text("typed\r\ntyped");
    run.close();
}

#[test]
fn h8_e1_sixteen_mebibytes_into_a_reading_child_arrive_byte_exact() {
    const PIECE: usize = 64 << 10;
    let sent = bytes(16 << 20);
    let mut run = start(&shell("stty raw -echo; printf ready; exec cat"));
    run.until_text("ready");
    let mut pieces = sent.chunks(PIECE).enumerate();
    let mut outstanding = 0;
    while run.log.len() < 5 + sent.len() {
        // The daemon never sends more than the window.
        while outstanding * PIECE < INPUT_WINDOW
            && let Some((at, piece)) = pieces.next()
        {
            run.send(&ToHolder::Input { id: 1 + at as u64, bytes: piece.to_vec() });
            outstanding += 1;
        }
        let done = run.done_count();
        run.until("progress", |run| run.done_count() > done || run.log.len() >= 5 + sent.len());
        while run.done_count() > 0 {
            let (written, of) = run.take_done();
            assert_eq!(written, of);
            outstanding -= 1;
        }
    }
    assert!(run.log[5..] == sent[..], "bytes differ");
    run.close();
}

#[test]
fn h8_a_child_that_never_reads_bounds_the_input_and_a_cancel_tells_how_much_went() {
    let mut run = start(&shell("stty raw -echo; echo ready; while :; do echo tick; sleep 0.01; done"));
    run.until_text("ready");
    run.send(&ToHolder::Input { id: 1, bytes: bytes(INPUT_WINDOW) });
    run.send(&ToHolder::Input { id: 2, bytes: b"no room".to_vec() });
    assert_eq!(run.until_done(2), (0, 7), "a full queue refuses");
    let before = run.log.len();
    run.until("output goes on", |run| run.log.len() > before + 20);
    run.send(&ToHolder::CancelInput { id: 1 });
    let (written, of) = run.until_done(1);
    assert_eq!(of, INPUT_WINDOW as u64);
    assert!(written < of, "wrote {written} of {of}");
    run.send(&ToHolder::Input { id: 3, bytes: vec![b'x'; 1000] });
    run.send(&ToHolder::Kill { grace_ms: 100 });
    let (_, of) = run.until_done(3);
    assert_eq!(of, 1000, "released by the end of the child");
    run.close();
}

#[test]
fn s1_input_is_never_typed_twice_across_daemons() {
    let mut run = start(&shell("stty -echo; echo ready; exec cat"));
    run.until_text("ready");
    run.send(&ToHolder::Input { id: 41, bytes: b"first\n".to_vec() });
    run.until_text("first");
    run.disconnect();
    run.reconnect();
    assert_eq!(run.hello.fields.last_input_id, 41);
    run.send(&ToHolder::Input { id: 41, bytes: b"first\n".to_vec() });
    assert_eq!(run.until_done(41), (6, 6), "acknowledged");
    run.send(&ToHolder::Input { id: 40, bytes: b"older\n".to_vec() });
    assert_eq!(run.until_done(40), (6, 6));
    run.send(&ToHolder::Input { id: 42, bytes: b"last\n".to_vec() });
    run.until_text("last");
    let text = String::from_utf8_lossy(&run.log).into_owned();
    assert_eq!(text.matches("first").count(), 1, "{text}");
    assert!(!text.contains("older"), "{text}");
    run.close();
}

#[test]
fn m7d_the_next_daemon_hears_how_much_of_a_keyed_write_was_typed() {
    let mut run = start(&shell("stty raw -echo; echo ready; exec cat"));
    run.until_text("ready");
    let key = b"send-1".to_vec();
    run.send(&ToHolder::KeyedInput { id: 1, key: key.clone(), note: 5, bytes: b"first".to_vec() });
    run.until_text("first");
    run.disconnect();
    run.reconnect();
    run.send(&ToHolder::AskKey { key: key.clone() });
    run.until("the state of the key", |run| run.key_state.is_some());
    let state = KeyState { key, note: 5, accepted: 5, written: 5, pending: Vec::new() };
    assert_eq!(run.key_state, Some(state));
    run.close();
}

#[test]
fn t5_input_arrives_once_in_order() {
    let mut run = start(&shell("stty raw -echo; echo ready; exec cat"));
    run.until_text("ready");
    let expected: Vec<u8> = (0..500u64).flat_map(|id| format!("<{id}>").into_bytes()).collect();
    for id in 0..500u64 {
        run.send(&ToHolder::Input { id: id + 1, bytes: format!("<{id}>").into_bytes() });
    }
    run.until("all of it", |run| run.log.len() >= 6 + expected.len());
    assert!(run.log.ends_with(&expected));
    run.close();
}

#[test]
fn a_persons_keystrokes_may_go_straight_to_the_master() {
    let mut run = start(&config(&["cat"]));
    rustix::io::write(&run.hello.master, b"typed\n").unwrap();
    run.until_text("typed\r\ntyped\r\n");
    let modes = rustix::termios::tcgetattr(&run.hello.master).unwrap();
    assert!(modes.local_modes.contains(rustix::termios::LocalModes::ICANON));
    assert!(modes.input_modes.contains(rustix::termios::InputModes::IUTF8));
    run.close();
}
