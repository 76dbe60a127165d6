//! Other programs of the person: the editor that has the terminal for a while, what opens links, what takes copies.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::{DeckLoop, LeftDeck};
use crate::message::{EditFor, Message};
use crate::model::overlay::OpenPad;

/// Opens links where the person has named nothing else.
const OPENER: &str = "xdg-open";
/// The editor where the person has named none.
const EDITOR: &str = "vi";
/// How many files for the editor there may be; those with texts that were not saved stay.
const DRAFTS_MAX: u32 = 1_000;
/// Most bytes that are taken back from the editor.
const EDITED_MAX: u64 = 1 << 20; // 1 MiB

/// A program that was started beside the deck.
#[derive(Debug)]
pub(super) struct SideProgram {
    pub(super) child: Child,
    /// What the person is told when it fails.
    pub(super) what: &'static str,
}

impl DeckLoop<'_> {
    /// Tells the person about programs that have failed.
    pub(super) fn reap_programs(&mut self) {
        let mut failed = Vec::new();
        self.side_programs.retain_mut(|program| match program.child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) if status.success() => false,
            _ => {
                failed.push(program.what);
                false
            }
        });
        failed.into_iter().for_each(|what| self.update_model(Message::Copied(what.to_owned())));
    }

    /// Hands a link to the desktop; where there is none, to the clipboard.
    pub(super) fn open_link(&mut self, link: &str) {
        let own = self.model.looks.opener.clone();
        let command = if own.is_empty() { vec![OPENER.to_owned()] } else { own.clone() };
        // At the other end of a network there is no desktop, unless the person has named a way to one.
        let started = if own.is_empty() && self.parser.is_remote {
            Err(())
        } else {
            open(&command, link).map_err(drop)
        };
        match started {
            Ok(child) => self.side_programs.push(SideProgram { child, what: "the link could not be opened" }),
            Err(()) => {
                self.copy(link);
                self.update_model(Message::Copied("no program opens links here; it was copied".to_owned()));
            }
        }
    }

    /// Lends the terminal to the person's editor with a text. What the person has made of it stays in its file until it is
    /// where it was meant to go.
    pub(super) fn edit(&mut self, what: EditFor, text: &str) {
        let draft = match Draft::of(&what, text) {
            Ok(draft) => draft,
            Err(error) => return self.model.alert(format!("no file for the editor: {error}"), None),
        };
        let has_run = self.run_editor(&[draft.path.clone().into_os_string()]);
        let read = draft.text();
        match (read, what) {
            (Ok(edited), _) if edited == text && draft.is_new && !has_run => draft.remove(),
            (Ok(edited), EditFor::Pad(pad)) if has_run => {
                let pad = OpenPad { draft: Some(draft.path), ..pad };
                self.update_model(Message::Edited(EditFor::Pad(pad), edited));
            }
            // The deck ends, and with it the line or the form that waits for the text.
            (Ok(edited), what) if has_run && self.left.is_none() => {
                draft.remove();
                self.update_model(Message::Edited(what, edited));
            }
            (Ok(_), what) => self.keep_draft(&what, draft, "it was not taken over"),
            (Err(error), what) => self.keep_draft(&what, draft, &error.to_string()),
        }
    }

    /// Tells the person where a text is that was not taken over.
    fn keep_draft(&mut self, what: &EditFor, draft: Draft, why: &str) {
        let name = if let EditFor::Pad(pad) = what { pad.name.as_str() } else { "" };
        let again = if name.is_empty() { "" } else { ", and E opens it again" };
        let file = draft.path.to_string_lossy();
        self.model.alert(format!("your text is in {}{again}: {why}", proto::Printable(&file)), None);
        self.model.daemon.unsent.keep_draft(name, draft.path);
    }

    /// Lends the terminal to the person's editor with a file, at a line.
    pub(super) fn edit_file(&mut self, what: EditFor, path: &Path, line: u32) {
        if self.run_editor(&[format!("+{line}").into(), path.as_os_str().to_owned()]) {
            self.update_model(Message::Edited(what, String::new()));
        }
    }

    /// The editor has the whole terminal until it ends; the processes go on. Returns true if it ran.
    fn run_editor(&mut self, arguments: &[std::ffi::OsString]) -> bool {
        self.panes.clear();
        self.host.lend();
        let named = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| std::env::var(name).ok());
        let editor = named.filter(|editor| !editor.trim().is_empty()).chain([EDITOR.to_owned()]).next();
        let script = format!("exec {} \"$@\"", editor.unwrap_or_default());
        let started = Command::new("sh").args(["-c", &script, "qd"]).args(arguments).spawn();
        let ended = started.and_then(|mut child| wait_editor(&mut child));
        if let Err(error) = &ended {
            self.model.alert(format!("the editor could not be run: {error}"), None);
        }
        // Keys that the editor's terminal made signals of were not meant for the deck.
        self.signals.take().into_iter().for_each(|signal| self.heed_after_editor(signal));
        if self.host.take_back().is_err() {
            self.left = Some(LeftDeck::HungUp);
        }
        self.take_size();
        ended.is_ok()
    }

    fn heed_after_editor(&mut self, signal: i32) {
        if matches!(signal, signal_hook::consts::SIGTERM | signal_hook::consts::SIGHUP) {
            self.left = Some(LeftDeck::Signalled(signal));
        }
    }
}

fn open(command: &[String], link: &str) -> io::Result<Child> {
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::other("the command has no program"))?;
    let mut command = Command::new(program);
    command.args(arguments).arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Waits for the editor. One that stops itself is continued: there is no shell here that could bring it back.
fn wait_editor(child: &mut Child) -> io::Result<()> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("it has no process"))?;
    loop {
        match waitpid(Some(pid), WaitOptions::UNTRACED) {
            Ok(Some((_, status))) if status.stopped() => kill_process(pid, Signal::CONT)?,
            // A shell that finds no program ends so.
            Ok(Some((_, status))) if matches!(status.exit_status(), Some(126 | 127)) => {
                return Err(io::Error::other("there is no such program; VISUAL or EDITOR names another"));
            }
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Removes a file whose text is where it was meant to go.
pub(super) fn remove_draft(path: &Path) {
    let _removed = std::fs::remove_file(path);
}

/// A file for the editor that only the person can read.
struct Draft {
    path: PathBuf,
    /// It was made for this edit.
    is_new: bool,
}

impl Draft {
    /// The file that was kept of an earlier edit, or a new one with this text.
    fn of(what: &EditFor, text: &str) -> io::Result<Self> {
        match what {
            EditFor::Pad(OpenPad { draft: Some(path), .. }) if path.is_file() => {
                Ok(Self { path: path.clone(), is_new: false })
            }
            _ => Self::new(text),
        }
    }

    fn new(text: &str) -> io::Result<Self> {
        let directory = std::env::temp_dir();
        let mut number = 0;
        loop {
            let path = directory.join(format!("qd-{}-{number}.txt", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(mut file) => {
                    file.write_all(text.as_bytes())?;
                    return Ok(Self { path, is_new: true });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < DRAFTS_MAX => {
                    number += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// What the person has made of it, if all of it can be taken over as it is.
    fn text(&self) -> io::Result<String> {
        let file = std::fs::File::open(&self.path)?;
        let mut bytes = Vec::new();
        file.take(EDITED_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > EDITED_MAX {
            return Err(io::Error::other("it has more than 1 MiB"));
        }
        String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8"))
    }

    fn remove(self) {
        remove_draft(&self.path);
    }
}
