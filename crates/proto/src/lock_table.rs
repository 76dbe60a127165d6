//! Finds in the kernel's table of file locks which processes hold a lock, for daemon and clients. It parses a text
//! and does not touch the disk.

/// A file as the kernel's table names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockedFile {
    /// The major number of its device.
    pub major: u32,
    /// The minor number of its device.
    pub minor: u32,
    /// Its inode.
    pub inode: u64,
}

/// What the kernel says about an open file and all locks.
#[derive(Debug)]
pub struct LockTexts<'a> {
    /// `/proc/locks`.
    pub table: &'a str,
    /// `/proc/self/fdinfo/FD` of the open file; empty if it cannot be read.
    pub fdinfo: &'a str,
    /// `/proc/self/mountinfo`; empty if it cannot be read.
    pub mountinfo: &'a str,
}

/// Returns the pid that holds an exclusive `flock` of a file. `by_stat` is the file as `stat` names it; the table may name
/// it by the device of its mount instead.
#[must_use]
pub fn holder_of(texts: &LockTexts<'_>, by_stat: LockedFile) -> Option<i32> {
    let by_mount = device_of_mount(texts.fdinfo, texts.mountinfo).map(|(major, minor)| LockedFile {
        major,
        minor,
        ..by_stat
    });
    let names = [Some(by_stat), by_mount];
    names.into_iter().flatten().find_map(|name| exclusive_holders(texts.table, name).next())
}

/// Returns the pids that hold an exclusive `flock` of this file, according to the text of `/proc/locks`. Those that
/// only wait for it are left out.
fn exclusive_holders(table: &str, file: LockedFile) -> impl Iterator<Item = i32> + '_ {
    table.lines().filter_map(move |line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let is_exclusive = words.next() == Some("FLOCK") && words.nth(1) == Some("WRITE");
        let pid = words.next()?.parse().ok()?;
        (is_exclusive && parse_file(words.next()?)? == file).then_some(pid)
    })
}

/// Returns the device of the mount that an open file is on, from the texts of its `/proc/self/fdinfo/FD` and of
/// `/proc/self/mountinfo`. Some file systems (Btrfs) show another device for each subvolume when they are asked about a
/// file; the table of locks has the mount's.
fn device_of_mount(fdinfo: &str, mountinfo: &str) -> Option<(u32, u32)> {
    let mount = fdinfo.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim();
    let device = mountinfo.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next() == Some(mount)).then(|| words.nth(1))?
    })?;
    let (major, minor) = device.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Parses `MAJOR:MINOR:INODE`; the first two are hexadecimal.
fn parse_file(text: &str) -> Option<LockedFile> {
    let mut parts = text.split(':');
    let mut device = || u32::from_str_radix(parts.next()?, 16).ok();
    let (major, minor) = (device()?, device()?);
    Some(LockedFile { major, minor, inode: parts.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(major: u32, minor: u32, inode: u64) -> LockedFile {
        LockedFile { major, minor, inode }
    }

    #[test]
    fn m1_the_holder_of_a_lock_is_found_and_who_waits_or_shares_it_is_not() {
        let table = "1: FLOCK  ADVISORY  WRITE 8710 fe:0a:13074433 0 EOF\n\
                     1: -> FLOCK  ADVISORY  WRITE 11 fe:0a:13074433 0 EOF\n\
                     2: FLOCK  ADVISORY  READ 12 fe:0a:13074433 0 EOF\n\
                     3: POSIX  ADVISORY  WRITE 13 fe:0a:13074433 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 14 fe:0b:13074433 0 EOF\n\
                     5: FLOCK  ADVISORY  WRITE 15 <none>:0 0 EOF\n\
                     6: FLOCK\n";
        let holders = |locked| exclusive_holders(table, locked).collect::<Vec<_>>();
        assert_eq!(holders(file(0xfe, 0x0a, 13_074_433)), [8710]);
        assert_eq!(holders(file(0xfe, 0x0b, 13_074_433)), [14]);
        assert_eq!(holders(file(0xfe, 0x0a, 1)), [] as [i32; 0]);
    }

    #[test]
    fn m1_a_lock_is_found_by_the_files_own_device_and_by_that_of_its_mount() {
        let table = "1: FLOCK  ADVISORY  WRITE 8710 00:1b:256 0 EOF\n";
        let mountinfo = "29 1 0:27 /@ / rw - btrfs /dev/sda1 rw\n";
        let holder = |fdinfo, by_stat| holder_of(&LockTexts { table, fdinfo, mountinfo }, by_stat);
        assert_eq!(holder("", file(0, 0x1b, 256)), Some(8710));
        assert_eq!(holder("mnt_id:\t29\n", file(0, 0x30, 256)), Some(8710));
        assert_eq!(holder("", file(0, 0x30, 256)), None);
    }

    #[test]
    fn m1_the_device_of_a_mount_is_found_by_the_number_of_the_mount() {
        let mounts =
            "29 1 0:27 /@ / rw - btrfs /dev/sda1 rw\n30 29 8:17 / /home rw - ext4 /dev/sdb1 rw\n31\n";
        let device = |info: &str| device_of_mount(info, mounts);
        assert_eq!(device("pos:\t0\nmnt_id:\t29\nino:\t256\n"), Some((0, 27)));
        assert_eq!(device("mnt_id:\t30\n"), Some((8, 17)));
        assert_eq!([device("mnt_id:\t31\n"), device("mnt_id:\t2\n"), device("")], [None; 3]);
    }
}
