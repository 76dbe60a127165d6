//! Figures that the design names: memory of an idle holder, time to start a hundred, speed in bulk. Printed; bounded only loosely,
//! because a test machine is not a bench.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use testkit::scaled;

use crate::rig::{Run, config, scratch, start};

fn pss(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[test]
fn figure_8_9_a_hundred_holders_start_soon_and_stay_small() {
    let began = Instant::now();
    let runs: Vec<Run> = (0..100).map(|_| start(&config(&["sleep", "1000"]))).collect();
    let started = began.elapsed();
    let total: u64 = runs.iter().map(|run| pss(run.holder_pid)).sum();
    println!("100 holders: started in {started:?}, {} KiB PSS each", total / 100);
    assert!(started < Duration::from_secs(20), "{started:?}");
    assert!(total / 100 < 256, "{} KiB each", total / 100);
    runs.into_iter().for_each(Run::close);
}

#[test]
fn figure_1_bulk_output_passes_nearly_as_fast_as_with_a_bare_reader() {
    let file = scratch().join("plain");
    let text: Vec<u8> = (0..scaled(20 << 20)).map(|at| if at % 80 == 79 { b'\n' } else { b'a' }).collect();
    fs::write(&file, &text).unwrap();
    let mut ratios: Vec<f64> = (0..3)
        .map(|_| {
            let (bare, held) = (bare(&file), held(&file));
            println!(
                "bulk: bare {:.1} MB/s, holder {:.1} MB/s",
                speed(text.len(), bare),
                speed(text.len(), held)
            );
            bare.as_secs_f64() / held.as_secs_f64()
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    println!("bulk: holder / bare = {:.2}", ratios[1]);
    fs::remove_file(&file).unwrap();
    assert!(ratios[1] > 0.2, "{ratios:?}");
}

fn speed(length: usize, time: Duration) -> f64 {
    length as f64 / 1e6 / time.as_secs_f64()
}

fn held(file: &Path) -> Duration {
    let began = Instant::now();
    let mut run = start(&config(&["cat", file.to_str().unwrap()]));
    run.until("exit", |run| {
        run.log.clear();
        run.has_exited()
    });
    let time = began.elapsed();
    run.close();
    time
}

fn bare(file: &Path) -> Duration {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).unwrap();
    unlockpt(&master).unwrap();
    let slave = ioctl_tiocgptpeer(&master, flags).unwrap();
    let began = Instant::now();
    let mut child = Command::new("cat").arg(file).stdout(Stdio::from(slave)).spawn().unwrap();
    let mut buf = vec![0u8; 64 << 10];
    while rustix::io::read(&master, &mut buf).is_ok_and(|count| count > 0) {}
    let time = began.elapsed();
    child.wait().unwrap();
    time
}
