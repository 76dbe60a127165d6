//! What a person is asked to trust: one command, identified by a digest of everything that makes it what it
//! is, and shown in full.
//!
//! Names do not count: any change (a word, a variable, the directory behind a link, the program behind a
//! name, the text of a script or of a preset) makes another trust subject. Commands too long for a person to
//! judge are refused.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use engine::{StartRun, TrustSubject};
use proto::error::Cause;
use proto::request::PermissionWait;
use proto::{ErrorCode, Failure, Kind, Printable};
use rustix::fs::{Access, FileType, Mode, OFlags};
use sha2::{Digest, Sha256};

use crate::agents::ForeignManifest;
use crate::policy::is_interpreter;
use crate::presets::Preset;
use crate::project::{self, ProjectDir, hex};

/// The longest text that a person is shown.
const MAX_SHOWN: usize = 16 * 1024;
/// The longest manifest that is shown whole; for a longer one a person reads the named file.
const MAX_MANIFEST_SHOWN: usize = 4 * 1024;
/// Largest program whose content is part of a trust subject.
const MAX_PROGRAM: u64 = 1 << 30; // 1 GiB
/// How a script begins.
const SCRIPT: &[u8] = b"#!";

/// What is to be started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchSpec<'a> {
    pub(crate) project_dir: &'a ProjectDir,
    pub(crate) kind: Kind,
    /// For agents, the first word is a manifest.
    pub(crate) argv: &'a [String],
    /// The real directory.
    pub(crate) cwd: &'a str,
    /// The declared variables.
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) preset: Option<&'a Preset>,
    /// It restarts when it fails.
    pub(crate) auto_restart: bool,
    /// For agents: permission requests are granted when no person answers.
    pub(crate) allows_on_timeout: bool,
    /// For agents: the manifest, unless it is built in.
    pub(crate) manifest: Option<&'a ForeignManifest>,
    /// The project of the process that asks, if it is another one.
    pub(crate) from: Option<&'a ProjectDir>,
}

impl LaunchSpec<'_> {
    /// Returns true if only an agent's manifest must be trusted: no words, no variables, in the caller's own
    /// project.
    fn is_manifest_alone(&self) -> bool {
        self.manifest.is_some()
            && self.argv.len() == 1
            && self.env.is_empty()
            && !self.allows_on_timeout
            && self.from.is_none()
    }
}

/// A program as its search path finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) found: PathBuf,
    pub(crate) real: PathBuf,
}

/// Returns true if the system would find a program: in the directories that are searched for one.
#[must_use]
pub fn finds_program(word: &str, path: &str, cwd: &Path) -> bool {
    Program::find(word, Some(path), cwd).is_some()
}

impl Program {
    /// Finds a program as the system would.
    pub(crate) fn find(word: &str, path: Option<&str>, cwd: &Path) -> Option<Self> {
        let found = holder::find_program(word.as_ref(), path.map(OsStr::new), cwd)?;
        let real = found.canonicalize().ok()?;
        Some(Self { found, real })
    }

    /// Returns true if it, or the link to it, is in the project.
    pub(crate) fn is_inside(&self, project_dir: &ProjectDir) -> bool {
        self.found.starts_with(&project_dir.dir) || self.real.starts_with(&project_dir.dir)
    }

    /// Returns true if its name, or that of the link to it, is such a one.
    pub(crate) fn is(&self, such: impl Fn(&str) -> bool) -> bool {
        let name = |path: &Path| path.file_name().map(OsStr::to_string_lossy).is_some_and(|name| such(&name));
        name(&self.found) || name(&self.real)
    }

    /// Returns true if this user, and so an agent, may change it.
    fn is_ours(&self) -> bool {
        let may_write = |path: &Path| rustix::fs::access(path, Access::WRITE_OK).is_ok();
        may_write(&self.real) || self.real.parent().is_some_and(may_write)
    }

    /// Adds its content, if an agent may change it or it is a script, and the content of the files that an
    /// interpreter is given. What cannot be read is known by the error.
    pub(crate) fn put_content(&self, fields: &mut Fields, argv: &[String], cwd: &Path) {
        let read = |path: &Path, is_wanted| {
            content(path, is_wanted).map_or_else(|error| error.to_string(), Option::unwrap_or_default)
        };
        fields.put("content", read(&self.real, self.is_ours()).as_bytes());
        let words = argv.iter().skip(1).filter(|word| !word.is_empty() && self.is(is_interpreter));
        for (word, file) in words.map(|word| (word, cwd.join(word))).filter(|(_, file)| file.is_file()) {
            fields.put("file", word.as_bytes());
            fields.put("content", read(&file, true).as_bytes());
        }
    }
}

/// Fields of a digest, each with a length prefix, so that two different lists of fields never have the same
/// bytes.
pub(crate) struct Fields(Sha256);

impl Fields {
    pub(crate) fn new(format: &str) -> Self {
        let mut fields = Self(Sha256::new());
        fields.put("format", format.as_bytes());
        fields
    }

    pub(crate) fn put(&mut self, tag: &str, value: &[u8]) {
        for part in [tag.as_bytes(), value] {
            self.0.update((part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
    }

    pub(crate) fn list<'a>(&mut self, tag: &str, values: impl ExactSizeIterator<Item = &'a [u8]>) {
        self.put(tag, &(values.len() as u64).to_le_bytes());
        values.for_each(|value| self.put("-", value));
    }

    pub(crate) fn hex(self) -> String {
        hex(&self.0.finalize())
    }
}

/// Builds a trust subject and finds its program; for agents the manifest names the program.
pub(crate) fn draw(
    launch_spec: &LaunchSpec<'_>,
    own_path: Option<&str>,
) -> Result<(TrustSubject, Option<Program>), Failure> {
    let path = launch_spec.env.get("PATH").map(String::as_str).or(own_path);
    let (content, program) = find(launch_spec, path)?;
    let command = lines(launch_spec, program.as_ref()).join("\n");
    if command.len() > MAX_SHOWN {
        let why = format!("a command that a person has to judge has at most {} KiB", MAX_SHOWN / 1024);
        return Err(Failure::invalid("argv", why).hint("put it into a file of the project and start that"));
    }
    let frame = frame(launch_spec);
    let trust_subject = TrustSubject {
        digest: digest(&frame, &content),
        frame,
        content,
        command,
        preset: launch_spec.preset.map(|preset| preset.name.to_string()),
        agent: launch_spec.manifest.map(|manifest| manifest.name.clone()),
        project: launch_spec.project_dir.project.clone(),
        ..TrustSubject::default()
    };
    Ok((trust_subject, program))
}

/// Checks that a run that is about to be started is what was approved; returns what it is now if it differs.
/// It checks one moment: whatever changes afterwards runs as it is then. An agent that needed no approval
/// must have a built-in manifest.
pub(crate) fn changed(
    start: &StartRun,
    manifest: Option<&ForeignManifest>,
) -> Result<Option<TrustSubject>, Failure> {
    let record = &start.record;
    if start.content.is_none() && !(start.needs_built_in && manifest.is_some()) {
        return Ok(None);
    }
    let project_dir = ProjectDir::recorded(record.spec.project.clone());
    let is_declared = |name: &String| record.spec.environment.declared.contains(name);
    let env: BTreeMap<String, String> =
        record.spec.environment.env.clone().into_iter().filter(|(name, _)| is_declared(name)).collect();
    let permissions = record.agent.as_ref().and_then(|agent| agent.permissions);
    let launch_spec = LaunchSpec {
        project_dir: &project_dir,
        kind: record.spec.kind,
        argv: &record.spec.argv,
        cwd: &record.spec.cwd,
        env: &env,
        preset: None,
        auto_restart: record.spec.auto_restart,
        allows_on_timeout: permissions.is_some_and(PermissionWait::allows_on_timeout),
        manifest,
        from: None,
    };
    let path = start.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str());
    let (content, program) = find(&launch_spec, path)?;
    if start.content.as_ref() == Some(&content) {
        return Ok(None);
    }
    let known =
        record.approval.as_ref().map(|approval| approval.frame.clone()).filter(|frame| !frame.is_empty());
    let frame = known.unwrap_or_else(|| match start.needs_built_in {
        true => frame(&launch_spec),
        false => frame(&LaunchSpec { env: &record.spec.environment.env, ..launch_spec }),
    });
    let mut lines = lines(&launch_spec, program.as_ref());
    lines.extend(record.spec.preset.as_ref().map(|preset| format!("preset: {}", visible(preset))));
    if start.content.is_some() {
        lines.push("what it runs has changed since it was allowed".to_owned());
    }
    Ok(Some(TrustSubject {
        digest: digest(&frame, &content),
        frame,
        content,
        command: lines.join("\n"),
        preset: record.spec.preset.clone(),
        agent: manifest.map(|manifest| manifest.name.clone()),
        project: record.spec.project.clone(),
        ..TrustSubject::default()
    }))
}

/// Returns the digest over both parts, which is what a person trusts.
fn digest(frame: &str, content: &str) -> String {
    let mut fields = Fields::new("quarterdeck warrant 1");
    fields.put("frame", frame.as_bytes());
    fields.put("content", content.as_bytes());
    fields.hex()
}

/// Returns the part of a trust subject that comes from the request.
fn frame(launch_spec: &LaunchSpec<'_>) -> String {
    if launch_spec.is_manifest_alone() {
        let mut fields = Fields::new("quarterdeck manifest 1");
        fields.put("project", launch_spec.project_dir.project.key.as_bytes());
        fields.list("argv", launch_spec.argv.iter().map(String::as_bytes));
        return fields.hex();
    }
    let mut fields = Fields::new("quarterdeck frame 1");
    fields.put("project", launch_spec.project_dir.project.key.as_bytes());
    put_preset(&mut fields, launch_spec.preset);
    fields.put("kind", launch_spec.kind.to_string().as_bytes());
    fields.list("argv", launch_spec.argv.iter().map(String::as_bytes));
    fields.put("cwd", shared(launch_spec, Path::new(launch_spec.cwd)).as_encoded_bytes());
    for (name, value) in launch_spec.env {
        fields.put("env", name.as_bytes());
        fields.put("=", value.as_bytes());
    }
    fields.put("auto_restart", &[u8::from(launch_spec.auto_restart)]);
    // The tag is part of every digest that a person has trusted: it keeps its first name.
    fields.put("grants_leave", &[u8::from(launch_spec.allows_on_timeout)]);
    if let Some(from) = launch_spec.from {
        fields.put("from", from.project.key.as_bytes());
    }
    fields.hex()
}

/// Returns what a path is called in every worktree of the project: what a person trusts in one holds in all.
fn shared(launch_spec: &LaunchSpec<'_>, path: &Path) -> OsString {
    launch_spec.project_dir.shared(path).into_os_string()
}

fn put_preset(fields: &mut Fields, preset: Option<&Preset>) {
    let Some(preset) = preset else { return fields.put("preset", b"") };
    fields.put("preset", preset.name.as_str().as_bytes());
    fields.put("origin", preset.origin.word().as_bytes());
    fields.put("text", &preset.text);
}

/// Returns the part of a trust subject that is on the disk, and the program.
fn find(launch_spec: &LaunchSpec<'_>, path: Option<&str>) -> Result<(String, Option<Program>), Failure> {
    let mut fields = Fields::new("quarterdeck content 1");
    let cwd = project::real("cwd", Path::new(launch_spec.cwd))?;
    if !launch_spec.is_manifest_alone() {
        fields.put("cwd", shared(launch_spec, Path::new(&cwd)).as_encoded_bytes());
    }
    let word = launch_spec.argv.first().map_or("", String::as_str);
    let program = match launch_spec.kind {
        Kind::Agent => {
            put_manifest(&mut fields, launch_spec, path)?;
            None
        }
        Kind::Command | Kind::Terminal => {
            Some(Program::find(word, path, Path::new(launch_spec.cwd)).ok_or_else(|| missing(word))?)
        }
    };
    if let Some(program) = &program {
        put_program(&mut fields, launch_spec, launch_spec.argv, program)?;
    }
    Ok((fields.hex(), program))
}

/// Adds a manifest that is not built in: every text that it was merged from, with the built-in one below it,
/// and its program. A missing program is reported at the start.
fn put_manifest(
    fields: &mut Fields,
    launch_spec: &LaunchSpec<'_>,
    path: Option<&str>,
) -> Result<(), Failure> {
    let Some(manifest) = launch_spec.manifest else { return Ok(()) };
    for (origin, text) in &manifest.layers {
        fields.put("origin", origin.as_bytes());
        fields.put("manifest", text.as_bytes());
    }
    let word = manifest.argv.first().map_or("", String::as_str);
    let Some(program) = Program::find(word, path, Path::new(launch_spec.cwd)) else {
        fields.put("program", b"");
        return Ok(());
    };
    put_program(fields, launch_spec, &manifest.argv, &program)
}

/// Adds the program, its content where an agent may write it or where it is a script, and the content of
/// files that are passed to an interpreter.
fn put_program(
    fields: &mut Fields,
    launch_spec: &LaunchSpec<'_>,
    argv: &[String],
    program: &Program,
) -> Result<(), Failure> {
    let unread = |path: &Path, error: &io::Error| {
        let path = path.display().to_string();
        Failure::new(ErrorCode::SpawnFailed, format!("{} cannot be read: {error}", Printable(&path)))
            .cause(Cause::Permission)
    };
    fields.put("program", shared(launch_spec, &program.real).as_encoded_bytes());
    let is_open = program.is_ours() || program.is_inside(launch_spec.project_dir);
    let content = content(&program.real, is_open).map_err(|error| unread(&program.real, &error))?;
    fields.put("content", content.unwrap_or_default().as_bytes());
    if !program.is(is_interpreter) {
        return Ok(());
    }
    for word in argv.iter().skip(1) {
        let file = Path::new(launch_spec.cwd).join(word);
        if !word.is_empty() && file.is_file() {
            let content = self::content(&file, true).map_err(|error| unread(&file, &error))?;
            let file = file.canonicalize().unwrap_or(file);
            fields.put("file", shared(launch_spec, &file).as_encoded_bytes());
            fields.put("content", content.unwrap_or_default().as_bytes());
        }
    }
    Ok(())
}

/// Returns SHA-256 over a file, if it is wanted or the file is a script. A program that may be run but not
/// read is no script.
fn content(path: &Path, is_wanted: bool) -> io::Result<Option<String>> {
    // Non-blocking: a pipe in place of the file must not make us wait for its writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened: OwnedFd = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(opened) => opened,
        Err(rustix::io::Errno::ACCESS) if !is_wanted => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let found = rustix::fs::fstat(&opened)?;
    let is_plain = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    let size = u64::try_from(found.st_size).unwrap_or(u64::MAX);
    if !is_plain || size > MAX_PROGRAM {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no plain file of at most 1 GiB"));
    }
    let mut file = File::from(opened);
    let mut first = Vec::new();
    Read::by_ref(&mut file).take(SCRIPT.len() as u64).read_to_end(&mut first)?;
    if !is_wanted && first != SCRIPT {
        return Ok(None);
    }
    let mut hash = Sha256::new_with_prefix(&first);
    let mut buffer = vec![0; 64 * 1024];
    let mut rest = file.take(MAX_PROGRAM);
    loop {
        match rest.read(&mut buffer)? {
            0 => return Ok(Some(hex(&hash.finalize()))),
            count => hash.update(buffer.get(..count).unwrap_or_default()),
        }
    }
}

fn missing(word: &str) -> Failure {
    let message = format!("program not found: {}", Printable(word));
    Failure::new(ErrorCode::SpawnFailed, message)
        .cause(Cause::NotFound)
        .hint("check its name, give its full path, or declare PATH")
}

/// Returns the whole command for a person, a line each for what else matters.
fn lines(launch_spec: &LaunchSpec<'_>, program: Option<&Program>) -> Vec<String> {
    let mut lines = vec![quote_words(launch_spec.argv)];
    lines.extend(launch_spec.manifest.into_iter().flat_map(manifest_lines));
    if let Some(preset) = launch_spec.preset {
        let file = preset.file.display().to_string();
        lines.push(format!("preset: {} of {}", preset.name, visible(&file)));
    }
    lines.push(format!("kind: {}", launch_spec.kind));
    if !launch_spec.is_manifest_alone() {
        lines.push(format!("in: {}", visible(launch_spec.cwd)));
    }
    lines.extend(
        launch_spec.from.map(|from| format!("asked for from the project: {}", visible(&from.project.path))),
    );
    if let Some(program) = program {
        lines.push(format!("program: {}", visible(&program.real.display().to_string())));
    }
    lines.extend(
        launch_spec.env.iter().map(|(name, value)| format!("with: {}={}", visible(name), visible(value))),
    );
    if launch_spec.auto_restart {
        lines.push("started again when it fails".to_owned());
    }
    if launch_spec.allows_on_timeout {
        lines.push("its requests for permission are granted when no person answers in time".to_owned());
    }
    lines
}

/// Returns what a person reads of a manifest: its command, and its files, whole where they are not too long.
fn manifest_lines(manifest: &ForeignManifest) -> Vec<String> {
    let mut lines = vec![format!("runs: {}", quote_words(&manifest.argv))];
    for (origin, text) in manifest.files() {
        let sum = hex(&Sha256::digest(text.as_bytes()));
        lines.push(format!("manifest: {} (SHA-256 {sum})", visible(origin)));
        if text.len() <= MAX_MANIFEST_SHOWN {
            lines.extend(text.lines().map(|line| format!("  {}", Printable(line))));
        }
    }
    lines
}

/// Words as a person reads them, with their ends and every unusual character visible.
pub(crate) fn quote_words(words: &[String]) -> String {
    words.iter().map(|word| visible(word)).collect::<Vec<_>>().join(" ")
}

/// Returns a text with nothing hidden: in quotes, with every character beyond plain ASCII as its number,
/// unless all its characters are harmless.
fn visible(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("\"{}\"", text.escape_default())
    }
}

#[cfg(test)]
mod tests;
