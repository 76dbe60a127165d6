//! Mends a terminal that a killed program left raw, on the alternate screen, or with the mouse on.

use std::io;
use std::os::fd::BorrowedFd;

use proto::terminal::restore::{LEAVE_ALTERNATE, RESET, RESTORE};
use rustix::io::Errno;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, isatty, tcgetattr,
    tcsetattr,
};

/// The keys that mean signals, where a program took them away: Ctrl-C, Ctrl-\ and Ctrl-Z.
const SIGNAL_KEYS: [(SpecialCodeIndex, u8); 3] =
    [(SpecialCodeIndex::VINTR, 3), (SpecialCodeIndex::VQUIT, 0x1c), (SpecialCodeIndex::VSUSP, 0x1a)];

/// The terminal's own form of the cursor: nobody knows which one it had before.
const OWN_CURSOR: &[u8] = b"\x1b[0 q";

/// Returns the terminal to the state in which a shell expects it: lines with echo, the main screen, no mouse, no
/// keyboard flags, a visible cursor of the usual form. What the killed program had saved in the terminal is restored.
pub fn reset_terminal(input: BorrowedFd<'_>, output: BorrowedFd<'_>) -> io::Result<()> {
    if isatty(input) {
        let mut settings = tcgetattr(input)?;
        make_sane(&mut settings);
        tcsetattr(input, OptionalActions::Now, &settings)?;
    }
    let bytes = [RESET, LEAVE_ALTERNATE, RESET, OWN_CURSOR, RESTORE].concat();
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        match rustix::io::write(output, rest) {
            Ok(count) => rest = &rest[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Switches on what raw mode switched off, and leaves the rest as the person has it.
fn make_sane(settings: &mut Termios) {
    settings.input_modes |= InputModes::ICRNL | InputModes::IXON;
    settings.input_modes -= InputModes::IGNBRK | InputModes::INLCR | InputModes::IGNCR;
    settings.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
    settings.local_modes |= LocalModes::ISIG
        | LocalModes::ICANON
        | LocalModes::IEXTEN
        | LocalModes::ECHO
        | LocalModes::ECHOE
        | LocalModes::ECHOK;
    settings.local_modes -= LocalModes::ECHONL;
    for (index, key) in SIGNAL_KEYS {
        if settings.special_codes[index] == 0 {
            settings.special_codes[index] = key;
        }
    }
}
