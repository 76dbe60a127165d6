//! Recordings: a screen as a readable file, with the expected result of the manifest's rules.
//!
//! The format is a TOML header between two `+++` rows, then one row per row of the screen, in which `\e`
//! stands for escape and `\\` for a backslash. Only what rules read is kept: text, faint, inverse, hidden,
//! and backgrounds that differ from their row's. Secrets are masked.

mod mask;

use std::fmt::Write as _;

use proto::agent::{AgentState, BlockedKind, Composer, Evidence};
use proto::observed::ScreenSeen;
use serde::Deserialize;
use term::{Attributes, Cell, Color, GridSize, Limits, Screen};

use crate::detect::{DetectError, Detector, StreamEvidence};
use crate::manifest::Manifest;

pub use mask::mask;

/// The row before and after the header.
const FENCE: &str = "+++";

/// A recorded screen and its expected result.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedScreen {
    /// Its description.
    pub header: Header,
    /// The rows, with escapes written out.
    pub rows: Vec<String>,
}

/// The description of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The manifest of the recorded program.
    pub manifest: String,
    /// The program's version.
    #[serde(default)]
    pub version: String,
    /// Columns and rows.
    pub size: (u16, u16),
    /// Where it comes from.
    pub origin: Origin,
    /// The terminal's title.
    #[serde(default)]
    pub title: String,
    /// What the program reported without showing it, each without introducer and terminator:
    /// `7501;state=idle`; or `bell`.
    #[serde(default)]
    pub osc: Vec<String>,
    /// The program had not asked for bracketed pastes yet.
    #[serde(default)]
    pub deaf: bool,
    /// The expected result of the rules.
    pub expect: Expectation,
}

/// Where a recording comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The program itself.
    Real,
    /// Written by hand from the texts that the program is known to use.
    Synthetic,
}

/// The result of rules for a screen, as short words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expectation {
    /// The strongest of dialog, title and screen: a state, `hold`, or `unknown` when none matches.
    pub state: String,
    /// What a blocked agent needs.
    pub kind: Option<BlockedKind>,
    /// The screen rule that counts.
    pub rule: Option<String>,
    /// The title rule that counts.
    pub title_rule: Option<String>,
    /// The dialog that is seen.
    pub dialog: Option<String>,
    /// What the dialog asks.
    pub asks: Option<String>,
    /// What it is about.
    pub about: Option<String>,
    /// Its options: names, label and keys.
    pub options: Vec<String>,
    /// The message of a rule or a status report.
    pub message: Option<String>,
    /// What the composer holds.
    pub composer: Composer,
    /// How much runs in the background.
    pub background: u32,
    /// The program's last report: the rule and its state.
    pub heard: Option<String>,
}

/// A text that is not a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// The fences are missing.
    #[error("a recording begins with a header between two rows `+++`")]
    NoHeader,
    /// The header is invalid.
    #[error("the header is wrong: {0}")]
    Header(String),
}

impl RecordedScreen {
    /// Records a screen, masked, with the result of the manifest's rules; a person's state replaces theirs.
    ///
    /// # Errors
    /// The manifest's tables contradict each other.
    pub fn record(
        manifest: &Manifest,
        version: &str,
        screen: &Screen,
        state: Option<AgentState>,
    ) -> Result<(Self, u32), DetectError> {
        let mut masked = 0;
        let mut clean = |text: &str| {
            let (text, found) = mask(text);
            masked += found;
            text
        };
        let size = screen.size();
        let mut rows: Vec<String> =
            (0..size.rows).map(|row| clean(&written(&screen.row_cells(row)))).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        let header = Header {
            manifest: manifest.name.clone(),
            version: version.to_owned(),
            size: (size.cols, size.rows),
            origin: Origin::Real,
            title: clean(screen.title()),
            osc: Vec::new(),
            deaf: !screen.modes().bracketed_paste,
            expect: Expectation::default(),
        };
        let mut sample = Self { header, rows };
        sample.header.expect = sample.outcome(manifest)?;
        if let Some(state) = state {
            state.word().clone_into(&mut sample.header.expect.state);
        }
        Ok((sample, masked))
    }

    /// Parses a recording.
    ///
    /// # Errors
    /// The text is not a recording.
    pub fn parse(text: &str) -> Result<Self, SampleError> {
        let rest =
            text.strip_prefix(FENCE).and_then(|rest| rest.strip_prefix('\n')).ok_or(SampleError::NoHeader)?;
        let (header, body) = rest.split_once("\n+++\n").ok_or(SampleError::NoHeader)?;
        let header =
            toml::from_str(header).map_err(|error| SampleError::Header(error.message().to_owned()))?;
        Ok(Self { header, rows: body.lines().map(str::to_owned).collect() })
    }

    /// Returns the screen as a terminal would show it.
    #[must_use]
    pub fn screen(&self) -> Screen {
        let (cols, rows) = self.header.size;
        let mut screen = Screen::new(GridSize { cols, rows }, Limits { history_lines: 0 });
        if !self.header.deaf {
            screen.feed(b"\x1b[?2004h");
        }
        for said in &self.header.osc {
            match said.as_str() {
                "bell" => screen.feed(b"\x07"),
                said => screen.feed(format!("\x1b]{said}\x1b\\").as_bytes()),
            }
        }
        if !self.header.title.is_empty() {
            screen.feed(format!("\x1b]0;{}\x1b\\", self.header.title).as_bytes());
        }
        for (row, text) in self.rows.iter().enumerate() {
            screen.feed(format!("\x1b[{};1H{}\x1b[0m", row + 1, meant(text)).as_bytes());
        }
        screen
    }

    /// Applies a manifest's rules to it.
    ///
    /// # Errors
    /// The manifest's tables contradict each other.
    pub fn outcome(&self, manifest: &Manifest) -> Result<Expectation, DetectError> {
        let mut detector = Detector::new(manifest)?;
        let mut screen = self.screen();
        let heard = screen.take_facts().iter().filter_map(|fact| detector.hear(fact)).last();
        let look = detector.look(&screen).unwrap_or_default();
        Ok(Expectation::of(&look.seen, heard.as_ref()))
    }
}

impl Expectation {
    /// Returns the result of a read and of the last report.
    #[must_use]
    pub fn of(seen: &ScreenSeen, heard: Option<&StreamEvidence>) -> Self {
        let strongest = seen.dialog.as_ref().or(seen.title.as_ref()).or(seen.screen.as_ref());
        let rule = |evidence: &Option<Evidence>| evidence.as_ref().map(|evidence| evidence.rule.clone());
        let dialog = seen.dialog.as_ref().and_then(|evidence| evidence.dialog.as_ref());
        let heard = heard.and_then(|heard| match heard {
            StreamEvidence::Evidence(evidence) => Some(evidence),
            StreamEvidence::Withdrawn(_) => None,
        });
        let messages = seen.screen.iter().chain(heard.map(AsRef::as_ref)).map(|evidence| &evidence.message);
        Self {
            state: strongest.map_or("unknown".to_owned(), |evidence| word(evidence.state)),
            kind: strongest.and_then(|evidence| evidence.kind),
            rule: rule(&seen.screen),
            title_rule: rule(&seen.title),
            dialog: rule(&seen.dialog),
            asks: dialog.map(|dialog| dialog.title.clone()),
            about: dialog.map(|dialog| dialog.body.clone()).filter(|body| !body.is_empty()),
            options: dialog.iter().flat_map(|dialog| &dialog.options).map(option_words).collect(),
            message: messages.rev().find(|message| !message.is_empty()).cloned(),
            composer: seen.composer,
            background: seen.background,
            heard: heard.map(|evidence| format!("{} → {}", evidence.rule, word(evidence.state))),
        }
    }
}

fn word(state: Option<AgentState>) -> String {
    state.map_or("hold", AgentState::word).to_owned()
}

/// Returns `1 allow | Yes | 1`.
fn option_words(option: &proto::agent::DialogOption) -> String {
    format!("{} | {} | {}", option.names.join(" "), option.label, option.keys.join(" "))
}

impl std::fmt::Display for RecordedScreen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Header { manifest, version, size, origin, title, osc, deaf, expect } = &self.header;
        writeln!(f, "{FENCE}\nmanifest = {}", quoted(manifest))?;
        if !version.is_empty() {
            writeln!(f, "version = {}", quoted(version))?;
        }
        writeln!(f, "size = [{}, {}]", size.0, size.1)?;
        let origin = match origin {
            Origin::Real => "real",
            Origin::Synthetic => "synthetic",
        };
        writeln!(f, "origin = {}", quoted(origin))?;
        if !title.is_empty() {
            writeln!(f, "title = {}", quoted(title))?;
        }
        if !osc.is_empty() {
            writeln!(f, "osc = {}", list(osc))?;
        }
        if *deaf {
            writeln!(f, "deaf = true")?;
        }
        writeln!(f, "\n[expect]\n{expect}{FENCE}")?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

impl std::fmt::Display for Expectation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "state = {}", quoted(&self.state))?;
        let kind = self.kind.and_then(|kind| serde_json::to_string(&kind).ok());
        if let Some(kind) = kind {
            writeln!(f, "kind = {kind}")?;
        }
        let words = [
            ("rule", &self.rule),
            ("title_rule", &self.title_rule),
            ("dialog", &self.dialog),
            ("asks", &self.asks),
            ("about", &self.about),
            ("message", &self.message),
            ("heard", &self.heard),
        ];
        for (key, value) in words.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?))) {
            writeln!(f, "{key} = {}", quoted(value))?;
        }
        if !self.options.is_empty() {
            writeln!(f, "options = {}", list(&self.options))?;
        }
        let composer = serde_json::to_string(&self.composer).unwrap_or_default();
        writeln!(f, "composer = {composer}")?;
        if self.background > 0 {
            writeln!(f, "background = {}", self.background)?;
        }
        Ok(())
    }
}

/// A JSON string is a TOML string too.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

fn list(texts: &[String]) -> String {
    let lines = texts.iter().fold(String::new(), |mut lines, text| {
        let _ = writeln!(lines, "    {},", quoted(text));
        lines
    });
    format!("[\n{lines}]")
}

/// Writes a row of cells as text.
fn written(cells: &[Cell]) -> String {
    let ground = common_ground(cells);
    let mut row = String::new();
    let mut pen = String::new();
    for cell in cells {
        let style = looks(cell, ground);
        if style != pen && cell.width > 0 {
            row.push_str("\\e[0m");
            row.push_str(&style);
            pen = style;
        }
        if cell.text.as_str() == "\\" {
            row.push_str("\\\\");
        } else {
            row.push_str(&cell.text);
        }
    }
    if !pen.is_empty() {
        row.push_str("\\e[0m");
    }
    row.truncate(row.trim_end().len());
    row
}

fn common_ground(cells: &[Cell]) -> Color {
    let count = |ground: Color| cells.iter().filter(|cell| cell.style.bg == ground).count();
    cells.iter().map(|cell| cell.style.bg).max_by_key(|ground| count(*ground)).unwrap_or_default()
}

fn looks(cell: &Cell, ground: Color) -> String {
    let has = |attribute| cell.style.attributes.contains(attribute);
    let mut style = String::new();
    for (attribute, code) in [(Attributes::DIM, 2), (Attributes::INVERSE, 7), (Attributes::HIDDEN, 8)] {
        if has(attribute) {
            let _ = write!(style, "\\e[{code}m");
        }
    }
    if cell.style.bg != ground {
        let _ = match cell.style.bg {
            Color::Default => write!(style, "\\e[48;5;0m"),
            Color::Basic(index) | Color::Indexed(index) => write!(style, "\\e[48;5;{index}m"),
            Color::Rgb(red, green, blue) => write!(style, "\\e[48;2;{red};{green};{blue}m"),
        };
    }
    style
}

/// Returns the bytes for a written row.
fn meant(row: &str) -> String {
    let mut bytes = String::with_capacity(row.len());
    let mut characters = row.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('e') => bytes.push('\x1b'),
                Some(other) => bytes.push(other),
                None => {}
            },
            other => bytes.push(other),
        }
    }
    bytes
}

#[cfg(test)]
mod tests;
