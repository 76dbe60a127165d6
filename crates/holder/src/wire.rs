//! The frames between daemon and holder: `u32` length (of type and body), `u8` type, body; little-endian. The
//! wire is frozen: a type keeps its number and its body for ever, new things get new types, and an unknown
//! type is skipped, so that a daemon can always adopt an older holder. Decoders accept any bytes.

mod frames;
mod hello;

use std::fmt;

use crate::codec::{Cursor, put_bytes};

pub use frames::FrameBuffer;
use frames::LENGTH_BYTES;
pub(crate) use frames::{MAX_FRAME, frame, kind};
pub use hello::HelloFields;

/// The version of this build; both sides announce theirs and neither refuses the other's.
pub const WIRE_VERSION: u16 = 3;

/// The first version whose holders know [`ToHolder::End`].
pub const WIRE_WITH_END: u16 = 2;

/// The first version whose holders know [`ToHolder::KeyedInput`] and [`ToHolder::AskKey`].
pub const WIRE_WITH_KEYS: u16 = 3;

/// Longest key of a [`ToHolder::KeyedInput`].
pub const MAX_KEY: usize = 160;

/// How many bytes of input may be queued in the holder at once. The daemon keeps to it; more is refused.
pub const INPUT_WINDOW: usize = 1 << 20;

/// "End the tree, then exit." Every holder, of this and of all later versions, accepts this frame from any
/// connection of the same user at any time, even before HELLO. Its bytes must never change.
pub const HANGUP: [u8; 11] = [7, 0, 0, 0, 0xff, b'h', b'a', b'n', b'g', b'u', b'p'];

/// Longest checkpoint blob.
pub const MAX_CHECKPOINT: usize = 16 << 20;

/// Why bytes are not a frame or a body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The frame is longer than its kind may be.
    #[error("frame of {length} bytes is too long")]
    TooLong {
        /// The length that the frame claims.
        length: usize,
    },
    /// The body ends before its last field.
    #[error("frame ends too early")]
    Truncated,
    /// A field has a value that it may not have.
    #[error("malformed frame: {what}")]
    Malformed {
        /// The field.
        what: &'static str,
    },
}

/// The target of a [`ToHolder::Signal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalTarget {
    /// The child that was started.
    Leader,
    /// Every process of the terminal's foreground group.
    ForegroundGroup,
    /// Every descendant.
    Tree,
}

/// How the leader ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunExit {
    /// How the leader ended.
    pub status: ExitStatus,
    /// Offset after the last byte of output; everything before it was in the ring when the exit was announced.
    pub final_offset: u64,
}

/// A message from the daemon to a holder.
#[derive(Clone, PartialEq, Eq)]
pub enum ToHolder {
    /// First frame of a connection; answered with the HELLO reply and three descriptors.
    Hello {
        /// The daemon's [`WIRE_VERSION`].
        version: u16,
    },
    /// Bytes for the child. Ids are strictly increasing; a repeated id is acknowledged and not written again.
    Input {
        /// Identity of these bytes, across daemons.
        id: u64,
        /// What to write.
        bytes: Vec<u8>,
    },
    /// Bytes for the child as a part of a keyed write: the next daemon can ask how much of the write was
    /// accepted and written. Since version 3.
    KeyedInput {
        /// Identity of these bytes, across daemons.
        id: u64,
        /// The key of the whole write, at most [`MAX_KEY`] bytes.
        key: Vec<u8>,
        /// What the next daemon must know to continue. The holder keeps the newest note of a key.
        note: u64,
        /// What to write.
        bytes: Vec<u8>,
    },
    /// Asks how much of the write with this key was accepted and written; answered by
    /// [`FromHolder::KeyState`]. Since version 3.
    AskKey {
        /// The key.
        key: Vec<u8>,
    },
    /// Drop what has not been written of an input; answered by its `InputDone`.
    CancelInput {
        /// Which input.
        id: u64,
    },
    /// The terminal's new size.
    Resize {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// Send a signal.
    Signal {
        /// Its number.
        signal: i32,
        /// Its target.
        to: SignalTarget,
    },
    /// End the tree: HUP and CONT, then after the grace TERM, then KILL until nothing is left. Answered by `TreeGone`.
    Kill {
        /// Time between HUP and TERM, at most two seconds.
        grace_ms: u32,
    },
    /// End the tree: this signal and CONT to all of it, and KILL until nothing is left when the grace is over. Sent again,
    /// it shortens the grace and never lengthens it. Answered by `TreeGone`. Since version 2.
    End {
        /// The signal that asks.
        signal: i32,
        /// How long the tree may take after it, at most ten minutes; 0 kills at once.
        grace_ms: u32,
    },
    /// Keep this for the next daemon.
    Checkpoint {
        /// The log offset it stands for.
        offset: u64,
        /// Opaque.
        blob: Vec<u8>,
    },
    /// The ring has room again (see [`RingReader::keep_from`](crate::RingReader::keep_from)).
    Resume,
    /// The run's end has been recorded: exit. A leader that still lives is always ended first.
    Release {
        /// True if background descendants are ended too.
        end_tree: bool,
    },
    /// [`HANGUP`].
    Hangup,
}

/// How much of a keyed write was accepted and written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyState {
    /// The key that was asked for.
    pub key: Vec<u8>,
    /// The note of the newest input.
    pub note: u64,
    /// Bytes that were accepted; 0 when the holder does not know the key.
    pub accepted: u64,
    /// Bytes that reached the PTY, of inputs that are finished.
    pub written: u64,
    /// Inputs that are not finished, in order: each is answered by its `InputDone`.
    pub pending: Vec<PendingInput>,
}

impl KeyState {
    /// Returns true if a part was accepted and given up, so that nothing may follow it.
    pub fn is_cut(&self) -> bool {
        let pending: u64 = self.pending.iter().map(|input| input.length).sum();
        self.accepted > self.written.saturating_add(pending)
    }
}

/// An input that was accepted and is not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingInput {
    /// Which input.
    pub id: u64,
    /// How many bytes it has in all.
    pub length: u64,
}

/// A message from a holder to the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromHolder {
    /// An input has been written, cancelled or refused, or the child is gone.
    InputDone {
        /// Which input.
        id: u64,
        /// Bytes that reached the PTY.
        written: u64,
        /// Bytes that were asked for.
        of: u64,
    },
    /// The answer to [`ToHolder::AskKey`].
    KeyState(KeyState),
    /// The leader has ended and its output is in the ring to the last byte.
    Exited(RunExit),
    /// A kill is over.
    TreeGone {
        /// Descendants that could not be ended within the bound (0 but for processes stuck in the kernel).
        survivors: u32,
    },
}

impl fmt::Debug for ToHolder {
    /// Shows input and checkpoints only by their length: what people type must not reach a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToHolder::Hello { version } => write!(f, "Hello({version})"),
            ToHolder::Input { id, bytes } => write!(f, "Input({id}, {} bytes)", bytes.len()),
            ToHolder::KeyedInput { id, bytes, .. } => write!(f, "KeyedInput({id}, {} bytes)", bytes.len()),
            ToHolder::AskKey { key } => write!(f, "AskKey({} bytes)", key.len()),
            ToHolder::CancelInput { id } => write!(f, "CancelInput({id})"),
            ToHolder::Resize { cols, rows } => write!(f, "Resize({cols}x{rows})"),
            ToHolder::Signal { signal, to } => write!(f, "Signal({signal}, {to:?})"),
            ToHolder::Kill { grace_ms } => write!(f, "Kill({grace_ms} ms)"),
            ToHolder::End { signal, grace_ms } => write!(f, "End({signal}, {grace_ms} ms)"),
            ToHolder::Checkpoint { offset, blob } => write!(f, "Checkpoint({offset}, {} bytes)", blob.len()),
            ToHolder::Resume => write!(f, "Resume"),
            ToHolder::Release { end_tree } => write!(f, "Release(end_tree: {end_tree})"),
            ToHolder::Hangup => write!(f, "Hangup"),
        }
    }
}

impl ToHolder {
    /// Returns the whole frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            ToHolder::Hello { version } => frame(kind::HELLO, &[&version.to_le_bytes()]),
            ToHolder::Input { id, bytes } => frame(kind::INPUT, &[&id.to_le_bytes(), bytes]),
            ToHolder::KeyedInput { id, key, note, bytes } => {
                let mut head = id.to_le_bytes().to_vec();
                put_bytes(&mut head, key);
                head.extend_from_slice(&note.to_le_bytes());
                frame(kind::KEYED_INPUT, &[&head, bytes])
            }
            ToHolder::AskKey { key } => frame(kind::ASK_KEY, &[key]),
            ToHolder::CancelInput { id } => frame(kind::CANCEL_INPUT, &[&id.to_le_bytes()]),
            ToHolder::Resize { cols, rows } => {
                frame(kind::RESIZE, &[&cols.to_le_bytes(), &rows.to_le_bytes()])
            }
            ToHolder::Signal { signal, to } => {
                frame(kind::SIGNAL, &[&signal.to_le_bytes(), &[target_number(*to)]])
            }
            ToHolder::Kill { grace_ms } => frame(kind::KILL, &[&grace_ms.to_le_bytes()]),
            ToHolder::End { signal, grace_ms } => {
                frame(kind::END, &[&signal.to_le_bytes(), &grace_ms.to_le_bytes()])
            }
            ToHolder::Checkpoint { offset, blob } => frame(kind::CHECKPOINT, &[&offset.to_le_bytes(), blob]),
            ToHolder::Resume => frame(kind::RESUME, &[]),
            ToHolder::Release { end_tree } => frame(kind::RELEASE, &[&[u8::from(*end_tree)]]),
            ToHolder::Hangup => HANGUP.to_vec(),
        }
    }

    /// Decodes a frame's type and body; `None` for a type that this build does not know.
    pub fn decode(kind: u8, body: &[u8]) -> Result<Option<Self>, WireError> {
        let mut cursor = Cursor::new(body);
        Ok(Some(match kind {
            kind::HELLO => ToHolder::Hello { version: cursor.u16()? },
            kind::INPUT => ToHolder::Input { id: cursor.u64()?, bytes: cursor.remainder().to_vec() },
            kind::KEYED_INPUT => ToHolder::KeyedInput {
                id: cursor.u64()?,
                key: key(cursor.bytes()?)?,
                note: cursor.u64()?,
                bytes: cursor.remainder().to_vec(),
            },
            kind::ASK_KEY => ToHolder::AskKey { key: key(cursor.remainder())? },
            kind::CANCEL_INPUT => ToHolder::CancelInput { id: cursor.u64()? },
            kind::RESIZE => ToHolder::Resize { cols: cursor.u16()?, rows: cursor.u16()? },
            kind::SIGNAL => ToHolder::Signal { signal: cursor.i32()?, to: target(cursor.u8()?)? },
            kind::KILL => ToHolder::Kill { grace_ms: cursor.u32()? },
            kind::END => ToHolder::End { signal: cursor.i32()?, grace_ms: cursor.u32()? },
            kind::CHECKPOINT => {
                ToHolder::Checkpoint { offset: cursor.u64()?, blob: cursor.remainder().to_vec() }
            }
            kind::RESUME => ToHolder::Resume,
            kind::RELEASE => ToHolder::Release { end_tree: cursor.u8()? != 0 },
            kind::HANGUP if body == &HANGUP[LENGTH_BYTES + 1..] => ToHolder::Hangup,
            kind::HANGUP => return Err(WireError::Malformed { what: "hangup" }),
            _ => return Ok(None),
        }))
    }
}

impl FromHolder {
    /// Returns the whole frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            FromHolder::InputDone { id, written, of } => {
                frame(kind::INPUT_DONE, &[&id.to_le_bytes(), &written.to_le_bytes(), &of.to_le_bytes()])
            }
            FromHolder::KeyState(state) => frame(kind::KEY_STATE, &[&encode_state(state)]),
            FromHolder::Exited(exit) => {
                let mut body = Vec::new();
                put_exit(&mut body, exit);
                frame(kind::EXITED, &[&body])
            }
            FromHolder::TreeGone { survivors } => frame(kind::TREE_GONE, &[&survivors.to_le_bytes()]),
        }
    }

    /// Decodes a frame's type and body; `None` for a type that this build does not know.
    pub fn decode(kind: u8, body: &[u8]) -> Result<Option<Self>, WireError> {
        let mut cursor = Cursor::new(body);
        Ok(Some(match kind {
            kind::INPUT_DONE => {
                FromHolder::InputDone { id: cursor.u64()?, written: cursor.u64()?, of: cursor.u64()? }
            }
            kind::KEY_STATE => FromHolder::KeyState(take_state(&mut cursor)?),
            kind::EXITED => FromHolder::Exited(take_exit(&mut cursor)?),
            kind::TREE_GONE => FromHolder::TreeGone { survivors: cursor.u32()? },
            _ => return Ok(None),
        }))
    }
}

fn key(bytes: &[u8]) -> Result<Vec<u8>, WireError> {
    if bytes.is_empty() || bytes.len() > MAX_KEY {
        return Err(WireError::Malformed { what: "key" });
    }
    Ok(bytes.to_vec())
}

fn encode_state(state: &KeyState) -> Vec<u8> {
    let mut body = Vec::new();
    put_bytes(&mut body, &state.key);
    for number in [state.note, state.accepted, state.written] {
        body.extend_from_slice(&number.to_le_bytes());
    }
    for input in &state.pending {
        body.extend_from_slice(&input.id.to_le_bytes());
        body.extend_from_slice(&input.length.to_le_bytes());
    }
    body
}

fn take_state(cursor: &mut Cursor<'_>) -> Result<KeyState, WireError> {
    let key = key(cursor.bytes()?)?;
    let (note, accepted, written) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
    let mut rest = Cursor::new(cursor.remainder());
    let mut pending = Vec::new();
    while let Ok(id) = rest.u64() {
        pending.push(PendingInput { id, length: rest.u64()? });
    }
    Ok(KeyState { key, note, accepted, written, pending })
}

fn target_number(target: SignalTarget) -> u8 {
    match target {
        SignalTarget::Leader => 0,
        SignalTarget::ForegroundGroup => 1,
        SignalTarget::Tree => 2,
    }
}

fn target(number: u8) -> Result<SignalTarget, WireError> {
    match number {
        0 => Ok(SignalTarget::Leader),
        1 => Ok(SignalTarget::ForegroundGroup),
        2 => Ok(SignalTarget::Tree),
        _ => Err(WireError::Malformed { what: "signal target" }),
    }
}

fn put_exit(body: &mut Vec<u8>, exit: &RunExit) {
    let (tag, number) = match exit.status {
        ExitStatus::Code(code) => (0, code),
        ExitStatus::Signal(signal) => (1, signal),
    };
    body.push(tag);
    body.extend_from_slice(&number.to_le_bytes());
    body.extend_from_slice(&exit.final_offset.to_le_bytes());
}

fn take_exit(cursor: &mut Cursor<'_>) -> Result<RunExit, WireError> {
    let (tag, number) = (cursor.u8()?, cursor.i32()?);
    let status = match tag {
        0 => ExitStatus::Code(number),
        1 => ExitStatus::Signal(number),
        _ => return Err(WireError::Malformed { what: "exit status" }),
    };
    Ok(RunExit { status, final_offset: cursor.u64()? })
}

#[cfg(test)]
mod tests;
