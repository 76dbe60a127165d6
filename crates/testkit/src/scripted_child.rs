//! A child that prints exactly what the test orders, when the test orders it. So the test knows every byte
//! that the child has produced.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::child;

/// The test's end of one scripted child.
#[derive(Debug)]
pub struct ScriptedChild {
    directory: PathBuf,
    orders: File,
    next: u32,
    /// How much was ordered so far: the offset at which the child will stop.
    pub produced: u64,
}

impl ScriptedChild {
    /// Prepares orders in a new directory `name` below `root`.
    #[must_use]
    pub fn new(root: &Path, name: &str) -> Self {
        let directory = root.join(name);
        std::fs::create_dir(&directory).expect("a directory can be made");
        let orders = directory.join("orders");
        mknodat(CWD, &orders, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe can be made");
        // Both ends are open, so that neither opening nor writing waits for the child, and the child survives
        // a pause.
        let orders = OpenOptions::new().read(true).write(true).open(orders).expect("a pipe can be opened");
        Self { directory, orders, next: 0, produced: 0 }
    }

    /// Returns what the child runs. It never reads its terminal, which is raw: bytes come out as they went
    /// in.
    #[must_use]
    pub fn argv(&self) -> Vec<String> {
        let directory = self.directory.display();
        child::shell(&format!(
            "stty raw -echo; exec 3<>'{directory}/orders'; while read -r order <&3; do case $order in \
             end) exit 7;; *) cat \"$order\";; esac; done"
        ))
    }

    /// Orders these bytes.
    pub fn tell(&mut self, bytes: &[u8]) {
        let path = self.directory.join(self.next.to_string());
        self.next += 1;
        std::fs::write(&path, bytes).expect("a file can be written");
        self.tell_file(&path, bytes.len() as u64);
    }

    /// Orders the bytes of a file with this length.
    pub fn tell_file(&mut self, path: &Path, length: u64) {
        self.produced += length;
        writeln!(self.orders, "{}", path.display()).expect("the pipe has room for an order");
    }

    /// Orders the child's end, with code 7, after everything else.
    pub fn end(&mut self) {
        self.orders.write_all(b"end\n").expect("the pipe has room for an order");
    }
}
