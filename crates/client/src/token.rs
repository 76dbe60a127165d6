//! The token of the run that this process is in. A daemon is only sent a token that it has made.

use std::io::Read;
use std::path::PathBuf;

/// The variable that names the file with the token of the run that this process is in.
pub(crate) const TOKEN_FILE: &str = "QD_TOKEN_FILE";
/// Longest token that is read.
const MAX_TOKEN: u64 = 1024;

/// Returns the token of the run that this process is in, if that run belongs to the daemon with these
/// directories. It is read again for every hello: a proxy that outlives a run must not keep its token.
/// Without one the lineage decides.
pub(crate) fn own_token(own: &[PathBuf]) -> Option<String> {
    let path = PathBuf::from(std::env::var_os(TOKEN_FILE)?);
    if !own.iter().any(|directory| directory.is_absolute() && path.starts_with(directory)) {
        return None;
    }
    let mut token = String::new();
    std::fs::File::open(path).ok()?.take(MAX_TOKEN).read_to_string(&mut token).ok()?;
    let token = token.trim_end();
    (!token.is_empty()).then(|| token.to_owned())
}
