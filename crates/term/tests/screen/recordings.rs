//! Streams of real programs, recorded in a terminal, with the screens they must leave.
