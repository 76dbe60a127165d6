//! Finds the ports on which a run's tree listens: joins the kernel's tables of listening sockets with the
//! descriptors of the tree. It does not connect, so the programs do not notice.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::{Input, RunFact};
use proto::Printable;
use proto::ports::PortView;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use crate::screens::ScreenHandle;

/// How often an awaited port is checked. The kernel does not announce listening sockets, so polling is the
/// only way.
const LOOK: Duration = Duration::from_millis(200);
/// The state of a listening socket in the kernel's tables.
const LISTENING: &str = "0A";

/// One listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listener {
    inode: u64,
    address: IpAddr,
    port: u16,
}

/// Returns the ports on which everything below this holder listens. Reads files of `/proc`, so it runs on a
/// thread that may block.
pub(crate) fn of_tree(holder: i32) -> Vec<PortView> {
    of_tree_where(holder, |_| true)
}

/// Polls until the run's tree listens on this port, then reports it. Ends with the run.
pub(crate) async fn watch(handle: Arc<ScreenHandle>, port: u16, facts: mpsc::Sender<Input>) {
    let (run, holder) = (handle.run, handle.holder_pid);
    let mut progress = handle.progress.subscribe();
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = looks.tick() => {}
            // The handle has the sender, so it cannot be gone.
            _ = progress.wait_for(|progress| progress.exited_at.is_some() || progress.is_over) => return,
        }
        let look = move || !of_tree_where(holder, |listener| listener.port == port).is_empty();
        if crate::threads::run(look).await.unwrap_or(false) {
            // The receiver is gone only when the daemon is ending.
            drop(facts.send(Input::Fact { run, fact: RunFact::PortOpen }).await);
            return;
        }
    }
}

fn of_tree_where(holder: i32, is_wanted: impl Fn(&Listener) -> bool) -> Vec<PortView> {
    // A tree may have several network namespaces, each with tables of its own.
    let mut tables: HashMap<PathBuf, HashMap<u64, Listener>> = HashMap::new();
    let mut seen: HashSet<(PathBuf, u64)> = HashSet::new();
    let mut found = Vec::new();
    // Parents come before their children, so an inherited socket counts for its creator.
    for pid in holder::descendants::descendants(holder) {
        let Ok(namespace) = std::fs::read_link(format!("/proc/{pid}/ns/net")) else { continue };
        let table = tables.entry(namespace.clone()).or_insert_with(|| {
            let listening = listeners(pid).into_iter().filter(|listener| is_wanted(listener));
            listening.map(|listener| (listener.inode, listener)).collect()
        });
        if table.is_empty() {
            continue;
        }
        for inode in sockets(pid) {
            if let Some(listener) = table.get(&inode)
                && seen.insert((namespace.clone(), inode))
            {
                found.push(view(pid, listener));
            }
        }
    }
    found.sort_by_key(|view| (view.port, view.pid));
    found
}

fn view(pid: i32, listener: &Listener) -> PortView {
    let program = program(pid);
    PortView { port: listener.port, address: listener.address.to_string(), pid, program }
}

/// Returns the name of a process's program: of its file, which the process cannot change, else its own name.
fn program(pid: i32) -> String {
    let file = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let named = file.as_deref().and_then(|file| Some(file.file_name()?.to_string_lossy().into_owned()));
    let name =
        named.or_else(|| std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()).unwrap_or_default();
    Printable(name.trim_end_matches('\n')).to_string()
}

/// Returns the sockets a process has open, by inode.
fn sockets(pid: i32) -> Vec<u64> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.filter_map(|link| socket_inode(link.to_str()?)).collect()
}

fn socket_inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// Returns every listening socket of the namespace of this process.
fn listeners(pid: i32) -> Vec<Listener> {
    let table = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/net/{name}")).unwrap_or_default();
    let both = [table("tcp"), table("tcp6")];
    let all: BTreeMap<u64, Listener> = both
        .iter()
        .flat_map(|text| text.lines().skip(1))
        .filter_map(parse)
        .map(|listener| (listener.inode, listener))
        .collect();
    all.into_values().collect()
}

/// Parses one line of a table: number, local address, remote address, state, …, inode as the tenth field.
fn parse(line: &str) -> Option<Listener> {
    let fields: Vec<&str> = line.split_ascii_whitespace().take(10).collect();
    let [_, local, _, state, .., inode] = fields.as_slice() else { return None };
    if *state != LISTENING || fields.len() < 10 {
        return None;
    }
    let (address, port) = local.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    Some(Listener { inode: inode.parse().ok()?, address: parse_address(address)?, port })
}

/// Parses an address as the kernel prints it: each 32-bit word in the machine's own order.
fn parse_address(text: &str) -> Option<IpAddr> {
    let word = |at: usize| Some(u32::from_str_radix(text.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    match text.len() {
        8 => Some(IpAddr::V4(Ipv4Addr::from(word(0)?))),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let octets: [u8; 16] = words.concat().try_into().ok()?;
            Some(IpAddr::V6(Ipv6Addr::from(octets)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    #[cfg(target_endian = "little")]
    fn a_line_of_the_kernels_table_is_read() {
        let four = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1 x";
        let listener = parse(four).unwrap();
        assert_eq!((listener.inode, listener.port), (4242, 8080));
        assert_eq!(listener.address, IpAddr::V4(Ipv4Addr::LOCALHOST));
        let six = "   1: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 7 1";
        assert_eq!(parse(six).unwrap().address, IpAddr::V6(Ipv6Addr::LOCALHOST));
        let talking = four.replace(" 0A ", " 01 ");
        assert_eq!(parse(&talking), None, "a connection is not a listener");
        for bad in [
            "",
            "sl local",
            "0: x:y 0:0 0A 0 0 0 0 0 1",
            "0: 0100007F:1F90 0:0 0A 0 0",
            "0: é:1 0 0A 0 0 0 0 0 1",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_this_process_listens_on_is_in_its_tables() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            // On a machine without the second family it is skipped.
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let own = i32::try_from(std::process::id()).unwrap();
            let inodes = sockets(own);
            let found: Vec<Listener> =
                listeners(own).into_iter().filter(|found| inodes.contains(&found.inode)).collect();
            let expected = listener.local_addr().unwrap();
            assert!(
                found.iter().any(|found| found.port == expected.port() && found.address == expected.ip()),
                "{found:?}"
            );
        }
    }
}
