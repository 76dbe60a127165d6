//! What a person adds to the deck: a theme, and commands of the person's own.

use term::{Color, Screen, Wraps};

use super::deck::{SIZE, showing_x};
use super::running;
use super::window::Window;

/// The colour of the rail's first heading.
fn heading(screen: &Screen) -> Option<Color> {
    let row = screen.text(Wraps::Keep).lines().position(|line| line.starts_with(" COMMANDS"))?;
    Some(screen.row_cells(u16::try_from(row).ok()?)[1].style.fg)
}

#[test]
fn u24_a_theme_of_ones_own_and_its_change_are_taken_over_at_once() {
    let stage = running();
    let config = stage.dirs().config;
    std::fs::create_dir_all(config.join("themes")).unwrap();
    std::fs::write(config.join("themes/sea.toml"), "base = 'dark'\nheading = '#010203'\n").unwrap();
    std::fs::write(config.join("tui.toml"), "theme = 'sea'\n").unwrap();
    let (mut window, _) =
        Window::running(&stage, SIZE, "env", &["COLORTERM=truecolor", env!("CARGO_BIN_EXE_qd")]);
    window.until("its colour", |screen| heading(screen) == Some(Color::Rgb(1, 2, 3)));
    std::fs::write(config.join("themes/sea.toml"), "heading = '#030201'\n").unwrap();
    window.until("its new colour", |screen| heading(screen) == Some(Color::Rgb(3, 2, 1)));
    std::fs::write(config.join("themes/sea.toml"), "heading = 'pink'\n").unwrap();
    window.until_shows("theme sea: heading: pink is no colour");
    assert_eq!(heading(&window.screen), Some(Color::Rgb(3, 2, 1)), "a fault changes nothing");
    let checked = stage.qd(&["config", "check"]);
    let told = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(
        !checked.status.success() && told.contains("themes/sea.toml: heading: pink is no colour"),
        "{told}"
    );
    // What is in order and takes a key from programs is warned about, and is no fault.
    std::fs::remove_file(config.join("themes/sea.toml")).unwrap();
    std::fs::write(config.join("tui.toml"), "[keys.direct]\nzoom = 'ctrl-k'\n").unwrap();
    let checked = stage.qd(&["config", "check"]);
    let told = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(
        checked.status.success() && told.contains("warning: keys.direct: no program gets Ctrl-K"),
        "{told}"
    );
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn a_command_of_ones_own_runs_in_a_window_over_the_deck_until_it_ends() {
    let stage = running();
    let config = stage.dirs().config;
    std::fs::create_dir_all(&config).unwrap();
    let script = "echo in {process}; read -r word; echo got $word; read -r rest";
    let command =
        format!("[[command]]\nname = 'mine'\nargv = ['sh', '-c', '{script}']\nkey = 'y'\nwhere = 'popup'\n");
    std::fs::write(config.join("tui.toml"), command).unwrap();
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    window.type_keys("\u{1c}y");
    window.until_shows("in x");
    window.until_shows(" POPUP ");
    window.type_keys("word\r");
    window.until_shows("got word");
    window.type_keys("\r");
    window.until("the deck again", |screen| {
        let text = screen.text(Wraps::Keep);
        text.contains(" DECK ") && !text.contains("got word")
    });
    testkit::process_scan::eventually("the command is gone", || {
        (stage.json(&["ps"]).as_array()?.len() == 1).then_some(())
    });
    window.type_keys("below\r");
    window.until_shows("got:below");
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}
