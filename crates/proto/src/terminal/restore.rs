//! The way back: what a viewing does to a person's terminal before it begins and after it has ended.
//!
//! Owns the words. Nothing of them is answered. Whoever has the terminal says them: the client when it takes the terminal
//! over and gives it back, and the filter where a child asks for a full reset.
//!
//! Modes, titles, colours and the keyboard's level are saved in the terminal itself, each where terminals have a place
//! for it. A terminal without that place gets the usual value back.

/// Remembers the modes, the titles and the colours, and begins a level of the keyboard of its own. The child gets only
/// this level (the filter sees to it), so those below stay the person's.
pub const SAVE: &[u8] =
    b"\x1b[?1;5;7;9;12;25;66;1000;1002;1003;1004;1005;1006;1007;1015;1016;2004;2027;2031s\
\x1b[22;0t\x1b[#P\x1b[>0u";
/// Undoes what a child may have switched on: open strings, synchronised updates, pointer, focus, paste and colour
/// reports, keyboard flags of the screen that is shown and modified keys, application modes, margins, origin, insert,
/// reverse video, charsets, looks, links, a hidden cursor. May move the cursor.
pub const RESET: &[u8] = b"\x18\x1b\\\x1b[?2026l\x1b[?9;1000;1001;1002;1003;1004;1005;1006;1015;1016;2004;2031l\
\x1b[=0u\x1b[>4m\x1b[?1l\x1b>\x1b[?69l\x1b[r\x1b[?6l\x1b[?5l\x1b[4l\x1b[20l\x1b[?7h\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b]8;;\x1b\\\x1b[m\
\x1b[?25h";
/// Gives back what [`SAVE`] has saved; said last, on the main screen. Does not move the cursor.
pub const RESTORE: &[u8] =
    b"\x1b[?1;5;7;9;12;25;66;1000;1002;1003;1004;1005;1006;1007;1015;1016;2004;2027;2031r\
\x1b[#Q\x1b[23;0t\x1b[<1u";
/// Undoes other colours, for terminals that cannot restore them; said before [`RESTORE`], and only where there were any:
/// it also takes colours that the person had set.
pub const RESET_COLORS: &[u8] = b"\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\";
/// Leaves the alternate screen, whose keyboard flags are others than those of the main one.
pub const LEAVE_ALTERNATE: &[u8] = b"\x1b[=0u\x1b[?1049l\x1b[m\x1b[?25h";
/// What a full reset does, without taking what was saved.
pub(super) const FULL_RESET: &[u8] = b"\x1b[?2026l\x1b[?9;1000;1002;1003;1004;1005;1006;1016;2004;12l\
\x1b[?1007;2027h\x1b[=0u\x1b[>4m\x1b[?1l\x1b>\x1b[r\x1b[?6l\x1b[?5l\x1b[4l\x1b[20l\x1b[?7h\x1b(B\x1b)B\x1b*B\x1b+B\x0f\
\x1b]8;;\x1b\\\x1b[m\x1b[0 q\x1b[?25h\x1b[?5W\x1b[H\x1b[J";
/// Shows the title that the terminal had, and keeps it for later.
pub(super) const OWN_TITLE: &[u8] = b"\x1b[23;2t\x1b[22;2t";
