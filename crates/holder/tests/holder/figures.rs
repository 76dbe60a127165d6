//! The memory of an idle holder. Its speed and the time it takes to start are rows of the bench.

use std::fs;

use crate::rig::{Run, config, start};

fn pss(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[test]
fn figure_9_a_hundred_holders_stay_small() {
    let runs: Vec<Run> = (0..100).map(|_| start(&config(&["sleep", "1000"]))).collect();
    let total: u64 = runs.iter().map(|run| pss(run.holder_pid)).sum();
    println!("100 holders: {} KiB PSS each", total / 100);
    assert!(total / 100 < 256, "{} KiB each", total / 100);
    runs.into_iter().for_each(Run::close);
}
