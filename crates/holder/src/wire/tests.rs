//! The guarantees of the wire: frozen bytes, every message survives a round trip, no input panics.

use super::*;

fn decode_one<T>(bytes: &[u8], decode: impl Fn(u8, &[u8]) -> Result<Option<T>, WireError>) -> T {
    let mut buffer = FrameBuffer::default();
    buffer.extend(bytes);
    let (kind, body) = buffer.next_frame().unwrap().expect("a whole frame");
    decode(kind, body).unwrap().expect("a known type")
}

fn to_holder() -> Vec<ToHolder> {
    vec![
        ToHolder::Hello { version: 1 },
        ToHolder::Input { id: 7, bytes: b"text".to_vec() },
        ToHolder::Input { id: u64::MAX, bytes: Vec::new() },
        ToHolder::KeyedInput { id: 8, key: b"send-1".to_vec(), note: 5, bytes: b"text".to_vec() },
        ToHolder::AskKey { key: b"send-1".to_vec() },
        ToHolder::CancelInput { id: 3 },
        ToHolder::Resize { cols: 80, rows: 24 },
        ToHolder::Signal { signal: 15, to: SignalTarget::Leader },
        ToHolder::Signal { signal: 2, to: SignalTarget::ForegroundGroup },
        ToHolder::Signal { signal: -1, to: SignalTarget::Tree },
        ToHolder::Kill { grace_ms: 500 },
        ToHolder::End { signal: 15, grace_ms: 600_000 },
        ToHolder::Checkpoint { offset: 1 << 40, blob: vec![0; 1000] },
        ToHolder::Resume,
        ToHolder::Release { end_tree: true },
        ToHolder::Release { end_tree: false },
        ToHolder::Hangup,
    ]
}

fn from_holder() -> Vec<FromHolder> {
    vec![
        FromHolder::InputDone { id: 1, written: 2, of: 3 },
        FromHolder::KeyState(KeyState { key: b"none".to_vec(), ..KeyState::default() }),
        FromHolder::KeyState(KeyState {
            key: b"send-1".to_vec(),
            note: u64::MAX,
            accepted: 9,
            written: 4,
            pending: vec![PendingInput { id: 1, length: 2 }, PendingInput { id: 2, length: 3 }],
        }),
        FromHolder::Exited(RunExit { status: ExitStatus::Code(255), final_offset: 9 }),
        FromHolder::Exited(RunExit { status: ExitStatus::Signal(9), final_offset: u64::MAX }),
        FromHolder::TreeGone { survivors: 4 },
    ]
}

#[test]
fn the_bytes_of_hangup_never_change() {
    assert_eq!(HANGUP, [7, 0, 0, 0, 255, 104, 97, 110, 103, 117, 112]);
    assert_eq!(ToHolder::Hangup.encode(), HANGUP);
}

#[test]
fn the_bytes_of_every_frame_are_frozen() {
    let pinned: [(ToHolder, &[u8]); 8] = [
        (ToHolder::Hello { version: 1 }, &[3, 0, 0, 0, 2, 1, 0]),
        (ToHolder::Input { id: 2, bytes: vec![65] }, &[10, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 0, 65]),
        (ToHolder::Resize { cols: 80, rows: 24 }, &[5, 0, 0, 0, 5, 80, 0, 24, 0]),
        (ToHolder::Kill { grace_ms: 256 }, &[5, 0, 0, 0, 7, 0, 1, 0, 0]),
        (ToHolder::End { signal: 15, grace_ms: 256 }, &[9, 0, 0, 0, 11, 15, 0, 0, 0, 0, 1, 0, 0]),
        (ToHolder::Release { end_tree: true }, &[2, 0, 0, 0, 10, 1]),
        (
            ToHolder::KeyedInput { id: 2, key: vec![75], note: 3, bytes: vec![65] },
            &[23, 0, 0, 0, 12, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 75, 3, 0, 0, 0, 0, 0, 0, 0, 65],
        ),
        (ToHolder::AskKey { key: vec![75] }, &[2, 0, 0, 0, 13, 75]),
    ];
    for (message, bytes) in pinned {
        assert_eq!(message.encode(), bytes, "{message:?}");
    }
}

#[test]
fn every_message_survives_the_wire() {
    for message in to_holder() {
        assert_eq!(decode_one(&message.encode(), ToHolder::decode), message);
    }
    for message in from_holder() {
        assert_eq!(decode_one(&message.encode(), FromHolder::decode), message);
    }
}

#[test]
fn frames_are_found_however_the_stream_is_cut() {
    let stream: Vec<u8> = to_holder().iter().flat_map(ToHolder::encode).collect();
    for step in [1, 2, 3, 7, 100, stream.len()] {
        let mut buffer = FrameBuffer::default();
        let mut found = Vec::new();
        for piece in stream.chunks(step) {
            buffer.extend(piece);
            while let Some((kind, body)) = buffer.next_frame().unwrap() {
                found.extend(ToHolder::decode(kind, body).unwrap());
            }
        }
        assert_eq!(found, to_holder(), "pieces of {step}");
    }
}

#[test]
fn an_unknown_type_is_skipped() {
    let mut buffer = FrameBuffer::default();
    buffer.extend(&frame(0x70, &[b"of the future"]));
    let (kind, body) = buffer.next_frame().unwrap().unwrap();
    assert_eq!(ToHolder::decode(kind, body), Ok(None));
    assert_eq!(FromHolder::decode(kind, body), Ok(None));
}

#[test]
fn a_frame_that_is_too_long_is_refused_by_its_header() {
    for (kind, length) in [(kind::INPUT, 2 << 20), (kind::CHECKPOINT, 17 << 20), (0x70, 2 << 20)] {
        let mut buffer = FrameBuffer::default();
        buffer.extend(&u32::to_le_bytes(length));
        buffer.extend(&[kind]);
        assert_eq!(buffer.next_frame(), Err(WireError::TooLong { length: length as usize }));
    }
    let mut buffer = FrameBuffer::default();
    buffer.extend(&[0; 8]);
    assert!(buffer.next_frame().is_err(), "a frame has a type");
}

#[test]
fn a_hello_reply_survives_with_and_without_a_checkpoint() {
    let mut fields = HelloFields {
        wire_version: 1,
        holder_pid: 10,
        child_pid: 11,
        child_start_time: 12,
        cols: 80,
        rows: 24,
        last_input_id: 13,
        exited: None,
        ring_bytes: 65536,
        meta: b"meta".to_vec(),
        checkpoint: None,
    };
    for (exited, checkpoint, blob) in [
        (None, None, &b""[..]),
        (Some(RunExit { status: ExitStatus::Signal(6), final_offset: 5 }), Some((77, 4)), &b"blob"[..]),
    ] {
        (fields.exited, fields.checkpoint) = (exited, checkpoint);
        let mut bytes = fields.encode_head();
        bytes.extend_from_slice(blob);
        let mut buffer = FrameBuffer::default();
        buffer.extend(&bytes);
        let (_, body) = buffer.next_frame().unwrap().expect("the head counts the blob");
        assert_eq!(HelloFields::decode(body), Ok((fields.clone(), blob)));
    }
}

#[test]
fn no_body_panics_a_decoder() {
    let mut state = 88172645463325252u64;
    let mut body = Vec::new();
    for _ in 0..20_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        body.push(state as u8);
        if body.len() > 64 {
            body.clear();
        }
        for kind in 0..=255 {
            // Only that they return matters.
            let _ = (ToHolder::decode(kind, &body), FromHolder::decode(kind, &body)).0.is_ok();
        }
        let _ = HelloFields::decode(&body).is_ok();
        let _ = crate::RunConfig::decode(&body).is_ok();
    }
}

#[test]
fn what_people_type_does_not_appear_in_debug_output() {
    let message = ToHolder::Input { id: 1, bytes: b"secret".to_vec() };
    assert_eq!(format!("{message:?}"), "Input(1, 6 bytes)");
}
