//! The frames between daemon and holder: `u32` length (of type and body), `u8` type, body; little-endian. The wire is
//! frozen: a type keeps its number and its body for ever, new things get new types, and an unknown type is skipped, so
//! that a daemon can always adopt an older holder. Decoders are total. It refuses I/O.

use std::fmt;

use crate::codec::{Cursor, put_bytes};

/// The version that this build speaks; both sides announce theirs and neither refuses the other's.
pub const WIRE_VERSION: u16 = 1;

/// How many bytes of input may be queued in the holder at once. The daemon keeps to it; what exceeds it is refused.
pub const INPUT_WINDOW: usize = 1 << 20;

/// "End the tree, then exit." One eternal frame: accepted from any connection of the same user at any time, even before
/// HELLO, by every holder there will ever be. Its bytes must never change.
pub const HANGUP: [u8; 11] = [7, 0, 0, 0, 0xff, b'h', b'a', b'n', b'g', b'u', b'p'];

/// Longest checkpoint blob.
pub const MAX_CHECKPOINT: usize = 16 << 20;

/// Longest frame of the largest kind (a HELLO reply with a checkpoint and a configuration's worth of meta).
pub(crate) const MAX_FRAME: usize = MAX_CHECKPOINT + crate::config::MAX_CONFIG_BYTES + 4096;

/// Longest frame of the other kinds, with room for the header.
const MAX_ORDINARY_FRAME: usize = (1 << 20) + 64;

/// Bytes before the type: the length.
const LENGTH_BYTES: usize = 4;

/// Frame types. Numbers are never reused.
pub(crate) mod kind {
    pub(crate) const CONFIG: u8 = 0x01;
    pub(crate) const HELLO: u8 = 0x02;
    pub(crate) const INPUT: u8 = 0x03;
    pub(crate) const CANCEL_INPUT: u8 = 0x04;
    pub(crate) const RESIZE: u8 = 0x05;
    pub(crate) const SIGNAL: u8 = 0x06;
    pub(crate) const KILL: u8 = 0x07;
    pub(crate) const CHECKPOINT: u8 = 0x08;
    pub(crate) const RESUME: u8 = 0x09;
    pub(crate) const RELEASE: u8 = 0x0a;
    pub(crate) const HELLO_REPLY: u8 = 0x81;
    pub(crate) const LAUNCH_FAILED: u8 = 0x82;
    pub(crate) const INPUT_DONE: u8 = 0x83;
    pub(crate) const EXITED: u8 = 0x84;
    pub(crate) const TREE_GONE: u8 = 0x85;
    pub(crate) const HANGUP: u8 = 0xff;
}

/// Why bytes are not a frame or a body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The frame is longer than its kind may be.
    #[error("frame of {length} bytes is too long")]
    TooLong {
        /// What the frame claims.
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

/// Whom a [`ToHolder::Signal`] is for.
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
pub struct Exit {
    /// How the leader ended.
    pub status: ExitStatus,
    /// Offset after the last byte of output; everything before it was in the ring when the exit was announced.
    pub final_offset: u64,
}

/// What the daemon tells a holder.
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
    /// Give up what has not been written of an input; answered by its `InputDone`.
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
        /// Whom it is for.
        to: SignalTarget,
    },
    /// End the tree: HUP and CONT, then after the grace TERM, then KILL until nothing is left. Answered by `TreeGone`.
    Kill {
        /// Time between HUP and TERM, at most two seconds.
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
        /// Whether background descendants are ended too.
        end_tree: bool,
    },
    /// [`HANGUP`].
    Hangup,
}

/// What a holder tells the daemon.
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
    /// The leader has ended and its output is in the ring to the last byte.
    Exited(Exit),
    /// A kill is over.
    TreeGone {
        /// Descendants that could not be ended within the bound (0 but for processes stuck in the kernel).
        survivors: u32,
    },
}

impl fmt::Debug for ToHolder {
    /// Input and checkpoints are shown by their length only: what people type must not reach a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToHolder::Hello { version } => write!(f, "Hello({version})"),
            ToHolder::Input { id, bytes } => write!(f, "Input({id}, {} bytes)", bytes.len()),
            ToHolder::CancelInput { id } => write!(f, "CancelInput({id})"),
            ToHolder::Resize { cols, rows } => write!(f, "Resize({cols}x{rows})"),
            ToHolder::Signal { signal, to } => write!(f, "Signal({signal}, {to:?})"),
            ToHolder::Kill { grace_ms } => write!(f, "Kill({grace_ms} ms)"),
            ToHolder::Checkpoint { offset, blob } => write!(f, "Checkpoint({offset}, {} bytes)", blob.len()),
            ToHolder::Resume => write!(f, "Resume"),
            ToHolder::Release { end_tree } => write!(f, "Release(end_tree: {end_tree})"),
            ToHolder::Hangup => write!(f, "Hangup"),
        }
    }
}

impl ToHolder {
    /// The whole frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            ToHolder::Hello { version } => frame(kind::HELLO, &[&version.to_le_bytes()]),
            ToHolder::Input { id, bytes } => frame(kind::INPUT, &[&id.to_le_bytes(), bytes]),
            ToHolder::CancelInput { id } => frame(kind::CANCEL_INPUT, &[&id.to_le_bytes()]),
            ToHolder::Resize { cols, rows } => {
                frame(kind::RESIZE, &[&cols.to_le_bytes(), &rows.to_le_bytes()])
            }
            ToHolder::Signal { signal, to } => {
                frame(kind::SIGNAL, &[&signal.to_le_bytes(), &[target_number(*to)]])
            }
            ToHolder::Kill { grace_ms } => frame(kind::KILL, &[&grace_ms.to_le_bytes()]),
            ToHolder::Checkpoint { offset, blob } => frame(kind::CHECKPOINT, &[&offset.to_le_bytes(), blob]),
            ToHolder::Resume => frame(kind::RESUME, &[]),
            ToHolder::Release { end_tree } => frame(kind::RELEASE, &[&[u8::from(*end_tree)]]),
            ToHolder::Hangup => HANGUP.to_vec(),
        }
    }

    /// Reads a frame's type and body; `None` for a type this build does not know.
    pub fn decode(kind: u8, body: &[u8]) -> Result<Option<Self>, WireError> {
        let mut cursor = Cursor::new(body);
        Ok(Some(match kind {
            kind::HELLO => ToHolder::Hello { version: cursor.u16()? },
            kind::INPUT => ToHolder::Input { id: cursor.u64()?, bytes: cursor.remainder().to_vec() },
            kind::CANCEL_INPUT => ToHolder::CancelInput { id: cursor.u64()? },
            kind::RESIZE => ToHolder::Resize { cols: cursor.u16()?, rows: cursor.u16()? },
            kind::SIGNAL => ToHolder::Signal { signal: cursor.i32()?, to: target(cursor.u8()?)? },
            kind::KILL => ToHolder::Kill { grace_ms: cursor.u32()? },
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
    /// The whole frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            FromHolder::InputDone { id, written, of } => {
                frame(kind::INPUT_DONE, &[&id.to_le_bytes(), &written.to_le_bytes(), &of.to_le_bytes()])
            }
            FromHolder::Exited(exit) => {
                let mut body = Vec::new();
                put_exit(&mut body, exit);
                frame(kind::EXITED, &[&body])
            }
            FromHolder::TreeGone { survivors } => frame(kind::TREE_GONE, &[&survivors.to_le_bytes()]),
        }
    }

    /// Reads a frame's type and body; `None` for a type this build does not know.
    pub fn decode(kind: u8, body: &[u8]) -> Result<Option<Self>, WireError> {
        let mut cursor = Cursor::new(body);
        Ok(Some(match kind {
            kind::INPUT_DONE => {
                FromHolder::InputDone { id: cursor.u64()?, written: cursor.u64()?, of: cursor.u64()? }
            }
            kind::EXITED => FromHolder::Exited(take_exit(&mut cursor)?),
            kind::TREE_GONE => FromHolder::TreeGone { survivors: cursor.u32()? },
            _ => return Ok(None),
        }))
    }
}

/// The plain fields of the HELLO reply; ring, wake-up and master travel beside it as descriptors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelloFields {
    /// The holder's [`WIRE_VERSION`].
    pub wire_version: u16,
    /// The holder's pid.
    pub holder_pid: i32,
    /// The leader's pid.
    pub child_pid: i32,
    /// The leader's start time, field 22 of its stat file.
    pub child_start_time: u64,
    /// Columns now.
    pub cols: u16,
    /// Rows now.
    pub rows: u16,
    /// Highest input id accepted so far.
    pub last_input_id: u64,
    /// How the run ended, if it has.
    pub exited: Option<Exit>,
    /// Size of the ring.
    pub ring_bytes: u32,
    /// What the configuration said.
    pub meta: Vec<u8>,
    /// Offset and length of the newest checkpoint; the blob itself is the rest of the frame.
    pub checkpoint: Option<(u64, u32)>,
}

impl HelloFields {
    /// The start of the reply frame; the checkpoint blob must follow it.
    pub fn encode_head(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend_from_slice(&self.wire_version.to_le_bytes());
        body.extend_from_slice(&self.holder_pid.to_le_bytes());
        body.extend_from_slice(&self.child_pid.to_le_bytes());
        body.extend_from_slice(&self.child_start_time.to_le_bytes());
        body.extend_from_slice(&self.cols.to_le_bytes());
        body.extend_from_slice(&self.rows.to_le_bytes());
        body.extend_from_slice(&self.last_input_id.to_le_bytes());
        match &self.exited {
            None => body.push(0),
            Some(exit) => {
                body.push(1);
                put_exit(&mut body, exit);
            }
        }
        body.extend_from_slice(&self.ring_bytes.to_le_bytes());
        put_bytes(&mut body, &self.meta);
        body.push(u8::from(self.checkpoint.is_some()));
        let (offset, length) = self.checkpoint.unwrap_or_default();
        body.extend_from_slice(&offset.to_le_bytes());
        body.extend_from_slice(&length.to_le_bytes());
        let mut head = frame(kind::HELLO_REPLY, &[&body]);
        let total = u32::try_from(body.len() + 1).unwrap_or(u32::MAX).saturating_add(length);
        head[..LENGTH_BYTES].copy_from_slice(&total.to_le_bytes());
        head
    }

    /// Reads the fields and the checkpoint blob of a reply's body.
    pub fn decode(body: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut cursor = Cursor::new(body);
        let mut fields = HelloFields {
            wire_version: cursor.u16()?,
            holder_pid: cursor.i32()?,
            child_pid: cursor.i32()?,
            child_start_time: cursor.u64()?,
            cols: cursor.u16()?,
            rows: cursor.u16()?,
            last_input_id: cursor.u64()?,
            exited: if cursor.u8()? == 0 { None } else { Some(take_exit(&mut cursor)?) },
            ring_bytes: cursor.u32()?,
            meta: cursor.bytes()?.to_vec(),
            checkpoint: None,
        };
        let has_checkpoint = cursor.u8()? != 0;
        let (offset, length) = (cursor.u64()?, cursor.u32()?);
        if !has_checkpoint {
            return Ok((fields, &[]));
        }
        fields.checkpoint = Some((offset, length));
        let blob = cursor.take(usize::try_from(length).map_err(|_| WireError::Truncated)?)?;
        Ok((fields, blob))
    }
}

/// Bytes on their way to becoming frames.
#[derive(Debug, Default)]
pub struct FrameBuffer {
    bytes: Vec<u8>,
    taken: usize,
}

impl FrameBuffer {
    /// Adds what was read.
    pub fn extend(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame's type and body; `None` when more bytes are needed. After an error the stream is lost.
    pub fn next_frame(&mut self) -> Result<Option<(u8, &[u8])>, WireError> {
        let rest = &self.bytes[self.taken..];
        let Some((length, rest)) = rest.split_first_chunk::<LENGTH_BYTES>() else {
            self.shrink_when_empty();
            return Ok(None);
        };
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length == 0 {
            return Err(WireError::Truncated);
        }
        let Some(kind) = rest.first().copied() else { return Ok(None) };
        if length > longest(kind) {
            return Err(WireError::TooLong { length });
        }
        if rest.len() < length {
            return Ok(None);
        }
        let body = self.taken + LENGTH_BYTES + 1;
        self.taken += LENGTH_BYTES + length;
        Ok(Some((kind, &self.bytes[body..self.taken])))
    }

    /// A checkpoint must not leave its megabytes behind in every holder.
    fn shrink_when_empty(&mut self) {
        if self.taken == self.bytes.len() {
            self.taken = 0;
            self.bytes.clear();
            self.bytes.shrink_to(16 << 10);
        }
    }
}

/// One frame from its parts.
pub(crate) fn frame(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
    let mut out = Vec::with_capacity(LENGTH_BYTES + length);
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    out.push(kind);
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}

fn longest(kind: u8) -> usize {
    match kind {
        kind::CHECKPOINT => MAX_CHECKPOINT + 64,
        kind::CONFIG => crate::config::MAX_CONFIG_BYTES + 64,
        kind::HELLO_REPLY => MAX_FRAME,
        _ => MAX_ORDINARY_FRAME,
    }
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

fn put_exit(body: &mut Vec<u8>, exit: &Exit) {
    let (tag, number) = match exit.status {
        ExitStatus::Code(code) => (0, code),
        ExitStatus::Signal(signal) => (1, signal),
    };
    body.push(tag);
    body.extend_from_slice(&number.to_le_bytes());
    body.extend_from_slice(&exit.final_offset.to_le_bytes());
}

fn take_exit(cursor: &mut Cursor<'_>) -> Result<Exit, WireError> {
    let (tag, number) = (cursor.u8()?, cursor.i32()?);
    let status = match tag {
        0 => ExitStatus::Code(number),
        1 => ExitStatus::Signal(number),
        _ => return Err(WireError::Malformed { what: "exit status" }),
    };
    Ok(Exit { status, final_offset: cursor.u64()? })
}

#[cfg(test)]
mod tests;
