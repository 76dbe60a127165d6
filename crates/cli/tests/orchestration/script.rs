//! Scripts of a project, and trusting its presets as a person.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use proto::request::{Trust, TrustWhat};
use proto::{Reply, Request};
use testkit::MarkedDaemon;

use crate::ask;

/// Writes an executable script.
pub(crate) fn script(path: &Path, text: &str) {
    drop(std::fs::remove_file(path));
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// Trusts a preset as it is now, as a person.
pub(crate) fn trust_preset(stage: &MarkedDaemon, app: &Path, name: &str) {
    let project = Some(app.display().to_string());
    let request = Trust { project, what: TrustWhat::Preset(name.to_owned()), path: None };
    let granted = ask(stage, Request::Trust(request)).unwrap();
    assert!(matches!(granted, Reply::Trust(_)), "{granted:?}");
}
