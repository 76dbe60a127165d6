//! The holder's body as an executable of its own, for the integration tests. `qd hold` runs the same
//! function.

use std::process::ExitCode;

fn main() -> ExitCode {
    holder::hold()
}
