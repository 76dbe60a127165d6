//! Completion in a shell that draws it itself.

use proto::Size;

use super::window::Window;
use super::{sh, stage};

#[test]
fn m11_zsh_completes_names_verbs_and_flags() {
    let stage = stage();
    stage.run("builder", sh("read line"));
    let (mut window, _) = Window::running(&stage, Size::DEFAULT, "zsh", &["-f"]);
    let directory = std::path::Path::new(env!("CARGO_BIN_EXE_qd")).parent().unwrap();
    let setup = format!(
        "PS1='$ '; PATH={}:$PATH; autoload -U compinit; compinit -u -D; source <(qd completions zsh); echo set up\r",
        directory.display()
    );
    window.type_keys(&setup);
    window.until_shows("\nset up");
    for (typed, completed) in [
        ("qd attach bui", "$ qd attach builder"),
        ("qd atta", "$ qd attach"),
        ("qd attach --read", "$ qd attach --read-only"),
        ("qd spawn -- /etc/hostn", "$ qd spawn -- /etc/hostname"),
    ] {
        window.type_keys(typed);
        window.type_keys("\t");
        window.until_shows(completed);
        window.type_keys("\x15");
    }
    window.type_keys("exit\r");
    window.wait_exit();
}
