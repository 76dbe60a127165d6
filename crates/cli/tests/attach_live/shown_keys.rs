//! A person who knows no key by heart. A key is pressed only while the window shows it with what it does, or while the
//! list that `?` shows has it for the place where the keyboard is; any other key fails the test.

use term::{Screen, Wraps};

use crate::window::Window;

/// The key before the keys of the deck, as hints and help write it.
const PREFIX: &str = "Ctrl-\\";

/// One key of the list.
#[derive(Debug)]
struct ListedKey {
    /// The heading that it stands below.
    heading: String,
    /// Its names, separated by blanks.
    keys: String,
    does: String,
}

/// The list of keys that `?` shows.
#[derive(Debug)]
pub(crate) struct ShownKeys {
    listed: Vec<ListedKey>,
}

impl ShownKeys {
    /// Opens the list by the keys that the status line names, reads it to its end, and goes back.
    pub(crate) fn read(window: &mut Window) -> Self {
        window.until_shows(&format!(" {PREFIX} ? help"));
        window.type_keys("\u{1c}?");
        until_drawn_whole(window, "╭ Keys, rows 1 to ");
        let mut rows = Vec::new();
        loop {
            let (first, last, all) = rows_in_sight(&window.text());
            let inside = inside_of_frame(&window.text());
            rows.extend(inside.into_iter().skip(rows.len() + 1 - first));
            if last == all {
                break;
            }
            assert!(is_on_screen(&window.screen, "j k", "scroll"), "{}", window.text());
            let step = (last - first + 1).min(all - last);
            window.type_keys(&"j".repeat(step));
            until_drawn_whole(window, &format!("╭ Keys, rows {} to ", first + step));
        }
        let keys = Self { listed: listed(&rows) };
        keys.press(window, "Esc", "back");
        window.until("the list is closed", |screen| !screen.text(Wraps::Keep).contains("╭ Keys"));
        keys
    }

    /// Presses a key once the window or the list says that it does this here.
    pub(crate) fn press(&self, window: &mut Window, key: &str, does: &str) {
        window.until(&format!("a sign that {key} does `{does}`"), |screen| {
            !screen.is_synchronizing() && self.is_known(screen, key, does)
        });
        window.type_keys(&bytes_of(key));
    }

    /// Presses the menu key, and a key that does this after it.
    pub(crate) fn press_in_menu(&self, window: &mut Window, key: &str, does: &str) {
        let heading = format!("AFTER {PREFIX}");
        assert!(self.listed.iter().any(|listed| listed.heading == heading), "{:?}", self.listed);
        window.type_keys("\u{1c}");
        window.until("the menu key has been read", |screen| place_of_keys(screen) == "MENU");
        self.press(window, key, does);
    }

    /// Returns true if a person who sees this screen, or has read the list, knows the key.
    pub(crate) fn is_known(&self, screen: &Screen, key: &str, does: &str) -> bool {
        let heading = match place_of_keys(screen).as_str() {
            "MENU" => format!("AFTER {PREFIX}"),
            word => format!("IN {word}"),
        };
        let is_listed = |listed: &ListedKey| {
            listed.heading == heading
                && listed.does.contains(does)
                && listed.keys.split(' ').any(|name| name == key)
        };
        is_on_screen(screen, key, does) || self.listed.iter().any(is_listed)
    }
}

/// Draws until a picture with this text is complete.
fn until_drawn_whole(window: &mut Window, text: &str) {
    window.until(&format!("`{text}`, drawn whole"), |screen| {
        !screen.is_synchronizing() && screen.text(Wraps::Keep).contains(text)
    });
}

/// Returns true if the key stands on the screen, and what it does behind it.
fn is_on_screen(screen: &Screen, key: &str, does: &str) -> bool {
    let hints = [format!(" {key} {does}"), format!(" {key}  {does}")];
    screen.text(Wraps::Keep).lines().any(|line| hints.iter().any(|hint| line.contains(hint)))
}

/// The word for where keys go: the first one of the status line.
fn place_of_keys(screen: &Screen) -> String {
    let text = screen.text(Wraps::Keep);
    let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    line.split_whitespace().next().unwrap_or_default().to_owned()
}

/// The first and the last row in sight, and the number of all, from the title `Keys, rows 1 to 26 of 194`.
fn rows_in_sight(text: &str) -> (usize, usize, usize) {
    let title = text.lines().find_map(|line| line.split_once("╭ Keys, rows ")).unwrap().1;
    let mut numbers = title.split(' ').filter_map(|word| word.parse().ok());
    (numbers.next().unwrap(), numbers.next().unwrap(), numbers.next().unwrap())
}

/// The lines within the frame of the list.
fn inside_of_frame(text: &str) -> Vec<String> {
    let lines: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
    let is_title = |line: &Vec<char>| line.windows(6).position(|part| part == ['╭', ' ', 'K', 'e', 'y', 's']);
    let (top, left) = lines.iter().enumerate().find_map(|(row, line)| Some((row, is_title(line)?))).unwrap();
    let inside = lines[top + 1..].iter().take_while(|line| line[left] != '╰');
    inside.map(|line| line[left + 1..].iter().take_while(|glyph| **glyph != '│').collect()).collect()
}

/// The rows of the list as keys. The names stand in the first 21 columns, what they do behind.
fn listed(rows: &[String]) -> Vec<ListedKey> {
    let (mut heading, mut listed) = (String::new(), Vec::new());
    for row in rows {
        let names: String = row.chars().take(21).collect();
        let does: String = row.chars().skip(21).collect();
        let (keys, does) = (names.trim().to_owned(), does.trim().to_owned());
        match does.is_empty() {
            true => heading = keys,
            false => listed.push(ListedKey { heading: heading.clone(), keys, does }),
        }
    }
    listed
}

/// What a terminal sends for a key that is written like this.
fn bytes_of(key: &str) -> String {
    match key {
        "Enter" => "\r".to_owned(),
        "Tab" => "\t".to_owned(),
        "Esc" => "\u{1b}".to_owned(),
        "Space" => " ".to_owned(),
        key => match key.strip_prefix("Ctrl-") {
            Some(letter) => char::from(letter.as_bytes()[0] & 0x1f).to_string(),
            None => key.to_owned(),
        },
    }
}
