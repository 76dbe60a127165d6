//! A run in which the test runs commands as an agent would: the callers are real processes of that run.

use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{MarkedDaemon, child};

use crate::QD;

pub(crate) struct Inside<'a> {
    stage: &'a MarkedDaemon,
    name: String,
    notes: PathBuf,
    next: u32,
}

impl<'a> Inside<'a> {
    /// Starts a command in this directory that runs what is typed into it.
    pub(crate) fn begin(stage: &'a MarkedDaemon, name: &str, cwd: &Path) -> Self {
        let notes = stage.root().join(format!("{name}.notes"));
        std::fs::create_dir(&notes).unwrap();
        let export = |(name, value): &(&str, PathBuf)| format!("export {name}='{}'; ", value.display());
        let exports: String = stage.variables().iter().map(export).collect();
        // The code is written last and under another name first: when it appears, the rest is complete.
        let script = format!(
            "stty -echo; {exports}n=0; echo ready; while IFS= read -r line; do \
             sh -c \"$line\" > '{0}'/$n.out 2>&1; echo $? > '{0}'/$n.new; mv '{0}'/$n.new '{0}'/$n.code; \
             echo \"done $n.\"; n=$((n+1)); done",
            notes.display()
        );
        let mut spec = stage.spec(name, child::shell(&script));
        spec.cwd = Some(cwd.display().to_string());
        stage.spawn_as(spec);
        stage.wait_pattern(name, "ready");
        Self { stage, name: name.to_owned(), notes, next: 0 }
    }

    /// Runs a line of shell there; returns its exit code and output.
    pub(crate) fn run(&mut self, line: &str) -> (i32, String) {
        let n = self.next;
        self.next += 1;
        self.stage.type_text(&self.name, &format!("{line}\r"));
        self.stage.wait_pattern(&self.name, &format!("done {n}\\."));
        let read = |end: &str| std::fs::read_to_string(self.notes.join(format!("{n}.{end}"))).unwrap();
        (read("code").trim().parse().unwrap(), read("out"))
    }

    /// Runs `qd --json` there, which must succeed.
    pub(crate) fn json(&mut self, arguments: &str) -> Value {
        let (code, out) = self.run(&format!("'{QD}' --json {arguments}"));
        if code != 0 {
            self.stage.fail(&format!("{arguments}: {code}: {out}"));
        }
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }

    /// Runs `qd --json` there, which must be refused; returns the error's code and all of it.
    pub(crate) fn refused(&mut self, arguments: &str) -> (String, Value) {
        self.refused_by(&format!("'{QD}' --json {arguments}"))
    }

    /// Runs a line of shell there that ends in a refused `qd --json`.
    pub(crate) fn refused_by(&mut self, line: &str) -> (String, Value) {
        let (code, out) = self.run(line);
        if code == 0 {
            self.stage.fail(&format!("{line} was not refused: {out}"));
        }
        let told: Value = serde_json::from_str(out.trim()).unwrap_or_else(|error| panic!("{error}: {out}"));
        (told["error"]["code"].as_str().unwrap_or_default().to_owned(), told["error"].clone())
    }
}
