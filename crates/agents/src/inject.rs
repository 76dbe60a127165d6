//! The five ways to give a vendor's program configuration for one launch without touching the user's, and
//! which of their fields belong together. An injection carries any document.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

use crate::template::{Piece, Placeholder, Template};

/// How configuration reaches a vendor's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Inject {
    /// An argument that carries the document, as JSON or as the name of a file.
    Flag,
    /// A file in the launch's directory, with arguments or variables that point there.
    ConfigFile,
    /// A variable that carries the document as JSON.
    EnvVar,
    /// One `key=value` argument for each value of the document.
    CliOverride,
    /// A variable that names the file which carries the document.
    ConfigEnv,
}

/// One way of injecting a document, with what it needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Injection {
    /// Words that carry the document.
    Flag {
        /// The words; `{json}` is the document, `{file}` the file that holds it.
        argument: Vec<Template>,
        /// The file, where a word names one.
        file: Option<String>,
    },
    /// A file, with words or variables that point there.
    ConfigFile {
        /// The file, relative to the launch's directory.
        file: String,
        /// Words that point there.
        argument: Vec<Template>,
        /// Variables that point there.
        env: BTreeMap<String, Template>,
    },
    /// A variable that carries the document.
    EnvVar {
        /// Its name.
        variable: String,
    },
    /// `key=value` words.
    CliOverride {
        /// The word before each of them.
        flag: String,
    },
    /// A variable that names the file.
    ConfigEnv {
        /// Its name.
        variable: String,
        /// The file, relative to the launch's directory.
        file: String,
    },
}

/// The fields of an injection as a manifest writes them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(crate) argument: Vec<Template>,
    pub(crate) file: Option<String>,
    pub(crate) variable: Option<String>,
    pub(crate) flag: Option<String>,
    pub(crate) env: BTreeMap<String, Template>,
}

impl Injection {
    /// Combines the fields that a manifest has written for one way.
    pub(crate) fn meant(inject: Inject, said: Said) -> Result<Self, String> {
        if let Some(file) = &said.file
            && !stays_inside(file)
        {
            return Err(format!(
                "file {file:?} must be a plain relative name: it lies in the launch's directory"
            ));
        }
        let Said { argument, file, variable, flag, env } = said;
        match inject {
            Inject::Flag => {
                refuse(
                    inject,
                    &[("variable", variable.is_some()), ("flag", flag.is_some()), ("env", !env.is_empty())],
                )?;
                flag_injection(argument, file)
            }
            Inject::ConfigFile => {
                refuse(inject, &[("variable", variable.is_some()), ("flag", flag.is_some())])?;
                if argument.is_empty() && env.is_empty() {
                    return Err("config_file needs `argument` or `env` that points to its file".into());
                }
                Ok(Self::ConfigFile { file: need("config_file", "file", file)?, argument, env })
            }
            Inject::EnvVar => {
                let others =
                    [("argument", !argument.is_empty()), ("file", file.is_some()), ("flag", flag.is_some())];
                refuse(inject, &others)?;
                Ok(Self::EnvVar { variable: need("env_var", "variable", variable)? })
            }
            Inject::CliOverride => {
                let others = [
                    ("argument", !argument.is_empty()),
                    ("file", file.is_some()),
                    ("variable", variable.is_some()),
                ];
                refuse(inject, &others)?;
                Ok(Self::CliOverride { flag: need("cli_override", "flag", flag)? })
            }
            Inject::ConfigEnv => {
                refuse(inject, &[("argument", !argument.is_empty()), ("flag", flag.is_some())])?;
                let variable = need("config_env", "variable", variable)?;
                Ok(Self::ConfigEnv { variable, file: need("config_env", "file", file)? })
            }
        }
    }
}

/// The server of ours that a vendor's program starts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "McpSpec")]
pub struct Mcp {
    /// How the vendor is configured to start it.
    pub injection: Injection,
    /// Words that are needed beside it.
    pub extra: Vec<Template>,
    /// The vendor reads the file only where root owns it and everything above it.
    pub only_as_root: bool,
    /// The configuration, in the vendor's own shape.
    pub document: Piece,
}

/// How the vendor's program is configured to start our server.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpSpec {
    /// The way.
    inject: Inject,
    /// The words of `flag` and `config_file`.
    #[serde(default)]
    argument: Vec<Template>,
    /// The file of `flag`, `config_file` and `config_env`, relative to the launch's directory.
    #[serde(default)]
    file: Option<String>,
    /// The variable of `env_var` and `config_env`.
    #[serde(default)]
    variable: Option<String>,
    /// The word before each `key=value` of `cli_override`.
    #[serde(default)]
    flag: Option<String>,
    /// The variables of `config_file`.
    #[serde(default)]
    env: BTreeMap<String, Template>,
    /// Words that are needed beside it.
    #[serde(default)]
    extra: Vec<Template>,
    /// The vendor reads the file only where root owns it and everything above it.
    #[serde(default)]
    only_as_root: bool,
    /// What is injected, in the vendor's own shape.
    #[serde(default)]
    document: Piece,
}

impl JsonSchema for Mcp {
    fn schema_name() -> Cow<'static, str> {
        "Mcp".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        McpSpec::json_schema(generator)
    }
}

impl TryFrom<McpSpec> for Mcp {
    type Error = String;

    fn try_from(spec: McpSpec) -> Result<Self, String> {
        let McpSpec { inject, argument, file, variable, flag, env, extra, only_as_root, document } = spec;
        let injection = Injection::meant(inject, Said { argument, file, variable, flag, env })?;
        Ok(Self { injection, extra, only_as_root, document })
    }
}

fn flag_injection(argument: Vec<Template>, file: Option<String>) -> Result<Injection, String> {
    if argument.is_empty() {
        return Err("flag needs `argument`, the words it adds".into());
    }
    let names_file = argument.iter().any(|word| word.names(Placeholder::File));
    match (names_file, file.is_some()) {
        (true, false) => Err("`argument` names {file}, but `file` is missing".into()),
        (false, true) => Err("`file` is written but no word of `argument` names {file}".into()),
        (true, true) | (false, false) => Ok(Injection::Flag { argument, file }),
    }
}

fn refuse(inject: Inject, fields: &[(&str, bool)]) -> Result<(), String> {
    match fields.iter().find(|(_, is_there)| *is_there) {
        Some((field, _)) => Err(format!("`{field}` has no meaning with {inject:?}")),
        None => Ok(()),
    }
}

fn need(way: &str, field: &str, value: Option<String>) -> Result<String, String> {
    value.filter(|value| !value.is_empty()).ok_or_else(|| format!("{way} needs `{field}`"))
}

/// Returns true if a file stays in the launch's directory: a relative path of plain names.
fn stays_inside(file: &str) -> bool {
    let is_plain = |name: &str| {
        !name.is_empty()
            && !name.starts_with('.')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
    };
    file.split('/').all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Mcp, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn fields_that_belong_to_another_way_are_refused() {
        assert!(read("inject = 'env_var'\nvariable = 'X'").is_ok());
        assert!(read("inject = 'env_var'\nvariable = 'X'\nfile = 'a'").unwrap_err().contains("file"));
        assert!(read("inject = 'env_var'").unwrap_err().contains("needs `variable`"));
        assert!(
            read("inject = 'flag'\nargument = ['--x={file}']").unwrap_err().contains("`file` is missing")
        );
        assert!(read("inject = 'config_file'\nfile = 'a'").unwrap_err().contains("points to its file"));
        assert!(
            read("inject = 'cli_override'\nflag = '-c'\nvariable = 'X'").unwrap_err().contains("variable")
        );
    }

    #[test]
    fn a_file_outside_the_launch_directory_is_refused() {
        for file in ["../x", "/etc/x", "a/../b", ".x", "", "a b", "a//b"] {
            let text = format!("inject = 'config_env'\nvariable = 'X'\nfile = '{file}'");
            assert!(read(&text).is_err(), "{file}");
        }
        assert!(read("inject = 'config_env'\nvariable = 'X'\nfile = 'a/b-c_d.json'").is_ok());
    }
}
