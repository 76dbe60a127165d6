//! Reads the growing end of a file once, and notices when the file was replaced or truncated. It reads a
//! limited amount at a time, and only regular files: the path may come from an agent.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use agents::transcript::location::FileLocation;
use rustix::fs::{Mode, OFlags};

/// The most entries of one directory that are examined while a file is searched.
const MOST_ENTRIES: usize = 20_000;

/// Where to start reading a file that already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// Its first byte.
    Beginning,
    /// This many bytes before its end, or its beginning when it is shorter.
    NearEnd(u64),
}

/// What was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Grown {
    /// The bytes after those that were read before.
    pub(crate) bytes: Vec<u8>,
    /// They do not continue what was read before: the file is new, was replaced, or was cut short.
    pub(crate) jumped: Option<Jump>,
    /// There is more to read at once.
    pub(crate) has_more: bool,
}

/// Where reading started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Jump {
    /// At the first byte.
    ToBeginning,
    /// Somewhere behind it.
    ToMiddle,
}

/// Reads a file as it grows. One that does not exist at first is read from its beginning when it appears.
#[derive(Debug)]
pub(crate) struct FileTail {
    path: PathBuf,
    from: From,
    open: Option<Opened>,
}

#[derive(Debug)]
struct Opened {
    file: File,
    identity: (u64, u64),
    at: u64,
}

impl FileTail {
    /// Reads the file at this path, which need not be there yet.
    pub(crate) fn new(path: PathBuf, from: From) -> Self {
        Self { path, from, open: None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads at most this many bytes of what is new. A file that is not there has nothing new.
    ///
    /// # Errors
    /// It is there and cannot be read, or is no file.
    pub(crate) fn read(&mut self, most: usize) -> io::Result<Grown> {
        let (mut opened, mut jumped) = match self.opened() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A file that appears later is new from its first byte.
                self.from = From::Beginning;
                return Ok(Grown::default());
            }
            Err(error) => return Err(error),
        };
        let size = opened.file.metadata()?.len();
        if size < opened.at {
            (opened.at, jumped) = (0, Some(Jump::ToBeginning));
        }
        let bytes = opened.read(most);
        let has_more = opened.at < size;
        self.open = Some(opened);
        Ok(Grown { bytes: bytes?, jumped, has_more })
    }

    /// Returns the file as it is now, with the position read so far.
    fn opened(&mut self) -> io::Result<(Opened, Option<Jump>)> {
        if let Some(opened) = self.open.take() {
            let now = std::fs::metadata(&self.path)?;
            if (now.dev(), now.ino()) == opened.identity {
                return Ok((opened, None));
            }
            // Another file replaced it: it is new from its first byte.
            self.from = From::Beginning;
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(rustix::fs::open(&self.path, flags, Mode::empty())?);
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
        }
        let at = match self.from {
            From::Beginning => 0,
            From::NearEnd(bytes) => about.len().saturating_sub(bytes),
        };
        let jump = if at == 0 { Jump::ToBeginning } else { Jump::ToMiddle };
        Ok((Opened { file, identity: (about.dev(), about.ino()), at }, Some(jump)))
    }
}

impl Opened {
    fn read(&mut self, most: usize) -> io::Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(self.at))?;
        let mut bytes = Vec::new();
        let limit = u64::try_from(most).unwrap_or(u64::MAX);
        let read = (&mut self.file).take(limit).read_to_end(&mut bytes)?;
        self.at = self.at.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        Ok(bytes)
    }
}

/// Returns the newest file that matches a location.
pub(crate) fn find(file_location: &FileLocation) -> Option<PathBuf> {
    let mut found = vec![file_location.root.clone()];
    for pattern in file_location.below.split('/') {
        found = found.iter().flat_map(|directory| matching(directory, pattern)).collect();
    }
    let dated = found.into_iter().filter_map(|path| {
        let about = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
        Some((about.modified().unwrap_or(SystemTime::UNIX_EPOCH), path))
    });
    dated.max().map(|(_, path)| path)
}

fn matching(directory: &Path, pattern: &str) -> Vec<PathBuf> {
    if !pattern.contains('*') {
        return vec![directory.join(pattern)];
    }
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let named = entries
        .take(MOST_ENTRIES)
        .flatten()
        .filter(|entry| fits(pattern, &entry.file_name().to_string_lossy()));
    named.map(|entry| entry.path()).collect()
}

/// Returns true if a name matches a pattern in which `*` stands for any part.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut middles: Vec<&str> = rest.split('*').collect();
    let end = middles.pop().unwrap_or_default();
    for middle in middles {
        let Some((_, behind)) = name.split_once(middle) else { return false };
        name = behind;
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn append(path: &Path, bytes: &[u8]) {
        File::options().append(true).create(true).open(path).unwrap().write_all(bytes).unwrap();
    }

    fn grown(tail: &mut FileTail) -> (Vec<u8>, Option<Jump>) {
        let grown = tail.read(1 << 20).unwrap();
        (grown.bytes, grown.jumped)
    }

    #[test]
    fn only_what_is_new_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t");
        let mut tail = FileTail::new(path.clone(), From::Beginning);
        assert_eq!(grown(&mut tail), (vec![], None), "it is not there yet");
        append(&path, b"one");
        assert_eq!(grown(&mut tail), (b"one".to_vec(), Some(Jump::ToBeginning)));
        assert_eq!(grown(&mut tail), (vec![], None));
        append(&path, b"two");
        assert_eq!(grown(&mut tail), (b"two".to_vec(), None));
    }

    #[test]
    fn a_huge_file_is_never_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t");
        let huge = 300 * 1024 * 1024;
        File::create(&path).unwrap().set_len(huge).unwrap();
        append(&path, b"\nthe end\n");
        let mut tail = FileTail::new(path.clone(), From::NearEnd(64 * 1024));
        let mut read = 0;
        let (bytes, jumped) = grown(&mut tail);
        read += bytes.len();
        assert_eq!(jumped, Some(Jump::ToMiddle));
        assert!(bytes.ends_with(b"the end\n"));
        for _ in 0..100 {
            append(&path, b"more\n");
            read += grown(&mut tail).0.len();
        }
        assert_eq!(read, 64 * 1024 + 500, "of {huge} bytes");
    }

    #[test]
    fn a_piece_is_no_larger_than_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t");
        append(&path, &[b'x'; 1000]);
        let mut tail = FileTail::new(path, From::Beginning);
        let sizes: Vec<(usize, bool)> = (0..4)
            .map(|_| tail.read(400).unwrap())
            .map(|grown| (grown.bytes.len(), grown.has_more))
            .collect();
        assert_eq!(sizes, [(400, true), (400, true), (200, false), (0, false)]);
    }

    #[test]
    fn a_file_that_was_cut_or_replaced_is_read_from_its_beginning() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t");
        append(&path, b"a long beginning");
        let mut tail = FileTail::new(path.clone(), From::NearEnd(4));
        assert_eq!(grown(&mut tail), (b"ning".to_vec(), Some(Jump::ToMiddle)));
        File::create(&path).unwrap().write_all(b"cut").unwrap();
        assert_eq!(grown(&mut tail), (b"cut".to_vec(), Some(Jump::ToBeginning)));
        std::fs::rename(&path, directory.path().join("old")).unwrap();
        assert_eq!(grown(&mut tail), (vec![], None));
        append(&path, b"another file, longer than the first");
        assert_eq!(
            grown(&mut tail),
            (b"another file, longer than the first".to_vec(), Some(Jump::ToBeginning))
        );
    }

    #[test]
    fn what_is_no_file_is_refused_without_waiting_for_it() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        assert!(FileTail::new(fifo, From::Beginning).read(10).is_err());
        assert!(FileTail::new(directory.path().to_owned(), From::Beginning).read(10).is_err());
    }

    #[test]
    fn the_newest_of_the_fitting_files_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_owned();
        let file_location = FileLocation { root: root.clone(), below: "s/*/r-*-ab.jsonl".into() };
        assert_eq!(find(&file_location), None);
        for (day, name) in
            [("1", "r-x-ab.jsonl"), ("2", "r-y-ab.jsonl"), ("2", "r-y-cd.jsonl"), ("3", "other")]
        {
            std::fs::create_dir_all(root.join("s").join(day)).unwrap();
            append(&root.join("s").join(day).join(name), b"x");
        }
        let old = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000);
        File::options().append(true).open(root.join("s/1/r-x-ab.jsonl")).unwrap().set_modified(old).unwrap();
        assert_eq!(find(&file_location), Some(root.join("s/2/r-y-ab.jsonl")));
        assert_eq!(
            find(&FileLocation { root: root.clone(), below: "s/3/other".into() }),
            Some(root.join("s/3/other"))
        );
    }

    #[test]
    fn a_star_is_any_part_of_a_name() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("a*", "ab", true),
            ("a*c", "abc", true),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c", false),
            ("ab*ba", "aba", false),
            ("a", "ab", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
