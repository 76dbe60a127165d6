//! The verbs by which an agent asks for a person, with their arguments.

use serde::{Deserialize, Serialize};

/// Arguments of `ask`: a question to the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// What is asked.
    pub question: String,
    /// The possible answers; empty means any text.
    #[serde(default)]
    pub options: Vec<String>,
    /// The same key from the same run asks once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Arguments of `attention`: a request for the person's attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    /// Why.
    pub reason: String,
    /// The same key from the same run asks once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}
