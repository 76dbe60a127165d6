//! Emulator bombs: two children that ask for much work with few bytes, one on each worker. Measures how long
//! a key to another process takes beside each kind, and how long the end of such a child takes. Only qd is
//! measured: the figures are about its own fairness.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::Lab;
use super::contender::Contender;
use super::echo::through;
use super::pty::Size;
use super::report::{Report, Unit};
use super::subprocess::Subprocess;

#[path = "../../../crates/term/tests/bombs/list.rs"]
mod list;

/// Bytes of one file, printed over and over.
const FILE: usize = 1 << 20;

/// Measures the worst key and the slowest end over all kinds, at two sizes.
pub(crate) fn run(lab: &Lab, report: &mut Report) -> Result<(), String> {
    let keys = lab.sized(30, 10);
    for (size, label) in [(Size(200, 60), "200x60"), (Size(1000, 1000), "1000x1000")] {
        lab.renew(report);
        let Some(qd) = lab.contenders.iter().find(|contender| contender.name() == "qd") else {
            return Ok(());
        };
        let (mut worst_key, mut worst_end) = (Worst::default(), Worst::default());
        for bomb in list::all() {
            match beside(lab, qd, &bomb, size, keys) {
                Ok((key, end)) => {
                    worst_key.note(key, bomb.name);
                    worst_end.note(end, bomb.name);
                }
                // The worst of the others would say nothing about this kind.
                Err(error) => return Err(format!("{} at {label} cannot be measured: {error}", bomb.name)),
            }
        }
        report.record(&format!("key beside bombs {label}, worst"), "qd", Unit::Time, worst_key.printed());
        report.record(&format!("close of a bomb {label}, worst"), "qd", Unit::Time, worst_end.printed());
    }
    Ok(())
}

/// The longest time so far, and beside what.
#[derive(Default)]
struct Worst(Option<(f64, &'static str)>);

impl Worst {
    fn note(&mut self, time: f64, name: &'static str) {
        if self.0.is_none_or(|(worst, _)| worst < time) {
            self.0 = Some((time, name));
        }
    }

    fn printed(&self) -> Result<f64, String> {
        let (time, name) = self.0.ok_or("no kind could be measured")?;
        eprintln!("worst: {name}, {:.1} ms", time * 1e3);
        Ok(time)
    }
}

/// Returns the slowest key beside two bombs of this kind, and the slower of their ends.
fn beside(
    lab: &Lab,
    contender: &Contender,
    bomb: &list::Bomb,
    size: Size,
    keys: usize,
) -> Result<(f64, f64), String> {
    let file = write(&lab.directory, bomb)?;
    let mut bombs = Vec::new();
    for _ in 0..2 {
        let name = lab.fresh_name();
        let count = lab.directory.join(format!("{name}.count"));
        let subprocess = Subprocess::flood(&lab.directory, &name, &file, &count)?;
        contender.create(&name, size, &subprocess.argv())?;
        subprocess.start.open();
        bombs.push((name, subprocess));
    }
    let times = through(lab, contender, keys);
    let mut slowest_end: f64 = 0.0;
    for (name, subprocess) in bombs {
        let mut close = contender.place.command();
        close.args(["close", &name]);
        let start = Instant::now();
        contender.place.run(close)?;
        slowest_end = slowest_end.max(start.elapsed().as_secs_f64());
        drop(subprocess);
    }
    Ok((times?.into_iter().fold(0.0, f64::max), slowest_end))
}

fn write(directory: &Path, bomb: &list::Bomb) -> Result<PathBuf, String> {
    let path = directory.join("bomb");
    let text = bomb.before.clone() + &bomb.again.repeat(FILE / bomb.again.len() + 1);
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}
