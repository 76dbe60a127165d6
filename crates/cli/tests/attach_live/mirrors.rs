//! A process that would be shown in its own terminal.

use super::{sh, stage};

#[test]
fn a_process_cannot_be_shown_in_its_own_terminal() {
    let stage = stage();
    let export =
        |(name, value): &(&str, std::path::PathBuf)| format!("export {name}='{}'; ", value.display());
    let exports: String = stage.variables().iter().map(export).collect();
    let qd = env!("CARGO_BIN_EXE_qd");
    let tries =
        format!("'{qd}' attach x; echo \"code:$?\"; '{qd}' attach x --read-only; echo \"watching:$?\"");
    stage.run("x", sh(&format!("stty -echo; {exports}echo ready; read -r l; {tries}; read -r l")));
    stage.wait_pattern("x", "ready");
    stage.type_text("x", "go\n");
    stage.wait_pattern("x", "code:2");
    stage.wait_pattern("x", "watching:2");
    assert_eq!(stage.process("x").terminal.viewers, 0);
    assert!(stage.screen("x").contains("it would show itself"), "{}", stage.screen("x"));
}
