//! The place of a vendor's file about one session or one process, and its grammar. The daemon opens the file.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// How much of a session's id vendors put into a file name, in characters.
const SESSION_START: usize = 8;

/// A directory of the vendor.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Root {
    /// The variable that changes it.
    #[serde(default)]
    pub env: Option<String>,
    /// Its path below the variable's value.
    #[serde(default)]
    pub below_env: Option<String>,
    /// Its path below the home directory otherwise.
    pub below_home: String,
}

/// What is known about an agent when its files are searched.
#[derive(Clone, Copy)]
pub struct AgentContext<'a> {
    /// The agent's own environment.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The directory it works in.
    pub cwd: &'a Path,
    /// Its vendor session.
    pub session: Option<&'a str>,
    /// Its process.
    pub pid: Option<i32>,
}

/// A file, or a pattern for files one of which it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLocation {
    /// The directory to start from.
    pub root: PathBuf,
    /// The path from there, separated by `/`; `*` stands for any part of a name.
    pub below: String,
}

impl FileLocation {
    /// Returns the path, when the pattern allows only one.
    #[must_use]
    pub fn only(&self) -> Option<PathBuf> {
        (!self.below.contains('*')).then(|| self.root.join(&self.below))
    }
}

impl Root {
    /// Returns the directory.
    #[must_use]
    pub fn directory(&self, env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
        let moved = self.env.as_deref().and_then(env).filter(|path| path.starts_with('/'));
        if let Some(moved) = moved {
            let moved = PathBuf::from(moved);
            return Some(self.below_env.as_ref().map_or_else(|| moved.clone(), |below| moved.join(below)));
        }
        let home = env("HOME").filter(|path| path.starts_with('/'))?;
        Some(Path::new(&home).join(&self.below_home))
    }
}

/// The path of a file below a root: `{session}`, `{session_start}`, `{pid}` and `{cwd_dashed}` are filled,
/// `*` is any part of a name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Way(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Text(String),
    Session,
    SessionStart,
    Pid,
    CwdDashed,
}

impl Way {
    /// Returns the file or files below this root; `None` while a placeholder is not known.
    #[must_use]
    pub fn file_location(&self, root: &Root, around: &AgentContext<'_>) -> Option<FileLocation> {
        let root = root.directory(around.env)?;
        let mut below = String::new();
        for step in &self.0 {
            match step {
                Step::Text(text) => below.push_str(text),
                Step::Session => below.push_str(around.session.filter(|session| is_name(session))?),
                Step::SessionStart => {
                    let session = around.session.filter(|session| is_name(session))?;
                    below.push_str(session.get(..SESSION_START)?);
                }
                Step::Pid => below.push_str(&around.pid?.to_string()),
                Step::CwdDashed => below.push_str(&dashed(around.cwd)),
            }
        }
        Some(FileLocation { root, below })
    }
}

impl TryFrom<String> for Way {
    type Error = String;

    fn try_from(source: String) -> Result<Self, String> {
        let lone = || format!("a single brace in {source:?}");
        let mut steps = Vec::new();
        let mut rest = source.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let (word, behind) = after.split_once('}').ok_or_else(lone)?;
            steps.push(Step::Text(before.to_owned()));
            steps.push(match word {
                "session" => Step::Session,
                "session_start" => Step::SessionStart,
                "pid" => Step::Pid,
                "cwd_dashed" => Step::CwdDashed,
                other => {
                    return Err(format!(
                        "there is no place {{{other}}}: known are session session_start pid cwd_dashed"
                    ));
                }
            });
            rest = behind;
        }
        steps.push(Step::Text(rest.to_owned()));
        let climbs = source.starts_with('/') || source.split('/').any(|name| name == "..");
        if rest.contains('}') {
            Err(lone())
        } else if climbs {
            Err(format!("{source:?} must stay below its root"))
        } else {
            Ok(Self(steps))
        }
    }
}

impl JsonSchema for Way {
    fn schema_name() -> Cow<'static, str> {
        "Way".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A path below its root: {session}, {session_start}, {pid} and {cwd_dashed} are filled, * is any part of a name.",
        })
    }
}

/// Returns true if a session's id is a plain name. The id comes from outside and becomes part of a path.
fn is_name(session: &str) -> bool {
    !session.is_empty()
        && session.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Returns a directory as vendors write it into a file name: everything but letters and digits becomes a
/// dash.
fn dashed(path: &Path) -> String {
    path.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_location(way: &str, env: &[(&str, &str)], session: Option<&str>) -> Option<FileLocation> {
        let root = Root {
            env: Some("VENDOR_HOME".into()),
            below_env: Some("v".into()),
            below_home: ".vendor".into(),
        };
        let env =
            |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let around =
            AgentContext { env: &env, cwd: Path::new("/home/dev/my.project"), session, pid: Some(12) };
        Way::try_from(way.to_owned()).unwrap().file_location(&root, &around)
    }

    #[test]
    fn the_variable_moves_the_root() {
        let home = [("HOME", "/home/dev")];
        let moved = [("HOME", "/home/dev"), ("VENDOR_HOME", "/srv")];
        assert_eq!(
            file_location("{pid}.json", &home, None).unwrap().only(),
            Some("/home/dev/.vendor/12.json".into())
        );
        assert_eq!(file_location("{pid}.json", &moved, None).unwrap().only(), Some("/srv/v/12.json".into()));
        assert_eq!(file_location("{pid}.json", &[], None), None);
    }

    #[test]
    fn the_directory_is_written_with_dashes() {
        let found =
            file_location("projects/{cwd_dashed}/{session}.jsonl", &[("HOME", "/h")], Some("ab-1")).unwrap();
        assert_eq!(found.below, "projects/-home-dev-my-project/ab-1.jsonl");
    }

    #[test]
    fn a_session_that_is_no_plain_name_leads_nowhere() {
        for hostile in ["../../etc/passwd", "a/b", "", "*"] {
            assert_eq!(file_location("{session}.jsonl", &[("HOME", "/h")], Some(hostile)), None, "{hostile}");
        }
        assert_eq!(file_location("{session}.jsonl", &[("HOME", "/h")], None), None);
    }

    #[test]
    fn the_start_of_a_session_is_enough_where_the_vendor_writes_no_more() {
        let found = |session| file_location("s-*-{session_start}.jsonl", &[("HOME", "/h")], Some(session));
        assert_eq!(found("1a3eda8f-7271").unwrap().below, "s-*-1a3eda8f.jsonl");
        assert_eq!(found("1a3e"), None);
    }

    #[test]
    fn one_of_several_files_is_not_named() {
        assert_eq!(
            file_location("s/*/r-*-{session}.jsonl", &[("HOME", "/h")], Some("a")).unwrap().only(),
            None
        );
    }

    #[test]
    fn a_way_stays_below_its_root() {
        for faulty in ["/etc/{pid}", "a/../b", "{cwd}", "{pid", "pid}"] {
            assert!(Way::try_from(faulty.to_owned()).is_err(), "{faulty}");
        }
    }
}
