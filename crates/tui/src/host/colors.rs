//! The colours of the person's terminal, for the programs in the panes: they ask the daemon, which knows them
//! from its viewers. The terminal is asked at the beginning and again when it becomes light or dark.

use proto::terminal::answers::COLOR_QUESTIONS;
use proto::terminal::{ColorScheme, TerminalReport};

use super::input::Answer;

/// What the terminal has answered about its colours.
#[derive(Debug, Default)]
pub(crate) struct HostColors {
    report: TerminalReport,
    /// The last answer to the newest questions has come.
    is_whole: bool,
}

/// What follows from an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColorStep {
    Nothing,
    /// The terminal became light or dark: it is asked for its colours again.
    Ask,
    /// All colours are known: viewers report them.
    Report,
}

impl HostColors {
    /// Notes an answer of the terminal.
    pub(crate) fn note(&mut self, answer: &Answer) -> ColorStep {
        match answer {
            Answer::Color(index, color) => drop(self.report.colors.insert(*index, *color)),
            Answer::IsLight(is_light) => {
                let scheme = if *is_light { ColorScheme::Light } else { ColorScheme::Dark };
                let before = self.report.scheme.replace(scheme);
                if self.is_whole && before != Some(scheme) {
                    self.is_whole = false;
                    return ColorStep::Ask;
                }
            }
            Answer::Last if !self.is_whole => {
                self.is_whole = true;
                return ColorStep::Report;
            }
            Answer::Last | Answer::KeyboardFlags(_) | Answer::Mode(..) | Answer::Status | Answer::Other => {}
        }
        ColorStep::Nothing
    }

    /// Returns the report, once it is whole and has colours.
    pub(crate) fn report(&self) -> Option<&TerminalReport> {
        Some(&self.report).filter(|report| self.is_whole && !report.is_colorless())
    }
}

/// Returns the questions for a terminal that became light or dark; every terminal answers the last one.
pub(crate) fn questions() -> Vec<u8> {
    [COLOR_QUESTIONS, b"\x1b[c"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m10f_a_terminals_colours_are_reported_when_all_are_known_and_asked_for_again_when_it_becomes_light() {
        let mut colors = HostColors::default();
        assert_eq!(colors.note(&Answer::Color(257, [1, 1, 1])), ColorStep::Nothing);
        assert_eq!(colors.note(&Answer::IsLight(false)), ColorStep::Nothing);
        assert!(colors.report().is_none(), "not all answers have come");
        assert_eq!(colors.note(&Answer::Last), ColorStep::Report);
        assert_eq!(colors.report().unwrap().colors[&257], [1, 1, 1]);
        assert_eq!(colors.note(&Answer::IsLight(false)), ColorStep::Nothing, "it was dark before");
        assert_eq!(colors.note(&Answer::IsLight(true)), ColorStep::Ask);
        assert_eq!(colors.note(&Answer::Color(257, [9, 9, 9])), ColorStep::Nothing);
        assert_eq!(colors.note(&Answer::IsLight(true)), ColorStep::Nothing);
        assert_eq!(colors.note(&Answer::Last), ColorStep::Report);
        let report = colors.report().unwrap();
        assert_eq!((report.colors[&257], report.scheme), ([9, 9, 9], Some(ColorScheme::Light)));
    }
}
