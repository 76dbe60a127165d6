//! Reads dialogs from a screen: the question, the options and the keys that choose them.
//!
//! It distinguishes a live dialog from its quotation in the transcript, and computes the digest with which an
//! answer names its dialog.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use proto::agent::{AgentState, Dialog, DialogOption, Evidence, Source};
use proto::long_text::{self, MAX_ITEM_BODY};
use proto::printable::shortened;
use regex::Captures;
use sha2::{Digest, Sha256};
use term::Screen;

use super::pattern::Pattern;
use super::rows::{Rows, StyledRow, is_empty_row, is_frame};
use super::spec::{DialogSpec, FixedOption, OptionsSpec, Press};

/// Longest title and label kept, in characters.
const LABEL_MAX: usize = 300;

/// Precedes the rest of a dialog whose beginning has left the screen.
const CUT: &str = "… (the beginning is not on the screen)";

/// Follows a dialog of which the program itself hides a part.
const HIDDEN: &str = "… (the program hides a part of it: attach to read it)";

/// Where a dialog is searched.
pub(crate) struct Scene<'a> {
    pub(crate) manifest: &'a str,
    pub(crate) rows: &'a Rows,
    pub(crate) screen: &'a Screen,
    /// The composer's first row.
    pub(crate) composer: Option<usize>,
}

/// A dialog that is live on the screen.
pub(crate) struct LiveDialog {
    pub(crate) evidence: Evidence,
    /// A digest of the words above its options.
    pub(crate) context: u64,
}

/// Reads a dialog, if it is live on the screen.
pub(crate) fn read(spec: &DialogSpec, scene: &Scene<'_>) -> Option<LiveDialog> {
    let region = scene.rows.region(spec.region, scene.composer);
    let text = scene.rows.text(&region);
    if !spec.anchors.iter().all(|anchor| anchor.is_in(text))
        || spec.not.as_ref().is_some_and(|not| not.is_in(text))
    {
        return None;
    }
    let choice = choice(spec, scene, &region)?;
    if !is_live(spec, scene, &region, &choice) {
        return None;
    }
    let first = begin(spec, scene.rows, region.start..choice.rows.start);
    let begin = first.unwrap_or(region.start);
    let head = scene.rows.text(&(begin..choice.rows.start.max(begin)));
    let asked = spec.title.last_captures(head)?;
    let title = one_line(named(&asked, "title"));
    let is_cut = spec.begin.is_some() && first.is_none();
    let before = asked.get(0).and_then(|found| head.get(..found.start()));
    let body = body(spec, head, before.filter(|_| is_cut));
    let digest = digest(scene.manifest, &spec.id, [&title, &body], &choice.options);
    let context = context(scene.rows.text(&(0..choice.rows.start)));
    let dialog = Dialog { digest, title, body, options: choice.options };
    Some(LiveDialog { evidence: evidence(spec, dialog), context })
}

/// Returns a digest of the words of a text. Programs count seconds and let symbols blink while they wait.
fn context(text: &str) -> u64 {
    let mut hash = DefaultHasher::new();
    for word in text.split_whitespace().filter(|word| !word.contains(char::is_numeric)) {
        word.chars().filter(|character| character.is_alphabetic()).for_each(|letter| letter.hash(&mut hash));
    }
    hash.finish()
}

/// Returns the text of the dialog. If its first row has left the screen, the rest is marked as cut; so is a text of which
/// the program hides a part.
fn body(spec: &DialogSpec, head: &str, rest: Option<&str>) -> String {
    let Some(pattern) = &spec.body else { return String::new() };
    let found = pattern.captures(head);
    let text = found.as_ref().map(|found| named(found, "body")).or(rest).unwrap_or_default();
    let body = without_frames(text, spec.skip.as_ref());
    let body = if rest.is_some() && !body.is_empty() { format!("{CUT}\n{body}") } else { body };
    let is_hidden = spec.hides.as_ref().is_some_and(|hides| hides.is_in(head));
    if is_hidden { format!("{body}\n{HIDDEN}") } else { body }
}

fn evidence(spec: &DialogSpec, dialog: Dialog) -> Evidence {
    let mut evidence = Evidence::new(Source::Dialog, spec.id.clone(), Some(AgentState::Blocked));
    evidence.kind = Some(spec.kind);
    let body = dialog.body.lines().collect::<Vec<_>>().join(" · ");
    evidence.message = if body.is_empty() { dialog.title.clone() } else { shortened(&body, LABEL_MAX) };
    evidence.dialog = Some(dialog);
    evidence
}

/// The options of a dialog and the rows they take.
struct DialogOptions {
    rows: Range<usize>,
    options: Vec<DialogOption>,
}

fn choice(spec: &DialogSpec, scene: &Scene<'_>, region: &Range<usize>) -> Option<DialogOptions> {
    let mut choice = match &spec.options {
        OptionsSpec::Lines { line, press, then, described, all } => {
            let reader = LineReader { line, is_described: *described, rows: scene.rows, all };
            let mut choice = lines(&reader, *press, region)?;
            choice.options.iter_mut().for_each(|option| option.keys.extend_from_slice(then));
            choice
        }
        OptionsSpec::Row { label, row } => in_row(label, row, scene, region)?,
        OptionsSpec::Fixed { list } => fixed(list, spec, scene.rows, region)?,
    };
    for option in &mut choice.options {
        let meant = spec.names.iter().filter(|(_, pattern)| pattern.is_in(&option.label));
        option.names.extend(meant.map(|(name, _)| name.clone()));
    }
    for fixed in &spec.also {
        let is_there = |option: &DialogOption| option.names.iter().any(|name| fixed.names.contains(name));
        if !choice.options.is_empty() && !choice.options.iter().any(is_there) {
            choice.options.push(fixed_option(choice.options.len(), fixed));
        }
    }
    Some(choice)
}

/// An option in a row of its own.
struct OptionLine {
    row: usize,
    end: usize,
    label: String,
    number: Option<u32>,
    key: Option<String>,
    is_pointed_at: bool,
}

/// Reads options that have rows of their own.
struct LineReader<'a> {
    line: &'a Pattern,
    is_described: bool,
    rows: &'a Rows,
    all: &'a [String],
}

/// Returns the lowest block of option rows.
fn lines(reader: &LineReader<'_>, press: Press, region: &Range<usize>) -> Option<DialogOptions> {
    let mut block: Vec<OptionLine> = Vec::new();
    for row in region.clone().rev() {
        let Some(option) = reader.option(row, region.end) else { continue };
        if let Some(below) = block.last() {
            let follows = match (option.number, below.number) {
                (Some(number), Some(next)) => number.checked_add(1) == Some(next),
                (None, None) => (option.end..below.row).all(|row| is_empty_row(reader.rows.row(row))),
                _ => false,
            };
            if !follows {
                continue;
            }
        }
        let is_first = option.number == Some(1);
        block.push(option);
        if is_first {
            break;
        }
    }
    block.reverse();
    let rows = block.first()?.row..block.last()?.end;
    let options = whole_list(reader.all, &block).or_else(|| pressed(press, &block)).unwrap_or_default();
    Some(DialogOptions { rows, options })
}

/// Returns all options of a list whose labels are known, when the screen shows only a part of them.
fn whole_list(all: &[String], block: &[OptionLine]) -> Option<Vec<DialogOption>> {
    let start = all.iter().position(|label| block.first().is_some_and(|first| first.label == *label))?;
    let is_part = block.iter().zip(all.get(start..)?).all(|(line, label)| line.label == *label);
    let pointer = start + block.iter().position(|option| option.is_pointed_at).filter(|_| is_part)?;
    let option = |(index, label): (usize, &String)| DialogOption {
        names: vec![(index + 1).to_string()],
        label: label.clone(),
        keys: moves(pointer, index, ["up", "down"]),
    };
    Some(all.iter().enumerate().map(option).collect())
}

impl LineReader<'_> {
    fn option(&self, row: usize, bottom: usize) -> Option<OptionLine> {
        let text = self.rows.row(row);
        let found = self.line.captures(text)?;
        let label = found.name("label")?;
        let column = text.get(..label.start())?.chars().count();
        let mut words = label.as_str().trim().to_owned();
        let mut end = row + 1;
        while end < bottom && self.is_rest(end, column) {
            if !self.is_described {
                let _ = write!(words, " {}", self.rows.row(end).trim_matches(is_frame));
            }
            end += 1;
        }
        Some(OptionLine {
            row,
            end,
            label: shortened(&words, LABEL_MAX),
            number: found.name("number").and_then(|number| number.as_str().parse().ok()),
            key: found.name("key").map(|key| key.as_str().to_owned()),
            is_pointed_at: found.name("pointer").is_some_and(|pointer| !pointer.as_str().trim().is_empty()),
        })
    }

    /// Returns true if a row belongs to an option above it whose label begins in this column.
    fn is_rest(&self, row: usize, column: usize) -> bool {
        let text = self.rows.row(row);
        !self.line.is_in(text) && continues(text, column)
    }
}

fn continues(row: &str, column: usize) -> bool {
    row.chars().position(|character| !is_frame(character)).is_some_and(|first| first >= column)
}

/// Returns the options with the keys that choose them; `None` when the screen does not show which keys do.
fn pressed(press: Press, block: &[OptionLine]) -> Option<Vec<DialogOption>> {
    let pointer = block.iter().position(|option| option.is_pointed_at);
    let keys = |index: usize, option: &OptionLine| -> Option<Vec<String>> {
        match press {
            Press::Digit => Some(vec![option.number?.to_string()]),
            Press::Key => Some(vec![option.key.clone()?]),
            Press::Move => Some(moves(pointer?, index, ["up", "down"])),
        }
    };
    let named = |(index, option): (usize, &OptionLine)| {
        let number = option.number.map_or(index + 1, |number| number as usize);
        let keys = keys(index, option)?;
        Some(DialogOption { names: vec![number.to_string()], label: option.label.clone(), keys })
    };
    block.iter().enumerate().map(named).collect()
}

/// Returns the keys that move a pointer to an option, then enter.
fn moves(from: usize, to: usize, [back, forth]: [&str; 2]) -> Vec<String> {
    let key = if to < from { back } else { forth };
    let mut keys = vec![key.to_owned(); from.abs_diff(to)];
    keys.push("enter".to_owned());
    keys
}

/// Reads options side by side; the chosen one has another background than its row.
fn in_row(label: &Pattern, row: &Pattern, scene: &Scene<'_>, region: &Range<usize>) -> Option<DialogOptions> {
    let at = region.clone().rev().find(|at| row.is_in(scene.rows.row(*at)))?;
    let text = scene.rows.row(at);
    let styled = StyledRow::of(scene.screen, at);
    let ground = styled.ground();
    let labels: Vec<(usize, &str)> = label
        .captures_iter(text)
        .filter_map(|found| found.name("label").or(found.get(0)).map(|label| (label.start(), label.as_str())))
        .collect();
    let mut chosen = labels.iter().enumerate().filter(|(_, (start, _))| styled.ground_at(*start) != ground);
    let pointer = chosen.next().map(|(index, _)| index).filter(|_| chosen.next().is_none());
    let option = |(index, (_, label)): (usize, &(usize, &str))| {
        let keys = moves(pointer?, index, ["left", "right"]);
        Some(DialogOption { names: vec![(index + 1).to_string()], label: label.trim().to_owned(), keys })
    };
    let options = labels.iter().enumerate().map(option).collect::<Option<Vec<_>>>().unwrap_or_default();
    Some(DialogOptions { rows: at..at + 1, options })
}

/// Reads options that are always the same; the dialog ends with the lowest of its anchors.
fn fixed(
    list: &[FixedOption],
    spec: &DialogSpec,
    rows: &Rows,
    region: &Range<usize>,
) -> Option<DialogOptions> {
    let text = rows.text(region);
    let last =
        spec.anchors.iter().filter_map(|anchor| anchor.last_captures(text)?.get(0).map(|found| found.end()));
    let row = rows.row_at(region, last.max()?.saturating_sub(1));
    let options = list.iter().enumerate().map(|(index, option)| fixed_option(index, option)).collect();
    Some(DialogOptions { rows: row + 1..row + 1, options })
}

fn fixed_option(index: usize, option: &FixedOption) -> DialogOption {
    let names = std::iter::once((index + 1).to_string()).chain(option.names.iter().cloned()).collect();
    DialogOption { names, label: option.label.clone(), keys: option.keys.clone() }
}

/// Returns false for a quotation of a dialog: one with the composer or a transcript below it.
fn is_live(spec: &DialogSpec, scene: &Scene<'_>, region: &Range<usize>, choice: &DialogOptions) -> bool {
    let below = (choice.rows.end..region.end).filter(|row| !is_empty_row(scene.rows.row(*row))).count();
    let is_above_composer = scene.composer.is_some_and(|composer| composer >= choice.rows.start);
    below <= usize::from(spec.below) && (spec.keeps_composer || !is_above_composer)
}

/// Returns the dialog's first row, if the manifest describes it and it is on the screen.
fn begin(spec: &DialogSpec, rows: &Rows, mut head: Range<usize>) -> Option<usize> {
    let begin = spec.begin.as_ref()?;
    head.rfind(|row| begin.is_in(rows.row(*row)))
}

fn named<'t>(found: &Captures<'t>, name: &str) -> &'t str {
    found.name(name).or(found.get(0)).map_or("", |part| part.as_str())
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split(is_frame).filter(|word| !word.is_empty()).collect();
    shortened(&words.join(" "), LABEL_MAX)
}

/// Returns the rows of a text without frames and without the rows to skip.
fn without_frames(text: &str, skip: Option<&Pattern>) -> String {
    let is_kept = |row: &&str| !skip.is_some_and(|skip| skip.is_in(row));
    let rows =
        text.lines().filter(is_kept).map(|row| row.trim_matches(is_frame)).filter(|row| !row.is_empty());
    long_text::within(&rows.collect::<Vec<_>>().join("\n"), MAX_ITEM_BODY)
}

/// Identifies a dialog: equal wherever its pointer is, and different for every other dialog.
fn digest(manifest: &str, rule: &str, [title, body]: [&str; 2], options: &[DialogOption]) -> String {
    let mut hash = Sha256::new();
    let labels = options.iter().map(|option| option.label.as_str());
    for part in [manifest, rule, title, body].into_iter().chain(labels) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().take(16).fold(String::with_capacity(32), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
