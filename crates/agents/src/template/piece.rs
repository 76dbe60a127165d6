//! A piece of a vendor's configuration as a manifest writes it: any TOML whose texts are templates.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{Lookup, Template, Unfilled};

/// A piece of a vendor's configuration: any TOML whose texts are templates.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Text with places.
    Text(Template),
    /// True, false or a number.
    Plain(Value),
    /// A list.
    List(Vec<Piece>),
    /// A table.
    Table(BTreeMap<String, Piece>),
}

impl Default for Piece {
    fn default() -> Self {
        Self::Table(BTreeMap::new())
    }
}

impl Piece {
    /// Returns the configuration with every placeholder filled.
    ///
    /// # Errors
    /// The first placeholder that has no value.
    pub fn fill(&self, lookup: Lookup<'_>) -> Result<Value, Unfilled> {
        match self {
            Self::Text(template) => template.fill_value(lookup),
            Self::Plain(value) => Ok(value.clone()),
            Self::List(pieces) => {
                pieces.iter().map(|piece| piece.fill(lookup)).collect::<Result<_, _>>().map(Value::Array)
            }
            Self::Table(table) => {
                let filled: Result<serde_json::Map<_, _>, _> =
                    table.iter().map(|(key, piece)| Ok((key.clone(), piece.fill(lookup)?))).collect();
                filled.map(Value::Object)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Piece {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PieceVisitor)
    }
}

struct PieceVisitor;

impl<'de> Visitor<'de> for PieceVisitor {
    type Value = Piece;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a number, true, false, a list or a table")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Piece, E> {
        Template::parse(text).map(Piece::Text).map_err(E::custom)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Piece, E> {
        Ok(Piece::Plain(value.into()))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Piece, E> {
        Ok(Piece::Plain(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Piece, E> {
        Ok(Piece::Plain(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Piece, E> {
        Ok(Piece::Plain(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Piece, A::Error> {
        let mut pieces = Vec::new();
        while let Some(piece) = list.next_element()? {
            pieces.push(piece);
        }
        Ok(Piece::List(pieces))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Piece, A::Error> {
        let mut table = BTreeMap::new();
        while let Some((key, piece)) = map.next_entry()? {
            table.insert(key, piece);
        }
        Ok(Piece::Table(table))
    }
}

impl JsonSchema for Piece {
    fn schema_name() -> Cow<'static, str> {
        "Piece".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "A piece of the vendor's own configuration; its texts are templates." })
    }
}
