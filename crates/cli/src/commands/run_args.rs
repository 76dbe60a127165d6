//! Which run of a process a verb reads: the present one, the one before, or one by its number.

use clap::Args;
use proto::request::RunChoice;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Read the run with this number [default: the present run; `qd ps --json` shows its number]
    #[arg(long, value_name = "N", conflicts_with = "previous")]
    run: Option<u32>,

    /// Read the run before the present one
    #[arg(long)]
    previous: bool,
}

impl RunArgs {
    pub(crate) fn choice(&self) -> RunChoice {
        match self.run {
            Some(number) => RunChoice::Number(number),
            None if self.previous => RunChoice::Previous,
            None => RunChoice::Present,
        }
    }
}
