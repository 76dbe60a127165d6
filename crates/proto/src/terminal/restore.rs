//! The way back: what a viewing does to a person's terminal before it begins and after it has ended.
//!
//! Owns the words. Nothing of them is answered. Whoever has the terminal says them: the client when it takes the terminal
//! over and gives it back, and the filter where a child asks for a full reset.

/// Remembers what cannot be undone by switching it off, because its usual value differs between terminals: the wheel on
/// the alternate screen, grapheme clusters, the cursor's blinking; the titles; and the colours, where a terminal can.
pub const SAVE: &[u8] = b"\x1b[?12;1007;2027s\x1b[22;0t\x1b[#P";
/// Undoes what a child may have switched on: open strings, synchronised updates, pointer, focus, paste and colour
/// reports, kitty keyboard and modified keys, application modes, margins, origin, insert, reverse video, charsets, looks,
/// links, the cursor; and restores what was saved.
pub const RESET: &[u8] = b"\x18\x1b\\\x1b[?2026l\x1b[?12;1007;2027r\x1b[?9;1000;1001;1002;1003;1004;1005;1006;1015;1016;2004;2031l\
\x1b[=0u\x1b[<99u\x1b[>4m\x1b[?1l\x1b>\x1b[?69l\x1b[r\x1b[?6l\x1b[?5l\x1b[4l\x1b[20l\x1b[?7h\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b]8;;\x1b\\\x1b[m\
\x1b[0 q\x1b[?25h\x1b[#Q\x1b[23;0t";
/// Undoes other colours, for terminals that cannot restore them; said before [`RESET`], and only where there were any: it
/// also takes colours that the person had set.
pub const RESET_COLORS: &[u8] = b"\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\";
/// Leaves the alternate screen; its keyboard flags are a stack of their own.
pub const LEAVE_ALTERNATE: &[u8] = b"\x1b[=0u\x1b[<99u\x1b[?1049l\x1b[=0u\x1b[<99u\x1b[m\x1b[?25h";
/// What a full reset does, without taking what was saved.
pub(super) const FULL_RESET: &[u8] = b"\x1b[?2026l\x1b[?9;1000;1002;1003;1004;1005;1006;1016;2004;12l\
\x1b[?1007;2027h\x1b[=0u\x1b[<99u\x1b[>4m\x1b[?1l\x1b>\x1b[r\x1b[?6l\x1b[?5l\x1b[4l\x1b[20l\x1b[?7h\x1b(B\x1b)B\x1b*B\x1b+B\x0f\
\x1b]8;;\x1b\\\x1b[m\x1b[0 q\x1b[?25h\x1b[?5W\x1b[H\x1b[J";
/// Shows the title that the terminal had, and keeps it for later.
pub(super) const OWN_TITLE: &[u8] = b"\x1b[23;2t\x1b[22;2t";
