//! Presets: commands that a project or its user stores under a name.
//!
//! A broken preset is refused with file and line, and so is a project's preset that would run outside its
//! project. Within a project, its own preset of a name comes before the user's.
//!
//! | file | content |
//! |---|---|
//! | `.quarterdeck.toml` of the project | `[preset.NAME]` and `[policy]` |
//! | `presets.toml` in the user's configuration | `[preset.NAME]` |
//! | `presets/NAME.toml` there | one preset |

mod section;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use proto::presets::{PresetCommand, PresetView};
use proto::process::Ready;
use proto::stop::MAX_GRACE_MS;
use proto::{ErrorCode, Failure, Name, Printable, Stop};
use rustix::fs::{FileType, Mode, OFlags};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use crate::line_pattern;
use crate::policy::{self, Policy};
use crate::project::{self, ProjectDir};
use crate::toml_fault;
use section::Sections;

/// Largest file.
const MAX_FILE: u64 = 256 * 1024;
/// Most files of the user's directory.
const MAX_FILES: usize = 200;

/// Whose preset it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Project,
    User,
}

impl Origin {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

/// One preset.
#[derive(Clone, Debug)]
pub(crate) struct Preset {
    pub(crate) name: Name,
    pub(crate) origin: Origin,
    pub(crate) file: PathBuf,
    /// Its text in the file, comments included.
    pub(crate) text: Vec<u8>,
    pub(crate) working_dir: Option<String>,
    pub(crate) command: PresetCommand,
}

impl Preset {
    /// Returns the real directory it runs in.
    pub(crate) fn directory(&self, project_dir: &ProjectDir) -> Result<String, Failure> {
        let dir = project_dir.dir.join(self.working_dir.as_deref().unwrap_or("."));
        let real = project::real("working_dir", &dir)?;
        if self.origin == Origin::Project && !Path::new(&real).starts_with(&project_dir.dir) {
            let message =
                format!("preset {} runs outside of its project, in {}", self.name, Printable(&real));
            return Err(Failure::invalid("working_dir", message)
                .hint("a project's preset must run in the project; your own presets may run anywhere"));
        }
        Ok(real)
    }

    pub(crate) fn view(&self, cwd: String, trusted: bool) -> PresetView {
        PresetView {
            name: self.name.to_string(),
            origin: self.file.display().to_string(),
            command: self.command.clone(),
            cwd,
            trusted,
        }
    }
}

/// A preset as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PresetToml {
    argv: Option<Vec<String>>,
    shell: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    working_dir: Option<String>,
    #[serde(default)]
    auto_restart: bool,
    #[serde(default)]
    restore: bool,
    ready: Option<Ready>,
    stop: Option<StopToml>,
    #[serde(default)]
    after: Vec<String>,
}

/// `stop = { signal = "INT", grace = 10 }`: how it is asked to end, and how many seconds it may take.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct StopToml {
    signal: Option<SignalToml>,
    grace: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum SignalToml {
    Number(i64),
    Name(String),
}

impl StopToml {
    fn read(self) -> Result<Stop, String> {
        let signal = self.signal.map(|signal| match signal {
            SignalToml::Number(number) => number.to_string(),
            SignalToml::Name(name) => name,
        });
        let signal = signal.map(|text| {
            let unknown =
                || format!("\"{}\" is no signal: say a name such as INT, or a number", Printable(&text));
            proto::stop::signal_number(&text).ok_or_else(unknown)
        });
        let longest = f64::from(MAX_GRACE_MS) / 1000.0;
        let grace_ms = self.grace.map(|grace| {
            let is_sound = (0.0..=longest).contains(&grace);
            is_sound.then_some(grace).ok_or_else(|| format!("grace is between 0 and {longest} seconds"))
        });
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it was checked to be in range"
        )]
        let grace_ms = grace_ms.transpose()?.map(|grace| (grace * 1000.0) as u32);
        let stop = Stop { signal: signal.transpose()?, grace_ms };
        stop.check().map_err(|failure| failure.message)?;
        Ok(stop)
    }
}

/// Everything that is stored for one project.
#[derive(Clone, Debug, Default)]
pub(crate) struct PresetSet {
    pub(crate) presets: BTreeMap<String, Preset>,
    pub(crate) policy: Policy,
    /// The faults, one sentence each.
    pub(crate) faults: Vec<String>,
}

impl PresetSet {
    /// Reads the user's presets, then the project's over them. A worktree without a file of its own has that of the main
    /// checkout. Runs on a thread that may block.
    pub(crate) fn read(project_dir: &ProjectDir, config: &Path) -> Self {
        let mut preset_set = Self::of_user(config);
        let own = project_dir.dir.join(project::FILE);
        let file = if own.symlink_metadata().is_ok() { own } else { project_dir.shared(&own) };
        preset_set.read_file(&file, Origin::Project, Shape::Many);
        preset_set
    }

    /// Reads the user's own presets. Runs on a thread that may block.
    fn of_user(config: &Path) -> Self {
        let mut preset_set = Self::default();
        for file in own_files(&config.join("presets")) {
            preset_set.read_file(&file, Origin::User, Shape::One);
        }
        preset_set.read_file(&config.join("presets.toml"), Origin::User, Shape::Many);
        preset_set
    }

    /// Returns the preset of this name.
    pub(crate) fn find(&self, name: &str) -> Result<&Preset, Failure> {
        self.presets.get(name).ok_or_else(|| {
            let failure = Failure::new(ErrorCode::NotFound, format!("no preset \"{}\"", Printable(name)));
            match self.faults.first() {
                Some(fault) => failure.hint(format!("a file has a fault: {fault}")),
                None => failure.hint("qd presets lists them"),
            }
        })
    }

    fn read_file(&mut self, path: &Path, origin: Origin, shape: Shape) {
        let faults = self.faults_of(path, origin, shape);
        self.faults.extend(sentences(path, &faults));
    }

    /// Takes what a file holds; returns its faults with their lines, 0 for the whole file.
    fn faults_of(&mut self, path: &Path, origin: Origin, shape: Shape) -> Vec<(usize, String)> {
        let mut page = PresetFile { path, origin, text: String::new(), faults: Vec::new() };
        match read_text(path) {
            Ok(Some(text)) => page.text = text,
            Ok(None) => return Vec::new(),
            Err(why) => return vec![(0, why)],
        }
        let text = page.text.clone();
        let (parsed, errors) = DeTable::parse_recoverable(&text);
        match shape {
            _ if !errors.is_empty() => {
                errors.iter().for_each(|error| page.fault(error.span(), error.message()))
            }
            Shape::One => self.take_one(&mut page, parsed),
            Shape::Many => self.take_many(&mut page, parsed.get_ref()),
        }
        page.faults.sort();
        page.faults
    }

    fn take_one(&mut self, page: &mut PresetFile<'_>, parsed: Spanned<DeTable<'_>>) {
        let name = page.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let bytes = page.text.clone().into_bytes();
        self.presets.extend(page.preset(&name, None, parsed, bytes));
    }

    fn take_many(&mut self, page: &mut PresetFile<'_>, parsed: &DeTable<'_>) {
        let text = page.text.clone();
        let sections = Sections::new(&text, parsed);
        for (key, value) in parsed {
            let (word, span) = (key.get_ref().as_ref(), key.span());
            match (word, value.get_ref()) {
                ("preset", DeValue::Table(presets)) => {
                    for (name, value) in presets {
                        let bytes = sections.text_of(name.span(), value);
                        let DeValue::Table(table) = value.get_ref() else {
                            page.fault(Some(name.span()), "a preset is a table: [preset.NAME]");
                            continue;
                        };
                        let table = Spanned::new(value.span(), table.clone());
                        let preset = page.preset(name.get_ref(), Some(name.span()), table, bytes);
                        self.presets.extend(preset);
                    }
                }
                ("policy", DeValue::Table(table)) if page.origin == Origin::Project => {
                    let bytes = sections.text_of(span.clone(), value);
                    match read_table::<policy::PolicyToml>(Spanned::new(value.span(), table.clone())) {
                        Ok(wording) => {
                            let (policy, faults) = Policy::new(wording, bytes);
                            self.policy = policy;
                            faults.iter().for_each(|why| page.fault(Some(span.clone()), why));
                        }
                        Err(error) => page.fault(error.span().or(Some(span)), error.message()),
                    }
                }
                ("preset" | "policy", _) if page.origin == Origin::Project || word == "preset" => {
                    page.fault(Some(span), &format!("{word} is a table"));
                }
                _ => {
                    let known = match page.origin {
                        Origin::Project => "`preset` or `policy`",
                        Origin::User => "`preset`",
                    };
                    page.fault(Some(span), &format!("unknown field `{}`, expected {known}", Printable(word)));
                }
            }
        }
    }
}

/// Returns what is wrong with a project's file: each fault with its line, if it has one. Its presets may come after those of
/// the user, which are in the directory of the configuration.
pub fn check_presets(path: &Path, config: &Path) -> Vec<(Option<usize>, String)> {
    let mut set = PresetSet::default();
    let mut faults = set.faults_of(path, Origin::Project, Shape::Many);
    let own: BTreeSet<String> = PresetSet::of_user(config).presets.into_keys().collect();
    faults.extend(unknown_before(path, own));
    faults.sort();
    faults.into_iter().map(|(line, why)| ((line > 0).then_some(line), Printable(&why).to_string())).collect()
}

/// Returns the words in `after` of a project's presets that are the name of no preset, with their lines.
fn unknown_before(path: &Path, mut known: BTreeSet<String>) -> Vec<(usize, String)> {
    let Ok(Some(text)) = read_text(path) else { return Vec::new() };
    let parsed = DeTable::parse(&text).ok();
    let presets = parsed.as_ref().and_then(|table| table.get_ref().get("preset")?.get_ref().as_table());
    known.extend(presets.into_iter().flat_map(|table| table.keys()).map(|name| name.get_ref().to_string()));
    let mut found = Vec::new();
    for (name, preset) in presets.into_iter().flat_map(|table| table.iter()) {
        let after = preset.get_ref().get("after").and_then(|after| after.get_ref().as_array());
        for before in after.into_iter().flat_map(|list| list.iter()) {
            let Some(word) = before.get_ref().as_str().filter(|word| !known.contains(*word)) else {
                continue;
            };
            let line = text.bytes().take(before.span().start).filter(|byte| *byte == b'\n').count() + 1;
            let nearest = proto::nearest_word(word, known.iter().map(String::as_str));
            let tip = nearest.map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
            let name = Printable(name.get_ref());
            found.push((
                line,
                format!("after: preset {name} comes after \"{word}\", which is not there{tip}"),
            ));
        }
    }
    found
}

/// What a file holds.
#[derive(Clone, Copy)]
enum Shape {
    One,
    Many,
}

/// A file that is being read.
struct PresetFile<'a> {
    path: &'a Path,
    origin: Origin,
    text: String,
    /// Faults with their lines.
    faults: Vec<(usize, String)>,
}

impl PresetFile<'_> {
    fn fault(&mut self, span: Option<Range<usize>>, why: &str) {
        let before = span.and_then(|span| self.text.get(..span.start)).unwrap_or_default();
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        self.faults.push((line, toml_fault::in_words(why.trim())));
    }

    /// Returns a preset, or faults.
    fn preset(
        &mut self,
        name: &str,
        at: Option<Range<usize>>,
        table: Spanned<DeTable<'_>>,
        text: Vec<u8>,
    ) -> Option<(String, Preset)> {
        let spans: BTreeMap<String, Range<usize>> =
            table.get_ref().iter().map(|(key, _)| (key.get_ref().to_string(), key.span())).collect();
        let wording: PresetToml = match read_table(table) {
            Ok(wording) => wording,
            Err(error) => {
                self.fault(error.span().or(at), error.message());
                return None;
            }
        };
        match make(name, wording, self.origin, self.path.to_owned(), text) {
            Ok(preset) => Some((name.to_owned(), preset)),
            Err((field, why)) => {
                self.fault(spans.get(field).cloned().or(at), &format!("{field}: {why}"));
                None
            }
        }
    }
}

/// Returns every fault as a sentence that names file and line.
fn sentences(path: &Path, faults: &[(usize, String)]) -> Vec<String> {
    let path = path.display().to_string();
    let sentence = |(line, why): &(usize, String)| match line {
        0 => format!("{}: {}", Printable(&path), Printable(why)),
        line => format!("{}, line {line}: {}", Printable(&path), Printable(why)),
    };
    faults.iter().map(sentence).collect()
}

fn read_table<T: for<'de> Deserialize<'de>>(table: Spanned<DeTable<'_>>) -> Result<T, toml::de::Error> {
    T::deserialize(Deserializer::from(table))
}

/// Returns a preset, or the wrong field and the reason.
fn make(
    name: &str,
    wording: PresetToml,
    origin: Origin,
    file: PathBuf,
    text: Vec<u8>,
) -> Result<Preset, (&'static str, String)> {
    let name: Name = name.parse().map_err(|why: proto::name::BadName| ("name", why.to_string()))?;
    let argv = match (wording.argv, wording.shell) {
        (Some(argv), None) if argv.first().is_some_and(|program| !program.is_empty()) => argv,
        (Some(_), None) => return Err(("argv", "it names no program".to_owned())),
        (None, Some(line)) if !line.trim().is_empty() => vec!["/bin/sh".to_owned(), "-c".to_owned(), line],
        (None, Some(_)) => return Err(("shell", "it is empty".to_owned())),
        (None, None) => return Err(("argv", "missing: say argv or shell".to_owned())),
        (Some(_), Some(_)) => return Err(("shell", "say argv or shell, not both".to_owned())),
    };
    if argv.iter().any(|word| word.contains('\0')) {
        return Err(("argv", "a word may not contain a NUL".to_owned()));
    }
    let is_odd = |name: &&String| name.is_empty() || name.contains(['=', '\0']) || name.starts_with("QD_");
    if let Some(odd) = wording.env.keys().find(is_odd) {
        return Err(("env", format!("the variable \"{}\" cannot be set by a preset", Printable(odd))));
    }
    if wording.env.values().any(|value| value.contains('\0')) {
        return Err(("env", "a value may not contain a NUL".to_owned()));
    }
    if wording.working_dir.as_deref().is_some_and(|dir| dir.is_empty() || dir.contains('\0')) {
        return Err(("working_dir", "it names no directory".to_owned()));
    }
    match &wording.ready {
        Some(Ready::Pattern(text)) => {
            line_pattern::compile(text).map_err(|failure| ("ready", failure.message))?;
        }
        Some(Ready::Port(0)) => return Err(("ready", "a port is between 1 and 65535".to_owned())),
        Some(Ready::Port(_)) | None => {}
    }
    let stop = wording.stop.unwrap_or_default().read().map_err(|why| ("stop", why))?;
    let command = PresetCommand {
        argv,
        env: wording.env,
        auto_restart: wording.auto_restart,
        restore: wording.restore,
        ready: wording.ready,
        stop,
        after: wording.after,
    };
    Ok(Preset { name, origin, file, text, working_dir: wording.working_dir, command })
}

/// Returns the user's files of one preset each, in order.
fn own_files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    files.truncate(MAX_FILES);
    files
}

/// Returns a file's text; `None` when it does not exist. Only plain files of the user or of root count: a
/// file that another user left in a shared directory must not decide what this user runs.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("cannot be read: {error}");
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(opened) => opened,
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(unreadable(&error)),
    };
    let found = rustix::fs::fstat(&opened).map_err(|error| unreadable(&error))?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err("is not a plain file".to_owned());
    }
    if found.st_uid != rustix::process::geteuid().as_raw() && found.st_uid != 0 {
        return Err("belongs to another user, so it is not used".to_owned());
    }
    let mut text = String::new();
    File::from(opened).take(MAX_FILE + 1).read_to_string(&mut text).map_err(|error| unreadable(&error))?;
    if text.len() as u64 > MAX_FILE {
        return Err(format!("has more than {} KiB", MAX_FILE / 1024));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests;
