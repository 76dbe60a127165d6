//! Programs in a pane of the deck look as they do in a terminal of their own, cell by cell.

use std::path::Path;
use std::time::{Duration, Instant};

use proto::Size;
use term::{Cell, Screen};
use testkit::{DEADLINE, MarkedDaemon};

use super::window::Window;
use super::{sh, stage};

const SIZE: Size = Size { cols: 100, rows: 30 };
/// The screen of the one pane: beside the rail, below its title.
const PANE: Size = Size { cols: 74, rows: 27 };
/// Underline kinds and colours, true and indexed colours, attributes, a link, wide and combined characters.
const COLORS: &str = "printf '\\033[4:3;58:2::255:0:0mcurly\\033[m \\033[4:5mdashed\\033[m \\033[21mdouble\\033[m\\n\
    \\033[38;2;1;2;3;48;2;9;8;7mtrue\\033[m \\033[38;5;200mindexed\\033[m \\033[93;44mbright\\033[m\\n\
    \\033[1;3;9;53mattributes\\033[m \\033[2mdim\\033[m \\033[7mreversed\\033[m\\n\
    \\033]8;;https://example.com/a\\033\\\\link\\033]8;;\\033\\\\ 漢字 e\\314\\201 end\\n'; exec cat";

/// The cells of the pane.
fn pane(screen: &Screen) -> Vec<Vec<Cell>> {
    let first = usize::from(SIZE.cols - PANE.cols);
    (2..2 + PANE.rows).map(|row| screen.row_cells(row)[first..].to_vec()).collect()
}

fn whole(screen: &Screen) -> Vec<Vec<Cell>> {
    (0..PANE.rows).map(|row| screen.row_cells(row)).collect()
}

/// Opens the process in the deck and types a key, which makes its size the pane's.
fn opened(stage: &MarkedDaemon, name: &str, key: &str) -> Window {
    let qd = env!("CARGO_BIN_EXE_qd");
    let (mut window, _) = Window::running(stage, SIZE, "env", &["COLORTERM=truecolor", qd]);
    window.until_shows("4  Go to a process");
    window.type_keys("4");
    window.until_shows("SWITCH");
    window.type_keys(&format!("{name}\r"));
    window.until_shows(&format!("─ {name} "));
    window.type_keys(key);
    stage.until_view(name, |view| view.terminal.size == PANE);
    window
}

/// The pane shows what a terminal of its own size shows.
fn looks_as_alone(name: &str, script: &str, key: &str) {
    let stage = stage();
    stage.run_terminal(name, sh(script));
    let mut window = opened(&stage, name, key);
    let mut alone = Window::open(&stage, PANE, &["attach", name]);
    let until = Instant::now() + DEADLINE;
    loop {
        alone.draw(Instant::now() + Duration::from_millis(20));
        window.draw(Instant::now() + Duration::from_millis(20));
        let is_blank = alone.text().trim().is_empty();
        if !is_blank && pane(&window.screen) == whole(&alone.screen) {
            break;
        }
        assert!(Instant::now() < until, "in the deck:\n{}\nalone:\n{}", window.text(), alone.text());
    }
    drop(alone);
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

fn has(program: &str) -> bool {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|directory| directory.join(program).is_file())
}

#[test]
fn u3_colours_underlines_links_and_wide_characters_look_in_a_pane_as_they_do_alone() {
    looks_as_alone("colours", COLORS, "\r");
}

#[test]
fn u3_editors_and_pagers_look_in_a_pane_as_they_do_alone() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/main.rs");
    let file = file.display();
    if has("vim") {
        looks_as_alone("vim", &format!("exec vim -u NONE -N -i NONE -n -c 'syntax on' {file}"), "j");
    }
    if has("htop") {
        // It draws seldom, so that both are looked at between two of its pictures.
        looks_as_alone("htop", "exec htop --delay=100", "j");
    }
    if has("less") {
        looks_as_alone("less", &format!("exec less -N {file}"), "j");
    }
    looks_as_alone(
        "paged",
        "printf '\\033[?1049h\\033[2;5H\\033[44mon another screen\\033[m'; exec cat",
        "\r",
    );
}
