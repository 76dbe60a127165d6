//! Removes the chrome of a screen as `[trim]` describes it: frames, hints and status bars. The program's
//! output stays whole.

use std::borrow::Cow;

use super::spec::Trim;

impl Trim {
    /// Returns the text without the rows and blocks that are not worth reading; several blank rows become
    /// one.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        let text = self.blocks.iter().fold(Cow::Borrowed(text), |text, block| block.erased(text));
        let mut kept: Vec<&str> = Vec::new();
        for row in text.lines().map(str::trim_end) {
            if self.rows.iter().any(|chrome| chrome.is_in(row)) {
                continue;
            }
            if !row.is_empty() || kept.last().is_some_and(|last| !last.is_empty()) {
                kept.push(row);
            }
        }
        let mut text = kept.join("\n");
        text.truncate(text.trim_end().len());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::pattern::Pattern;
    use super::*;

    fn trim(rows: &[&str], blocks: &[&str]) -> Trim {
        let patterns =
            |sources: &[&str]| sources.iter().map(|source| Pattern::new(source).unwrap()).collect();
        Trim { rows: patterns(rows), blocks: patterns(blocks) }
    }

    #[test]
    fn chrome_goes_and_what_was_said_stays() {
        let text = "────\nsaid\n\n\n\nmore\n? for shortcuts\n";
        assert_eq!(trim(&["^─+$", "for shortcuts"], &[]).apply(text), "said\n\nmore");
    }

    #[test]
    fn a_block_goes_whole() {
        assert_eq!(trim(&[], &[r"(?s)^BEGIN.*?^END$\n?"]).apply("a\nBEGIN\nx\nEND\nb"), "a\nb");
    }

    #[test]
    fn a_screen_without_rules_keeps_its_rows() {
        assert_eq!(Trim::default().apply("  a  \nb\n"), "  a\nb");
    }
}
