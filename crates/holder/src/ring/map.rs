//! The memory of a ring: one control area and the data twice in a row, in one reservation that is unmapped as
//! one. Nothing that it hands out outlives the mapping.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use super::{CONTROL_BYTES, Control};

/// Who maps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// The holder: data is writable.
    Writer,
    /// The daemon: data is read-only.
    Reader,
}

/// A mapped ring.
pub(super) struct Map {
    base: NonNull<u8>,
    capacity: usize,
}

// SAFETY: the mapping is plain memory that is valid on every thread until drop; the control area is atomics, and the
// data is reached only through raw pointers whose users state their own ordering.
#[expect(unsafe_code, reason = "a raw pointer is not Send by default; the mapping it owns is")]
unsafe impl Send for Map {}

// SAFETY: as above; shared access never forms a reference to the data.
#[expect(unsafe_code, reason = "a raw pointer is not Sync by default; the mapping it owns is")]
unsafe impl Sync for Map {}

impl Map {
    /// Maps a ring file whose length has been checked to be `CONTROL_BYTES + capacity`.
    pub(super) fn new(file: BorrowedFd<'_>, capacity: usize, access: Access) -> io::Result<Map> {
        let base = reserve(CONTROL_BYTES + 2 * capacity)?;
        // From here on, drop unmaps the reservation and whatever lies in it.
        let map = Map { base, capacity };
        let data = match access {
            Access::Writer => ProtFlags::READ | ProtFlags::WRITE,
            Access::Reader => ProtFlags::READ,
        };
        let offset = CONTROL_BYTES as u64;
        map.place(
            file,
            Area { at: 0, length: CONTROL_BYTES, offset: 0 },
            ProtFlags::READ | ProtFlags::WRITE,
        )?;
        map.place(file, Area { at: CONTROL_BYTES, length: capacity, offset }, data)?;
        map.place(file, Area { at: CONTROL_BYTES + capacity, length: capacity, offset }, data)?;
        Ok(map)
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    #[expect(unsafe_code, reason = "shared memory becomes typed here and nowhere else")]
    pub(super) fn control(&self) -> &Control {
        // SAFETY: the control area is mapped read-write for the life of `self`, page-aligned and longer than `Control`,
        // which consists of atomics only: any bit pattern is valid and concurrent change is allowed.
        unsafe { self.base.cast::<Control>().as_ref() }
    }

    /// Address of the byte with this absolute offset; at least `capacity` bytes from there are mapped.
    #[expect(unsafe_code, reason = "pointer arithmetic inside the mapping")]
    pub(super) fn at(&self, offset: u64) -> NonNull<u8> {
        let index = (offset % self.capacity as u64) as usize;
        // SAFETY: index < capacity and the mapping holds CONTROL_BYTES + 2 * capacity bytes.
        unsafe { self.base.add(CONTROL_BYTES + index) }
    }

    #[expect(unsafe_code, reason = "maps the ring file over our own reservation")]
    fn place(&self, file: BorrowedFd<'_>, area: Area, protection: ProtFlags) -> io::Result<()> {
        // SAFETY: the target range lies inside our own reservation, so MAP_FIXED replaces nothing else. The file is
        // sealed against shrinking, so no later access can fault.
        unsafe {
            let target = self.base.as_ptr().add(area.at).cast();
            mmap(target, area.length, protection, MapFlags::SHARED | MapFlags::FIXED, file, area.offset)?;
        }
        Ok(())
    }
}

impl Drop for Map {
    #[expect(unsafe_code, reason = "gives the reservation back")]
    fn drop(&mut self) {
        // SAFETY: exactly the range that `reserve` returned; every reference into it borrows `self`.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), CONTROL_BYTES + 2 * self.capacity) };
        debug_assert!(unmapped.is_ok(), "a mapping we own can be unmapped");
    }
}

struct Area {
    at: usize,
    length: usize,
    offset: u64,
}

#[expect(unsafe_code, reason = "address space for the control area and two copies of the data")]
fn reserve(length: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches no existing memory.
    let base = unsafe {
        mmap_anonymous(
            std::ptr::null_mut(),
            length,
            ProtFlags::empty(),
            MapFlags::PRIVATE | MapFlags::NORESERVE,
        )?
    };
    NonNull::new(base.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))
}
