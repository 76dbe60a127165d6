//! The real programs of the vendors: where `cargo xtask setup` installs them, and their versions. A missing
//! program fails the test; it is never skipped.

mod home;
mod homes;
mod seed;
mod tool;

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::Value;

pub use home::Home;
pub use homes::VendorHomes;
pub use tool::Tool;

/// The list `cargo xtask setup` installs from, so that both know the same versions.
const PINS: &str = include_str!("pins.json");

/// A vendor whose program is installed for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// opencode.
    Opencode,
    /// Gemini CLI.
    Gemini,
}

impl Vendor {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Opencode, Self::Gemini];

    /// Returns the program's name, as a user types it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
        }
    }

    /// Returns the version that is tested: the pinned one, unless `QD_TEST_VERSION` names others as
    /// `codex@1.2.3`, with commas.
    #[must_use]
    pub fn version(self) -> String {
        let named = std::env::var("QD_TEST_VERSION").unwrap_or_default();
        let own = |entry: &str| Some(entry.strip_prefix(self.name())?.strip_prefix('@')?.to_owned());
        named.split(',').find_map(own).unwrap_or_else(|| self.pin("version"))
    }

    /// Returns the directory with the program, to be put on a search path.
    #[must_use]
    pub fn bin(self) -> PathBuf {
        let installed = format!("{}@{}", self.pin("package"), self.version());
        vendors_dir().join(installed).join("node_modules/.bin")
    }

    /// Returns the program; fails when it is not installed.
    #[must_use]
    pub fn program(self) -> PathBuf {
        let program = self.bin().join(self.name());
        assert!(program.exists(), "{} is not there: run cargo xtask setup", program.display());
        program
    }

    fn pin(self, field: &str) -> String {
        let pins: Vec<Value> = serde_json::from_str(PINS).expect("the list of pins is JSON");
        let own = pins.iter().find(|pin| pin["name"] == self.name()).expect("every vendor is pinned");
        own[field].as_str().expect("every pin is whole").to_owned()
    }
}

/// Returns where the programs are: shared by every checkout on this machine, and not below `/tmp`, where some
/// of them refuse to read their settings.
fn vendors_dir() -> PathBuf {
    let set =
        |name: &str| std::env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    set("QD_VENDORS_DIR").unwrap_or_else(|| {
        let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
        cache.expect("HOME is set").join("quarterdeck/vendors")
    })
}
