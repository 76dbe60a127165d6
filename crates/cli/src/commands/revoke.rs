//! `qd revoke`: revokes a grant.

use std::process::ExitCode;

use clap::Args;
use proto::request::Revoke;
use serde_json::json;

use crate::context::Context;
use crate::errors::CliError;

/// Revoke a right
#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// Its number in `qd grants`
    #[arg(value_parser = crate::text_arg::number)]
    grant: u64,
}

impl RevokeArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let grant = self.grant;
        let revoked = context.connect()?.revoke(Revoke { grant });
        revoked.map_err(CliError::missing("`qd grants` lists the rights that people granted"))?;
        context
            .confirm(&json!({ "grant": grant }), |_, out| out.line(&format!("grant {grant} is revoked")))?;
        Ok(ExitCode::SUCCESS)
    }
}
