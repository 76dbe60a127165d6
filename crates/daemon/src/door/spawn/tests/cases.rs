//! The cases: what is trusted, and what is changed after that.

use std::path::Path;

use proto::Kind;
use proto::request::Spawn;

use super::fixture::{SpawnFixture, relink};

/// A name, what a person trusts, what happens then.
type Case = (&'static str, fn(&SpawnFixture) -> Spawn, fn(&SpawnFixture, &mut Spawn));

fn test(fixture: &SpawnFixture) -> Spawn {
    fixture.preset("test")
}

fn check(fixture: &SpawnFixture) -> Spawn {
    fixture.free(&["tool", "run"])
}

fn with_env(fixture: &SpawnFixture) -> Spawn {
    let mut spawn = check(fixture);
    spawn.env.insert("MODE".to_owned(), "1".to_owned());
    spawn
}

/// The same with other words.
fn words(spawn: &mut Spawn, argv: &[&str]) {
    spawn.argv = argv.iter().map(|word| (*word).to_owned()).collect();
}

fn declare(spawn: &mut Spawn, name: &str, value: &str) {
    spawn.env.insert(name.to_owned(), value.to_owned());
}

/// Changes that make it another command.
pub(super) const STEALTHY: &[Case] = &[
    // The preset's own text.
    ("a word of the preset is edited", test, |fixture, _| fixture.edit("--fast", "--slow")),
    ("only a comment of it is edited", test, |fixture, _| {
        fixture.edit("# the quick ones", "# the quick one")
    }),
    ("the comment above it is edited", test, |fixture, _| fixture.edit("runs the tests", "ran the tests")),
    ("only a blank of it is edited", test, |fixture, _| {
        fixture.edit("working_dir = \"web\"", "working_dir  = \"web\"")
    }),
    ("it is renamed", test, |fixture, spawn| {
        fixture.edit("[preset.test]", "[preset.check]");
        fixture.edit("[preset.test.env]", "[preset.check.env]");
        spawn.preset = Some("check".to_owned());
    }),
    ("a variable is added to it", test, |fixture, _| {
        fixture.edit("MODE = \"1\"", "MODE = \"1\"\nMORE = \"1\"")
    }),
    ("its variable is removed", test, |fixture, _| fixture.edit("MODE = \"1\"\n", "")),
    ("its variable is changed", test, |fixture, _| fixture.edit("MODE = \"1\"", "MODE = \"2\"")),
    ("its directory is changed", test, |fixture, _| {
        fixture.program(&fixture.app.join("docs/run.sh"), "#!/bin/sh\necho tests\n");
        fixture.edit("working_dir = \"web\"", "working_dir = \"docs\"");
    }),
    ("it is restarted by itself", test, |fixture, _| {
        fixture.edit("ready = {", "auto_restart = true\nready = {");
    }),
    ("it is ready otherwise", test, |fixture, _| fixture.edit("pattern = \"ok\"", "pattern = \".\"")),
    ("its words become a line of shell", test, |fixture, _| {
        fixture.edit("argv = [\"./run.sh\", \"--fast\"]", "shell = \"./run.sh --fast\"");
    }),
    ("its text moves into the user's configuration", test, |fixture, _| {
        let file = fixture.app.join(".quarterdeck.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        let (presets, _) = text.split_once("[policy]").unwrap();
        std::fs::write(fixture.config.join("presets.toml"), presets).unwrap();
        std::fs::write(&file, "").unwrap();
    }),
    (
        "the project has a preset of the user's name",
        |fixture| {
            std::fs::write(fixture.config.join("presets/own.toml"), "argv = [\"tool\"]\n").unwrap();
            fixture.preset("own")
        },
        |fixture, _| fixture.edit("[policy]", "[preset.own]\nargv = [\"tool\"]\n[policy]"),
    ),
    (
        "the user's preset is edited",
        |fixture| {
            std::fs::write(fixture.config.join("presets/own.toml"), "argv = [\"tool\"]\n").unwrap();
            fixture.preset("own")
        },
        |fixture, _| {
            std::fs::write(fixture.config.join("presets/own.toml"), "argv = [\"tool\", \"x\"]\n").unwrap()
        },
    ),
    ("the project's file becomes a link to another", test, |fixture, _| {
        std::fs::write(fixture.top().join("evil.toml"), "[preset.test]\nargv = [\"tool\"]\n").unwrap();
        relink(&fixture.top().join("evil.toml"), &fixture.app.join(".quarterdeck.toml"));
    }),
    ("the preset is gone", test, |fixture, _| fixture.write(".quarterdeck.toml", "")),
    ("the project's file does not read", test, |fixture, _| fixture.write(".quarterdeck.toml", "[preset")),
    // What stands beside the preset.
    ("words are given beside the preset", test, |_, spawn| words(spawn, &["tool"])),
    ("a variable is given beside the preset", test, |_, spawn| declare(spawn, "MODE", "1")),
    ("another kind is given beside the preset", test, |_, spawn| spawn.kind = Kind::Terminal),
    ("restarts are asked for beside the preset", test, |_, spawn| spawn.auto_restart = true),
    ("a restore is asked for beside the preset", test, |_, spawn| spawn.restore = true),
    // Programs and scripts.
    ("the script is edited", test, |fixture, _| {
        fixture.program(&fixture.app.join("web/run.sh"), "#!/bin/sh\necho evil\n");
    }),
    ("the script becomes a link to another of the same text", test, |fixture, _| {
        fixture.program(&fixture.app.join("docs/run.sh"), "#!/bin/sh\necho tests\n");
        relink(&fixture.app.join("docs/run.sh"), &fixture.app.join("web/run.sh"));
    }),
    ("the script becomes a link to a shell", test, |fixture, _| {
        relink(&fixture.bin.join("sh"), &fixture.app.join("web/run.sh"));
    }),
    ("the script is gone", test, |fixture, _| std::fs::remove_file(fixture.app.join("web/run.sh")).unwrap()),
    ("the script cannot be run any more", test, |fixture, _| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        std::fs::set_permissions(fixture.app.join("web/run.sh"), mode).unwrap();
    }),
    (
        "a script that a shell is given is edited",
        |fixture| fixture.preset("wrapped"),
        |fixture, _| {
            fixture.write("web/run.sh", "#!/bin/sh\necho evil\n");
        },
    ),
    ("the link behind the program's name is turned", check, |fixture, _| {
        relink(Path::new("other-tool"), &fixture.bin.join("tool"));
    }),
    ("a program of that name comes earlier in the search path", check, |fixture, _| {
        fixture.program(&fixture.top().join("early/tool"), "\x7fELF tool");
    }),
    ("a link to the same name elsewhere comes earlier", check, |fixture, _| {
        relink(&fixture.bin.join("other-tool"), &fixture.top().join("early/tool"));
    }),
    ("the program becomes a script", check, |fixture, _| {
        fixture.program(&fixture.bin.join("real-tool"), "#!/bin/sh\n");
    }),
    ("the program is named by its path", check, |fixture, spawn| {
        words(spawn, &[fixture.bin.join("real-tool").to_str().unwrap(), "run"]);
    }),
    ("the program is named by another link", check, |fixture, spawn| {
        relink(Path::new("real-tool"), &fixture.bin.join("tool2"));
        words(spawn, &["tool2", "run"]);
    }),
    // The directory.
    ("it runs in another directory", check, |fixture, spawn| {
        spawn.cwd = Some(fixture.app.join("docs").display().to_string());
    }),
    (
        "the link to its directory is turned",
        |fixture| {
            let mut spawn = check(fixture);
            spawn.cwd = Some(fixture.app.join("here").display().to_string());
            spawn
        },
        |fixture, _| fixture.link("web", "here"),
    ),
    (
        "the link to the preset's directory is turned",
        |fixture| fixture.preset("linked"),
        |fixture, _| {
            fixture.link("web", "here");
        },
    ),
    (
        "the link to the preset's directory leaves the project",
        |fixture| fixture.preset("linked"),
        |fixture, _| {
            fixture.link("../elsewhere", "here");
        },
    ),
    ("the preset's directory becomes a link out of the project", test, |fixture, _| {
        std::fs::rename(fixture.app.join("web"), fixture.top().join("elsewhere/web")).unwrap();
        relink(&fixture.top().join("elsewhere/web"), &fixture.app.join("web"));
    }),
    ("another project has the same preset", test, |fixture, spawn| {
        let copy = fixture.top().join("copy");
        std::fs::create_dir_all(copy.join("web")).unwrap();
        std::fs::copy(fixture.app.join(".quarterdeck.toml"), copy.join(".quarterdeck.toml")).unwrap();
        std::fs::copy(fixture.app.join("web/run.sh"), copy.join("web/run.sh")).unwrap();
        spawn.cwd = Some(copy.display().to_string());
    }),
    ("the project was moved", test, |fixture, spawn| {
        std::fs::rename(&fixture.app, fixture.top().join("moved")).unwrap();
        spawn.cwd = Some(fixture.top().join("moved").display().to_string());
    }),
    (
        "its directory becomes a project of its own",
        |fixture| {
            let mut spawn = check(fixture);
            spawn.cwd = Some(fixture.app.join("web").display().to_string());
            spawn
        },
        |fixture, _| fixture.write("web/.quarterdeck.toml", ""),
    ),
    // Words.
    ("a word has a blank at its end", check, |_, spawn| words(spawn, &["tool", "run "])),
    ("a word has a blank at its beginning", check, |_, spawn| words(spawn, &["tool", " run"])),
    ("a letter is another that looks the same", check, |_, spawn| words(spawn, &["tool", "r\u{57d}n"])),
    ("the program's letter is another that looks the same", check, |fixture, spawn| {
        fixture.program(&fixture.bin.join("t\u{43e}ol"), "\x7fELF tool");
        words(spawn, &["t\u{43e}ol", "run"]);
    }),
    ("a word has an invisible character", check, |_, spawn| words(spawn, &["tool", "run\u{200b}"])),
    (
        "a letter is composed otherwise",
        |fixture| fixture.free(&["tool", "caf\u{e9}"]),
        |_, spawn| {
            words(spawn, &["tool", "cafe\u{301}"]);
        },
    ),
    ("a word has another case", check, |_, spawn| words(spawn, &["tool", "Run"])),
    ("an empty word follows", check, |_, spawn| words(spawn, &["tool", "run", ""])),
    ("a word follows", check, |_, spawn| words(spawn, &["tool", "run", "x"])),
    ("a word is missing", check, |_, spawn| words(spawn, &["tool"])),
    (
        "two words become one",
        |fixture| fixture.free(&["tool", "a", "b"]),
        |_, spawn| words(spawn, &["tool", "a b"]),
    ),
    ("a word ends in a new line", check, |_, spawn| words(spawn, &["tool", "run\n"])),
    (
        "the words change places",
        |fixture| fixture.free(&["tool", "a", "b"]),
        |_, spawn| {
            words(spawn, &["tool", "b", "a"]);
        },
    ),
    // Variables.
    ("LD_PRELOAD is declared", check, |_, spawn| declare(spawn, "LD_PRELOAD", "/x.so")),
    ("PATH is declared", check, |fixture, spawn| declare(spawn, "PATH", &fixture.bin.display().to_string())),
    ("BASH_ENV is declared", check, |_, spawn| declare(spawn, "BASH_ENV", "/x")),
    ("GIT_SSH_COMMAND is declared", check, |_, spawn| declare(spawn, "GIT_SSH_COMMAND", "/x")),
    ("an empty variable is declared", check, |_, spawn| declare(spawn, "X", "")),
    ("a declared value is changed", with_env, |_, spawn| declare(spawn, "MODE", "2")),
    ("a declared variable is left out", with_env, |_, spawn| spawn.env.clear()),
    ("a declared name has another case", with_env, |_, spawn| {
        spawn.env.clear();
        declare(spawn, "Mode", "1");
    }),
    // What runs what.
    ("env runs it", check, |_, spawn| words(spawn, &["env", "X=1", "tool", "run"])),
    ("a shell runs it", check, |_, spawn| words(spawn, &["sh", "-c", "tool run"])),
    ("git runs it", check, |_, spawn| words(spawn, &["git", "-c", "alias.x=!tool run", "x"])),
    ("npx runs it", check, |_, spawn| words(spawn, &["npx", "tool", "run"])),
    ("find runs it", check, |_, spawn| words(spawn, &["find", ".", "-exec", "tool", "run", ";"])),
    ("xargs runs it", check, |_, spawn| words(spawn, &["xargs", "tool", "run"])),
    ("timeout runs it", check, |_, spawn| words(spawn, &["timeout", "5", "tool", "run"])),
    ("sudo runs it", check, |_, spawn| words(spawn, &["sudo", "tool", "run"])),
    ("nohup runs it", check, |_, spawn| words(spawn, &["nohup", "tool", "run"])),
    // Kinds.
    ("a terminal runs it", check, |_, spawn| spawn.kind = Kind::Terminal),
    ("a terminal with nothing in it", check, |fixture, spawn| {
        *spawn = Spawn { kind: Kind::Terminal, ..fixture.free(&[]) };
    }),
    ("an agent has its words", check, |_, spawn| spawn.kind = Kind::Agent),
    (
        "an agent has other words",
        |fixture| fixture.agent(&["any", "a"]),
        |_, spawn| words(spawn, &["any", "b"]),
    ),
    ("it is to be restarted by itself", check, |_, spawn| spawn.auto_restart = true),
];

/// Those of them that are refused without a question.
pub(super) const REFUSED: &[&str] = &[
    "the preset is gone",
    "the project's file does not read",
    "words are given beside the preset",
    "a variable is given beside the preset",
    "another kind is given beside the preset",
    "restarts are asked for beside the preset",
    "a restore is asked for beside the preset",
    "the script is gone",
    "the script cannot be run any more",
    "the link to the preset's directory leaves the project",
    "the preset's directory becomes a link out of the project",
];

/// Changes after which a trusted list no longer covers a command.
pub(super) const LISTED: &[Case] = &[
    (
        "its program has another content",
        |fixture| fixture.free(&["tool", "check"]),
        |fixture, _| fixture.program(&fixture.bin.join("real-tool"), "\x7fELF evil"),
    ),
    (
        "a script that is listed for an interpreter has another content",
        |fixture| fixture.free(&["sh", "web/run.sh"]),
        |fixture, _| fixture.write("web/run.sh", "evil"),
    ),
    (
        "a script of the listed name lies elsewhere in the project",
        |fixture| fixture.free(&["sh", "web/run.sh"]),
        |fixture, spawn| {
            fixture.write("docs/web/run.sh", "evil");
            spawn.cwd = Some(fixture.app.join("docs").display().to_string());
        },
    ),
    (
        "a rule is added",
        |fixture| fixture.free(&["tool", "check"]),
        |fixture, spawn| {
            fixture.edit("[\"tool\", \"check\"],", "[\"tool\", \"check\"], [\"tool\", \"evil\"],");
            words(spawn, &["tool", "evil"]);
        },
    ),
    (
        "the list is edited at all",
        |fixture| fixture.free(&["tool", "check"]),
        |fixture, _| {
            fixture.edit("[\"tool\", \"check\"],", "[\"tool\", \"check\"], [\"tool\", \"evil\"],");
        },
    ),
    (
        "only a comment is added to it",
        |fixture| fixture.free(&["tool", "check"]),
        |fixture, _| {
            fixture.edit("free = \"allow\"", "free = \"allow\" # sure");
        },
    ),
    (
        "a word follows",
        |fixture| fixture.free(&["tool", "check"]),
        |_, spawn| words(spawn, &["tool", "check", "x"]),
    ),
    (
        "a word only begins like the listed one",
        |fixture| fixture.free(&["tool", "build", "x"]),
        |_, spawn| {
            words(spawn, &["tool", "buildx"]);
        },
    ),
    (
        "a variable is declared",
        |fixture| fixture.free(&["tool", "check"]),
        |_, spawn| declare(spawn, "X", "1"),
    ),
    (
        "a terminal runs it",
        |fixture| fixture.free(&["tool", "check"]),
        |_, spawn| spawn.kind = Kind::Terminal,
    ),
    (
        "an agent has its words",
        |fixture| fixture.free(&["tool", "check"]),
        |_, spawn| spawn.kind = Kind::Agent,
    ),
    (
        "a program of that name comes earlier in the search path",
        |fixture| fixture.free(&["tool", "check"]),
        |fixture, _| {
            fixture.program(&fixture.top().join("early/tool"), "\x7fELF tool");
        },
    ),
    (
        "the link behind the program's name is turned",
        |fixture| fixture.free(&["tool", "check"]),
        |fixture, _| {
            relink(Path::new("other-tool"), &fixture.bin.join("tool"));
        },
    ),
    (
        "a prefix leads to a shell by another name",
        |fixture| fixture.free(&["wrap", "x"]),
        |fixture, _| {
            relink(Path::new("bash"), &fixture.bin.join("wrap"));
        },
    ),
    (
        "the program lies in the project",
        |fixture| fixture.free(&["local", "go"]),
        |fixture, _| {
            fixture.program(&fixture.app.join("local"), "\x7fELF local");
            relink(&fixture.app.join("local"), &fixture.bin.join("local"));
        },
    ),
    (
        "another project has the same list",
        |fixture| fixture.free(&["tool", "check"]),
        |fixture, spawn| {
            let copy = fixture.top().join("copy");
            std::fs::create_dir_all(&copy).unwrap();
            std::fs::copy(fixture.app.join(".quarterdeck.toml"), copy.join(".quarterdeck.toml")).unwrap();
            spawn.cwd = Some(copy.display().to_string());
        },
    ),
    (
        "the project's rules ask again",
        |fixture| fixture.free(&["tool", "check"]),
        |fixture, _| {
            fixture.edit("free = \"allow\"", "free = \"ask\"");
        },
    ),
];

/// Changes that leave it the same command.
pub(super) const HARMLESS: &[Case] = &[
    ("nothing happens", test, |_, _| {}),
    ("nothing happens to free words", check, |_, _| {}),
    ("another preset is edited", test, |fixture, _| fixture.edit("\"other\"]", "\"changed\"]")),
    ("the comment of another preset is edited", test, |fixture, _| {
        fixture.edit("# Something else.", "# Else.")
    }),
    ("a preset is added", test, |fixture, _| {
        fixture.edit("[policy]", "[preset.new]\nargv = [\"x\"]\n[policy]")
    }),
    ("another preset does not read", test, |fixture, _| fixture.edit("[\"tool\", \"other\"]", "[1]")),
    ("the project's list is edited", test, |fixture, _| fixture.edit("[\"tool\", \"check\"],", "")),
    ("the user has a preset of the same name", test, |fixture, _| {
        std::fs::write(fixture.config.join("presets/test.toml"), "argv = [\"tool\"]\n").unwrap();
    }),
    ("another file of the project is edited", test, |fixture, _| fixture.write("web/index.html", "new")),
    ("it gets a name and a key", test, |_, spawn| {
        spawn.name = Some("mine".to_owned());
        spawn.key = Some("k".to_owned());
    }),
    ("it is asked for from deeper inside", test, |fixture, spawn| {
        spawn.cwd = Some(fixture.app.join("docs").display().to_string());
    }),
    ("it is asked for through a link to the project", check, |fixture, spawn| {
        relink(&fixture.app, &fixture.top().join("link"));
        spawn.cwd = Some(fixture.top().join("link").display().to_string());
    }),
    ("an environment is offered", check, |_, spawn| {
        spawn.base_env = Some([("PATH".to_owned(), "/evil".to_owned())].into());
    }),
];
