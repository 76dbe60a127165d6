//! Ports that tasks are given: outside of the range that the kernel gives out by itself, and used by nothing at that moment.
//!
//! The engine keeps them for their task until it is dropped. The daemon does not listen on them: the task's own servers do.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use proto::{ErrorCode, Failure};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

/// The most ports of one task.
const MAX_PORTS: u16 = 16;
/// Where ports for tasks begin and end: below the ports that Linux gives out by itself (from 32768).
const FIRST: u16 = 20_000;
const LAST: u16 = 29_999;

/// Returns `count` ports in a row that no task has and nothing uses.
pub(crate) fn find(count: u16, is_leased: impl Fn(u16) -> bool) -> Result<Vec<u16>, Failure> {
    if count > MAX_PORTS {
        return Err(Failure::invalid("ports", format!("a task has at most {MAX_PORTS} ports")));
    }
    let mut row = Vec::new();
    let mut candidates = FIRST..=LAST;
    while row.len() < usize::from(count) {
        let Some(port) = candidates.next() else {
            let message = format!("no {count} ports in a row are free between {FIRST} and {LAST}");
            return Err(Failure::new(ErrorCode::Limit, message).hint("drop tasks that are no longer needed"));
        };
        if is_leased(port) || !is_free(port) {
            row.clear();
        } else {
            row.push(port);
        }
    }
    Ok(row)
}

/// Returns true if nothing has the port, on any address. A family that this machine lacks has nothing on it.
fn is_free(port: u16) -> bool {
    let of = |family| socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let has_v4 = of(AddressFamily::INET)
        .is_ok_and(|socket| bind(&socket, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port)).is_err());
    let has_v6 = of(AddressFamily::INET6).is_ok_and(|socket| {
        let address = SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, port, 0, 0);
        bind(&socket, &address) == Err(rustix::io::Errno::ADDRINUSE)
    });
    !has_v4 && !has_v6
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn k6_ports_come_in_a_row_and_neither_leased_nor_used_ones_are_given() {
        let first = find(1, |_| false).unwrap()[0];
        let used = TcpListener::bind(("127.0.0.1", first)).unwrap();
        let row = find(3, |port| port == first + 2).unwrap();
        assert!(row.windows(2).all(|pair| pair[1] == pair[0] + 1), "{row:?}");
        assert!(!row.contains(&first) && !row.contains(&(first + 2)), "{row:?}");
        drop(used);
        assert!(find(17, |_| false).is_err() && find(1, |_| true).is_err());
        assert!(find(0, |_| false).unwrap().is_empty());
    }
}
