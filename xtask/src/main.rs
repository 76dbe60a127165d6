//! `cargo xtask`: the project's own automation: `tidy` (rules), `setup` (what a fresh machine needs), `test`
//! (every check), the sanitizer, fuzzing and the benchmark. It links no crate of ours: it looks at the
//! product from outside, as a user does, so nothing here can be shipped.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a terminal tool whose output is its purpose")]

mod bench;
mod fuzz;
mod page;
mod sanitize;
mod setup;
mod step;
mod test;
mod tidy;
mod vendors;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  tidy [--bless]                check the rules no compiler checks; --bless renews the protocol hash
  setup                         install what tests and the bench need (idempotent)
  test                          everything: setup, fmt, clippy, tidy, page, build, tests, sanitizer, docs, deny, fuzz smoke
  test --strict [--load cpu|floods] [--times N] [-- ARGUMENTS OF CARGO TEST]
                                only the tests, without a second chance for any, beside a load
  page                          build the browser's page into web/dist
  sanitize                      the tests of the crate with `unsafe`, under the address sanitizer
  fuzz [--seconds N | --runs N] [TARGET]
                                run every fuzz target, or one, for a while or for a number of inputs
  vendors [--vendor NAME [--version X.Y.Z]] [--bless]
                                try older and the newest versions of the vendors' programs and print what works;
                                --bless writes it into docs/agents.md
  bench [--quick] [--long] [--json] [--only ROW] [--contenders A,B] [--report-only]
                                compare qd with a bare PTY and its peers, count instructions, then judge
                                each goal; a goal that is not reached is a failure unless --report-only
  bench --bless                 renew the committed instruction counts";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = arguments.split_first() else {
        println!("{USAGE}");
        return ExitCode::from(2);
    };
    match dispatch(command, rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // Not among the figures, which a script may be reading.
            eprintln!("xtask {command}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: &str, rest: &[String]) -> Result<(), String> {
    match command {
        "tidy" => tidy::command(rest),
        "setup" => setup::command(rest),
        "test" => test::command(rest),
        "fuzz" => fuzz::command(rest),
        "page" => page::command(rest),
        "sanitize" => sanitize::command(rest),
        "vendors" => vendors::command(rest),
        "bench" => bench::command(rest),
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(())
        }
        other => Err(format!("unknown command `{other}`\n\n{USAGE}")),
    }
}
