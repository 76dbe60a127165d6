//! Finds the text of an entry in a TOML file: from its header to the next one, with the comments right above
//! the header. The parser has read its meaning; this is for showing and hashing the text itself.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The headers of a file.
pub(super) struct Sections<'a> {
    text: &'a str,
    /// For each header, where its part begins, and its own line.
    heads: Vec<(usize, Range<usize>)>,
}

impl<'a> Sections<'a> {
    pub(super) fn new(text: &'a str, parsed: &DeTable<'_>) -> Self {
        let mut leaves = Vec::new();
        collect_leaves(parsed, &mut leaves);
        let is_in_value = |at: usize| leaves.iter().any(|leaf| leaf.contains(&at));
        let mut heads = Vec::new();
        let mut comments_from = None;
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let indent = line.len() - line.trim_start().len();
            let is_outside = !is_in_value(start + indent);
            if is_outside && line.trim_start().starts_with('[') {
                heads.push((comments_from.take().unwrap_or(start), start..start + line.len()));
            } else if is_outside && line.trim_start().starts_with('#') {
                comments_from.get_or_insert(start);
            } else {
                comments_from = None;
            }
            start += line.len();
        }
        Self { text, heads }
    }

    /// Returns the text of the entry whose key is at `key`: every part under its header or under a header in
    /// it; or the entry itself, where it has no header.
    pub(super) fn text_of(&self, key: Range<usize>, value: &Spanned<DeValue<'_>>) -> Vec<u8> {
        let mut keys = vec![key.clone()];
        if let DeValue::Table(table) = value.get_ref() {
            collect_keys(table, &mut keys);
        }
        let mut bytes = Vec::new();
        for (index, (from, head)) in self.heads.iter().enumerate() {
            if keys.iter().any(|key| head.contains(&key.start)) {
                let to = self.heads.get(index + 1).map_or(self.text.len(), |(next, _)| *next);
                bytes.extend_from_slice(self.text.get(*from..to).unwrap_or_default().as_bytes());
            }
        }
        let has_head = self.heads.iter().any(|(_, head)| head.contains(&key.start));
        if !has_head {
            let end = value.span().end.max(key.end);
            bytes.extend_from_slice(self.text.get(key.start..end).unwrap_or_default().as_bytes());
        }
        bytes
    }
}

/// The positions of values that may span lines.
fn collect_leaves(table: &DeTable<'_>, leaves: &mut Vec<Range<usize>>) {
    for value in table.values() {
        match value.get_ref() {
            DeValue::Table(inner) => collect_leaves(inner, leaves),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => leaves.push(value.span()),
        }
    }
}

fn collect_keys(table: &DeTable<'_>, keys: &mut Vec<Range<usize>>) {
    for (key, value) in table {
        keys.push(key.span());
        if let DeValue::Table(inner) = value.get_ref() {
            collect_keys(inner, keys);
        }
    }
}
