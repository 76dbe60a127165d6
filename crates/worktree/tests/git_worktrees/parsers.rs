//! Readers of git's output: any bytes are read or refused, and what git could print is read back.

use proptest::prelude::*;
use worktree::{Porcelain, StatusEntry, parse_list, parse_merges, parse_numstat, parse_patch, visit_entries};

const OID: &str = "0123456789abcdef0123456789abcdef01234567";

fn path() -> impl Strategy<Value = String> {
    "[^\\x00]{1,20}"
}

proptest! {
    #[test]
    fn f5_readers_take_any_bytes(bytes: Vec<u8>, text in "[12u?!#@+\\- a-z0-9\\x00\\n\\\\\"]{0,200}") {
        for input in [bytes.as_slice(), text.as_bytes()] {
            let _entries = Porcelain::parse(input);
            let _worktrees = parse_list(input);
            let _merges = parse_merges(input);
            let _numbers = parse_numstat(input);
            let _files = parse_patch(input);
            let _index = visit_entries(input, 20, |_| {});
        }
    }

    #[test]
    fn f5_a_damaged_index_is_read_or_refused(count in 0u32..5, version in 2u32..5, body: Vec<u8>) {
        let mut index = b"DIRC".to_vec();
        index.extend(version.to_be_bytes());
        index.extend(count.to_be_bytes());
        index.extend(body);
        let _read_or_refused = visit_entries(&index, 20, |_| {});
    }

    #[test]
    fn f5_every_record_of_a_status_is_read_with_any_path(one in path(), two in path(), from in path(), free in path()) {
        let printed = format!(
            "# branch.oid {OID}\0# branch.head b\0\
             1 .M N... 100644 100644 100755 {OID} {OID} {one}\0\
             2 R. N... 100644 100644 100644 {OID} {OID} R87 {two}\0{from}\0\
             u UU N... 100644 100644 100644 100644 {OID} {OID} {OID} {one}\0\
             ? {free}\0! {free}\0"
        );
        let status = Porcelain::parse(printed.as_bytes()).unwrap();
        prop_assert_eq!(status.branch.as_deref(), Some("b"));
        prop_assert_eq!(status.entries.len(), 5);
        let StatusEntry::Changed(renamed) = &status.entries[1] else { panic!("no change") };
        prop_assert_eq!(renamed.path.to_str(), Some(two.as_str()));
        prop_assert_eq!(renamed.original.as_ref().and_then(|path| path.to_str()), Some(from.as_str()));
        prop_assert_eq!(&status.entries[3], &StatusEntry::Untracked(free.into()));
    }

    #[test]
    fn f5_every_worktree_is_read_with_any_path_and_reason(one in path(), reason in path()) {
        let printed = format!(
            "worktree {one}\0HEAD {OID}\0branch refs/heads/a/b\0locked {reason}\0\0worktree /x\0bare\0\0"
        );
        let list = parse_list(printed.as_bytes()).unwrap();
        prop_assert_eq!(list.len(), 2);
        prop_assert_eq!(list[0].path.to_str(), Some(one.as_str()));
        prop_assert_eq!(list[0].locked.as_deref(), Some(reason.as_str()));
        prop_assert!(list[1].is_bare);
    }

    #[test]
    fn f5_lines_of_a_hunk_keep_their_text_and_numbers(lines in prop::collection::vec(("[ +-]", "[^\\n]{0,20}"), 1..20)) {
        let count = |kept: &str| lines.iter().filter(|(side, _)| kept.contains(side.as_str())).count();
        let mut text = format!("diff --git a/f b/f\n@@ -1,{} +1,{} @@ fn\n", count(" -"), count(" +"));
        lines.iter().for_each(|(side, line)| text.push_str(&format!("{side}{line}\n")));
        text.push_str("diff --git a/g b/g\n");
        let files = parse_patch(text.as_bytes());
        prop_assert_eq!(files.len(), 2);
        let read: Vec<&[u8]> = files[0].hunks[0].lines.iter().map(|line| line.text.as_slice()).collect();
        let written: Vec<&[u8]> = lines.iter().map(|(_, line)| line.as_bytes()).collect();
        prop_assert_eq!(read, written);
        let last_new = files[0].hunks[0].lines.iter().filter_map(|line| line.new).max().unwrap_or(0);
        prop_assert_eq!(last_new as usize, count(" +"));
    }
}
