//! A small disk, for tests of what happens when it is full.

use std::path::PathBuf;
use std::process::Command;

/// A mounted file system of 512 KiB, unmounted with the value.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Makes the directory and mounts the disk there; `None` when this user may not mount.
    ///
    /// # Panics
    /// When the directory cannot be made.
    #[must_use]
    pub fn mount(at: PathBuf) -> Option<Self> {
        std::fs::create_dir(&at).expect("a directory can be made");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=512k,mode=0700", "qdt"]).arg(&at).output();
        mount.is_ok_and(|mount| mount.status.success()).then_some(Self(at))
    }

    /// Fills the disk to its last byte.
    ///
    /// # Panics
    /// When the disk accepts more than its size.
    pub fn fill(&self) {
        drop(std::fs::write(self.filler(), vec![b'x'; 1 << 20]).expect_err("the disk has less room"));
    }

    /// Frees what [`SmallDisk::fill`] took.
    ///
    /// # Panics
    /// When the disk was not filled.
    pub fn free(&self) {
        std::fs::remove_file(self.filler()).expect("it was filled");
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("--lazy").arg(&self.0).output());
    }
}
