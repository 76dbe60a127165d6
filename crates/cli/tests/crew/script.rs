//! Scripts of a project, and a person's word for its presets.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use proto::request::{Trust, TrustWhat};
use proto::{Reply, Request};
use testkit::MarkedDaemon;

use crate::ask;

/// Puts a script there that can be run.
pub(crate) fn script(path: &Path, text: &str) {
    drop(std::fs::remove_file(path));
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// A person trusts a preset as it is now.
pub(crate) fn trust_preset(stage: &MarkedDaemon, app: &Path, name: &str) {
    let project = Some(app.display().to_string());
    let request = Trust { project, what: TrustWhat::Preset(name.to_owned()), path: None };
    let granted = ask(stage, Request::Trust(request)).unwrap();
    assert!(matches!(granted, Reply::Trust(_)), "{granted:?}");
}
