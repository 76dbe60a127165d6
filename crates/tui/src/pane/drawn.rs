//! A screen as it was drawn last. While its program holds an update back (mode 2026), this is what every picture shows of it:
//! what is half done is never drawn, also when all of the picture is drawn anew.

use term::{Cell, Cursor, Damage, Screen};

/// What was drawn of a screen.
#[derive(Debug, Default)]
pub(crate) struct DrawnScreen {
    /// The version of the screen; none before the first time.
    version: Option<u64>,
    rows: Vec<Vec<Cell>>,
    cursor: Option<Cursor>,
}

impl DrawnScreen {
    /// What has to be drawn of the screen: nothing, while an update is held back.
    pub(crate) fn damage(&self, screen: &Screen) -> Damage {
        match self.version {
            _ if screen.is_synchronizing() => Damage::Nothing,
            None => Damage::Everything,
            Some(version) => screen.damage(version),
        }
    }

    /// The cells of a row as they are to be drawn: as they were, while an update is held back.
    pub(crate) fn row(&mut self, screen: &Screen, row: u16) -> &[Cell] {
        let at = usize::from(row);
        if !screen.is_synchronizing() {
            if self.rows.len() <= at {
                self.rows.resize_with(at + 1, Vec::new);
            }
            self.rows[at] = screen.row_cells(row);
        }
        self.rows.get(at).map(Vec::as_slice).unwrap_or_default()
    }

    /// The cursor to draw; none before the first time.
    pub(crate) fn cursor(&self, screen: &Screen) -> Option<Cursor> {
        if screen.is_synchronizing() { self.cursor } else { Some(screen.cursor()) }
    }

    /// Notes that the screen was drawn.
    pub(crate) fn note(&mut self, screen: &Screen) {
        if screen.is_synchronizing() {
            return;
        }
        self.rows.truncate(usize::from(screen.size().rows));
        (self.version, self.cursor) = (Some(screen.version()), Some(screen.cursor()));
    }
}

#[cfg(test)]
mod tests {
    use term::{GridSize, Limits};

    use super::*;

    fn text(drawn: &mut DrawnScreen, screen: &Screen) -> String {
        let cells = drawn.row(screen, 0).to_vec();
        drawn.note(screen);
        cells.iter().map(|cell| cell.text.as_str()).collect::<String>().trim_end().to_owned()
    }

    #[test]
    fn u34_a_screen_is_drawn_as_it_was_until_its_update_is_whole() {
        let mut screen = Screen::new(GridSize::clamped(20, 3), Limits { history_lines: 0 });
        let mut drawn = DrawnScreen::default();
        screen.feed(b"\x1b[?2026hfirst");
        assert_eq!((drawn.damage(&screen), text(&mut drawn, &screen)), (Damage::Nothing, String::new()));
        assert_eq!(drawn.cursor(&screen), None);
        screen.feed(b"\x1b[?2026l");
        assert_eq!(
            (drawn.damage(&screen), text(&mut drawn, &screen)),
            (Damage::Everything, "first".to_owned())
        );
        let before = drawn.cursor(&screen);
        screen.feed(b"\x1b[?2026h\x1b[2J\x1b[2;5Hsecond");
        assert_eq!((drawn.damage(&screen), text(&mut drawn, &screen)), (Damage::Nothing, "first".to_owned()));
        assert_eq!(drawn.cursor(&screen), before);
        screen.release_sync();
        assert_eq!(text(&mut drawn, &screen), "");
        assert_eq!(drawn.cursor(&screen), Some(screen.cursor()));
    }
}
