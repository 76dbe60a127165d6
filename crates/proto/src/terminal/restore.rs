//! The sequences that save a person's terminal before an attachment and restore it afterwards. The terminal
//! answers none of them. The client sends them when it takes the terminal and returns it; the filter sends
//! some when a child asks for a full reset.
//!
//! Modes, titles, colours and the keyboard's level are saved in the terminal itself, where it supports that.
//! A terminal without that gets the default value.

/// Switches to UTF-8, saves the modes, the titles and the colours, and begins a keyboard level of its own. The
/// filter gives the child only this level, so those below stay the person's.
///
/// A terminal that reads single bytes would find C1 controls within letters: the second byte of `Ý` begins an
/// OSC there. No terminal says how it reads, so it stays in UTF-8 afterwards; most are from the beginning.
pub const SAVE: &[u8] =
    b"\x1b%G\x1b[?1;5;7;9;12;25;66;1000;1002;1003;1004;1005;1006;1007;1015;1016;2004;2027;2031s\
\x1b[22;0t\x1b[#P\x1b[>0u";
/// Undoes what a child may have switched on: open strings, synchronized updates, mouse, focus, paste and
/// colour reports, keyboard flags of the current screen and modified keys, application modes, margins,
/// origin, insert, reverse video, charsets, styles, links, a hidden cursor. It may move the cursor.
pub const RESET: &[u8] = b"\x18\x1b\\\x1b[?2026l\x1b[?9;1000;1001;1002;1003;1004;1005;1006;1015;1016;2004;2031l\
\x1b[=0u\x1b[>4m\x1b[?1l\x1b>\x1b[?69l\x1b[r\x1b[?6l\x1b[?5l\x1b[4l\x1b[20l\x1b[?7h\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b]8;;\x1b\\\x1b[m\
\x1b[?25h";
/// Restores what [`SAVE`] has saved; sent last, on the main screen. It does not move the cursor.
pub const RESTORE: &[u8] =
    b"\x1b[?1;5;7;9;12;25;66;1000;1002;1003;1004;1005;1006;1007;1015;1016;2004;2027;2031r\
\x1b[#Q\x1b[23;0t\x1b[<1u";
/// Undoes other colours, for terminals that cannot restore them. It is sent before [`RESTORE`], and only when
/// colours were changed: it also removes colours that the person had set.
pub const RESET_COLORS: &[u8] = b"\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\";
/// Leaves the alternate screen, whose keyboard flags are others than those of the main one.
pub const LEAVE_ALTERNATE: &[u8] = b"\x1b[=0u\x1b[?1049l\x1b[m\x1b[?25h";
/// The effect of a full reset, without erasing what was saved.
pub(super) const FULL_RESET: &[u8] = b"\x1b[?2026l\x1b[?9;1000;1002;1003;1004;1005;1006;1016;2004;12l\
\x1b[?1007;2027h\x1b[=0u\x1b[>4m\x1b[?1l\x1b>\x1b[r\x1b[?6l\x1b[?5l\x1b[4l\x1b[20l\x1b[?7h\x1b(B\x1b)B\x1b*B\x1b+B\x0f\
\x1b]8;;\x1b\\\x1b[m\x1b[0 q\x1b[?25h\x1b[?5W\x1b[H\x1b[J";
/// Shows the title that the terminal had, and keeps it saved.
pub(super) const OWN_TITLE: &[u8] = b"\x1b[23;2t\x1b[22;2t";
