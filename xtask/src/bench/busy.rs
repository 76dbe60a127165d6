//! Starts children that print at a known speed beside what is measured, and waits until they do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Lab;
use super::contender::Contender;
use super::pty::Size;
use super::stalled;
use super::subprocess::Subprocess;

/// How many children print, how many bytes a second each, and how long they may take to reach that speed.
pub(crate) struct Load {
    pub(crate) number: usize,
    pub(crate) rate: usize,
    pub(crate) timeout: Duration,
}

/// One of them; it ends when it is dropped.
pub(crate) struct Busy {
    pub(crate) name: String,
    count: PathBuf,
    _errand: Subprocess,
}

impl Busy {
    /// Starts them; they are at their speed when each has printed for a second.
    pub(crate) fn start(
        lab: &Lab,
        contender: &Contender,
        file: &Path,
        load: &Load,
    ) -> Result<Vec<Self>, String> {
        let start = || {
            let name = lab.fresh_name();
            let count = lab.directory.join(format!("{name}.count"));
            let subprocess = Subprocess::paced(&lab.directory, &name, file, load.rate, &count)?;
            contender.create(&name, Size::NORMAL, &subprocess.argv())?;
            subprocess.start.open();
            Ok(Self { name, count, _errand: subprocess })
        };
        let all = (0..load.number).map(|_| start()).collect::<Result<Vec<_>, String>>()?;
        all.iter().try_for_each(|busy| stalled::until_counted(&busy.count, 1.0, load.timeout))?;
        Ok(all)
    }

    /// Returns how many seconds' worth of bytes it has written.
    pub(crate) fn seconds(&self) -> f64 {
        stalled::rounds(&self.count)
    }
}
