//! The size of each model's context window, in tokens. Transcripts and servers count the tokens in use;
//! `proto::context_use` makes a percentage of both.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// How many tokens each model's window has, where neither a transcript nor a server reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextSpec {
    /// The window of a model that is not in the table; without it, such a model's window is unknown.
    #[serde(default)]
    pub default: Option<u64>,
    /// Windows by model. A name that ends in `*` matches every name with that prefix; the longest match
    /// counts.
    #[serde(default)]
    pub windows: BTreeMap<String, u64>,
}

impl ContextSpec {
    /// Returns the window of a model.
    #[must_use]
    pub fn window(&self, model: Option<&str>) -> Option<u64> {
        model.and_then(|model| self.known_size(model)).or(self.default)
    }

    fn known_size(&self, model: &str) -> Option<u64> {
        let fitting = self.windows.iter().filter(|(name, _)| match name.strip_suffix('*') {
            Some(beginning) => model.starts_with(beginning),
            None => name.as_str() == model,
        });
        // A full name is longer than any prefix of it: `gpt-5` wins over `gpt-5*`.
        let longest =
            fitting.max_by_key(|(name, _)| (name.trim_end_matches('*').len(), !name.ends_with('*')));
        longest.map(|(_, window)| *window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_that_fits_counts() {
        let spec: ContextSpec =
            toml::from_str("default = 1\n[windows]\n'a-*' = 2\n'a-b*' = 3\n'a-b' = 4").unwrap();
        let windows = ["a-c", "a-bc", "a-b", "z"].map(|model| spec.window(Some(model)));
        assert_eq!(windows, [Some(2), Some(3), Some(4), Some(1)]);
        assert_eq!(spec.window(None), Some(1));
    }

    #[test]
    fn without_a_default_an_unknown_model_has_no_window() {
        assert_eq!(ContextSpec::default().window(Some("a")), None);
    }
}
