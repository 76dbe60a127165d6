//! The HELLO reply, with which a holder introduces itself to every daemon that connects.

use super::frames::{LENGTH_BYTES, frame, kind};
use super::{RunExit, WireError, put_exit, take_exit};
use crate::codec::{Cursor, put_bytes};

/// The plain fields of the HELLO reply; ring, wake-up and master travel beside it as descriptors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelloFields {
    /// The holder's [`WIRE_VERSION`](super::WIRE_VERSION).
    pub wire_version: u16,
    /// The holder's pid.
    pub holder_pid: i32,
    /// The leader's pid.
    pub child_pid: i32,
    /// The leader's start time: field 22 of its `stat` file.
    pub child_start_time: u64,
    /// Columns now.
    pub cols: u16,
    /// Rows now.
    pub rows: u16,
    /// Highest input id accepted so far; the next one must be higher.
    pub last_input_id: u64,
    /// How the run ended, if it has.
    pub exited: Option<RunExit>,
    /// Size of the ring.
    pub ring_bytes: u32,
    /// The configuration's `meta`.
    pub meta: Vec<u8>,
    /// Offset and length of the newest checkpoint; the blob itself is the rest of the frame.
    pub checkpoint: Option<(u64, u32)>,
}

impl HelloFields {
    /// Returns the start of the reply frame; the checkpoint blob must follow it.
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
