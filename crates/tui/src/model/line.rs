//! One line of text that a person edits: palette, prompts, answers.

use term::{Key, KeyCode};

/// The text and the cursor in it, counted in characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    text: Vec<char>,
    cursor: usize,
}

impl Line {
    pub(crate) fn with(text: &str) -> Self {
        let text: Vec<char> = text.chars().collect();
        Self { cursor: text.len(), text }
    }

    pub(crate) fn text(&self) -> String {
        self.text.iter().collect()
    }

    /// The text before the cursor.
    pub(crate) fn before(&self) -> String {
        self.text[..self.cursor].iter().collect()
    }

    /// Adds text that was typed or pasted; control characters are left out.
    pub(crate) fn insert(&mut self, text: &str) {
        for character in text.chars().filter(|character| !character.is_control()) {
            self.text.insert(self.cursor, character);
            self.cursor += 1;
        }
    }

    /// Adds a text of several lines as it is; control characters other than line ends are left out.
    pub(crate) fn insert_lines(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\t', "    ");
        for character in text.chars().filter(|character| *character == '\n' || !character.is_control()) {
            self.text.insert(self.cursor, character);
            self.cursor += 1;
        }
    }

    /// Takes an editing key; returns true if it was one.
    pub(crate) fn edit(&mut self, key: &Key) -> bool {
        let ctrl = key.modifiers.ctrl;
        match key.code {
            KeyCode::Left => self.cursor = self.cursor.saturating_sub(1),
            KeyCode::Right => self.cursor = (self.cursor + 1).min(self.text.len()),
            KeyCode::Home | KeyCode::Character('a') if key.code == KeyCode::Home || ctrl => self.cursor = 0,
            KeyCode::End | KeyCode::Character('e') if key.code == KeyCode::End || ctrl => {
                self.cursor = self.text.len();
            }
            KeyCode::Backspace => self.delete_back(1),
            KeyCode::Delete if self.cursor < self.text.len() => drop(self.text.remove(self.cursor)),
            KeyCode::Character('u') if ctrl => self.delete_back(self.cursor),
            KeyCode::Character('w') if ctrl => self.delete_back(self.word_back()),
            KeyCode::Character(_) if ctrl || key.modifiers.alt || key.modifiers.super_key => return false,
            KeyCode::Character(character) => {
                let typed = key.text.unwrap_or(character);
                let is_upper = key.modifiers.shift && key.text.is_none();
                let typed = if is_upper { typed.to_uppercase().next().unwrap_or(typed) } else { typed };
                self.insert(typed.encode_utf8(&mut [0; 4]));
            }
            _ => return false,
        }
        true
    }

    fn delete_back(&mut self, count: usize) {
        let start = self.cursor.saturating_sub(count);
        self.text.drain(start..self.cursor);
        self.cursor = start;
    }

    /// Characters from the cursor back to the start of a word.
    fn word_back(&self) -> usize {
        let before = &self.text[..self.cursor];
        let blanks = before.iter().rev().take_while(|character| character.is_whitespace()).count();
        let word =
            before.iter().rev().skip(blanks).take_while(|character| !character.is_whitespace()).count();
        blanks + word
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use term::Modifiers;

    #[test]
    fn a_line_is_edited_where_its_cursor_is() {
        let mut line = Line::with("one two");
        let ctrl = Modifiers { ctrl: true, ..Modifiers::default() };
        line.edit(&Key::press(KeyCode::Character('w'), ctrl));
        line.insert("x\n");
        line.edit(&Key::press(KeyCode::Home, Modifiers::default()));
        line.edit(&Key::press(KeyCode::Character('>'), Modifiers::default()));
        assert_eq!((line.text().as_str(), line.before().as_str()), (">one x", ">"));
    }
}
