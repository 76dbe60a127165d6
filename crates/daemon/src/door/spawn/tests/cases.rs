//! The cases: what is trusted, and what is changed after that.

use std::path::Path;

use proto::Kind;
use proto::request::Spawn;

use super::yard::{Yard, relink};

/// A name, what a person trusts, what happens then.
type Case = (&'static str, fn(&Yard) -> Spawn, fn(&Yard, &mut Spawn));

fn test(yard: &Yard) -> Spawn {
    yard.preset("test")
}

fn check(yard: &Yard) -> Spawn {
    yard.free(&["tool", "run"])
}

fn with_env(yard: &Yard) -> Spawn {
    let mut spawn = check(yard);
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
    ("a word of the preset is edited", test, |yard, _| yard.edit("--fast", "--slow")),
    ("only a comment of it is edited", test, |yard, _| yard.edit("# the quick ones", "# the quick one")),
    ("the comment above it is edited", test, |yard, _| yard.edit("runs the tests", "ran the tests")),
    ("only a blank of it is edited", test, |yard, _| {
        yard.edit("working_dir = \"web\"", "working_dir  = \"web\"")
    }),
    ("it is renamed", test, |yard, spawn| {
        yard.edit("[preset.test]", "[preset.check]");
        yard.edit("[preset.test.env]", "[preset.check.env]");
        spawn.preset = Some("check".to_owned());
    }),
    ("a variable is added to it", test, |yard, _| yard.edit("MODE = \"1\"", "MODE = \"1\"\nMORE = \"1\"")),
    ("its variable is removed", test, |yard, _| yard.edit("MODE = \"1\"\n", "")),
    ("its variable is changed", test, |yard, _| yard.edit("MODE = \"1\"", "MODE = \"2\"")),
    ("its directory is changed", test, |yard, _| {
        yard.program(&yard.app.join("docs/run.sh"), "#!/bin/sh\necho tests\n");
        yard.edit("working_dir = \"web\"", "working_dir = \"docs\"");
    }),
    ("it is restarted by itself", test, |yard, _| {
        yard.edit("ready = {", "auto_restart = true\nready = {");
    }),
    ("it is ready otherwise", test, |yard, _| yard.edit("pattern = \"ok\"", "pattern = \".\"")),
    ("its words become a line of shell", test, |yard, _| {
        yard.edit("argv = [\"./run.sh\", \"--fast\"]", "shell = \"./run.sh --fast\"");
    }),
    ("its text moves into the user's configuration", test, |yard, _| {
        let file = yard.app.join(".quarterdeck.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        let (presets, _) = text.split_once("[policy]").unwrap();
        std::fs::write(yard.config.join("presets.toml"), presets).unwrap();
        std::fs::write(&file, "").unwrap();
    }),
    (
        "the project has a preset of the user's name",
        |yard| {
            std::fs::write(yard.config.join("presets/own.toml"), "argv = [\"tool\"]\n").unwrap();
            yard.preset("own")
        },
        |yard, _| yard.edit("[policy]", "[preset.own]\nargv = [\"tool\"]\n[policy]"),
    ),
    (
        "the user's preset is edited",
        |yard| {
            std::fs::write(yard.config.join("presets/own.toml"), "argv = [\"tool\"]\n").unwrap();
            yard.preset("own")
        },
        |yard, _| std::fs::write(yard.config.join("presets/own.toml"), "argv = [\"tool\", \"x\"]\n").unwrap(),
    ),
    ("the project's file becomes a link to another", test, |yard, _| {
        std::fs::write(yard.top().join("evil.toml"), "[preset.test]\nargv = [\"tool\"]\n").unwrap();
        relink(&yard.top().join("evil.toml"), &yard.app.join(".quarterdeck.toml"));
    }),
    ("the preset is gone", test, |yard, _| yard.write(".quarterdeck.toml", "")),
    ("the project's file does not read", test, |yard, _| yard.write(".quarterdeck.toml", "[preset")),
    // What stands beside the preset.
    ("words are given beside the preset", test, |_, spawn| words(spawn, &["tool"])),
    ("a variable is given beside the preset", test, |_, spawn| declare(spawn, "MODE", "1")),
    ("another kind is given beside the preset", test, |_, spawn| spawn.kind = Kind::Terminal),
    ("restarts are asked for beside the preset", test, |_, spawn| spawn.auto_restart = true),
    ("a restore is asked for beside the preset", test, |_, spawn| spawn.restore = true),
    // Programs and scripts.
    ("the script is edited", test, |yard, _| {
        yard.program(&yard.app.join("web/run.sh"), "#!/bin/sh\necho evil\n");
    }),
    ("the script becomes a link to another of the same text", test, |yard, _| {
        yard.program(&yard.app.join("docs/run.sh"), "#!/bin/sh\necho tests\n");
        relink(&yard.app.join("docs/run.sh"), &yard.app.join("web/run.sh"));
    }),
    ("the script becomes a link to a shell", test, |yard, _| {
        relink(&yard.bin.join("sh"), &yard.app.join("web/run.sh"));
    }),
    ("the script is gone", test, |yard, _| std::fs::remove_file(yard.app.join("web/run.sh")).unwrap()),
    ("the script cannot be run any more", test, |yard, _| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        std::fs::set_permissions(yard.app.join("web/run.sh"), mode).unwrap();
    }),
    (
        "a script that a shell is given is edited",
        |yard| yard.preset("wrapped"),
        |yard, _| {
            yard.write("web/run.sh", "#!/bin/sh\necho evil\n");
        },
    ),
    ("the link behind the program's name is turned", check, |yard, _| {
        relink(Path::new("other-tool"), &yard.bin.join("tool"));
    }),
    ("a program of that name comes earlier in the search path", check, |yard, _| {
        yard.program(&yard.top().join("early/tool"), "\x7fELF tool");
    }),
    ("a link to the same name elsewhere comes earlier", check, |yard, _| {
        relink(&yard.bin.join("other-tool"), &yard.top().join("early/tool"));
    }),
    ("the program becomes a script", check, |yard, _| {
        yard.program(&yard.bin.join("real-tool"), "#!/bin/sh\n");
    }),
    ("the program is named by its path", check, |yard, spawn| {
        words(spawn, &[yard.bin.join("real-tool").to_str().unwrap(), "run"]);
    }),
    ("the program is named by another link", check, |yard, spawn| {
        relink(Path::new("real-tool"), &yard.bin.join("tool2"));
        words(spawn, &["tool2", "run"]);
    }),
    // The directory.
    ("it runs in another directory", check, |yard, spawn| {
        spawn.cwd = Some(yard.app.join("docs").display().to_string());
    }),
    (
        "the link to its directory is turned",
        |yard| {
            let mut spawn = check(yard);
            spawn.cwd = Some(yard.app.join("here").display().to_string());
            spawn
        },
        |yard, _| yard.link("web", "here"),
    ),
    (
        "the link to the preset's directory is turned",
        |yard| yard.preset("linked"),
        |yard, _| {
            yard.link("web", "here");
        },
    ),
    (
        "the link to the preset's directory leaves the project",
        |yard| yard.preset("linked"),
        |yard, _| {
            yard.link("../elsewhere", "here");
        },
    ),
    ("the preset's directory becomes a link out of the project", test, |yard, _| {
        std::fs::rename(yard.app.join("web"), yard.top().join("elsewhere/web")).unwrap();
        relink(&yard.top().join("elsewhere/web"), &yard.app.join("web"));
    }),
    ("another project has the same preset", test, |yard, spawn| {
        let copy = yard.top().join("copy");
        std::fs::create_dir_all(copy.join("web")).unwrap();
        std::fs::copy(yard.app.join(".quarterdeck.toml"), copy.join(".quarterdeck.toml")).unwrap();
        std::fs::copy(yard.app.join("web/run.sh"), copy.join("web/run.sh")).unwrap();
        spawn.cwd = Some(copy.display().to_string());
    }),
    ("the project was moved", test, |yard, spawn| {
        std::fs::rename(&yard.app, yard.top().join("moved")).unwrap();
        spawn.cwd = Some(yard.top().join("moved").display().to_string());
    }),
    (
        "its directory becomes a project of its own",
        |yard| {
            let mut spawn = check(yard);
            spawn.cwd = Some(yard.app.join("web").display().to_string());
            spawn
        },
        |yard, _| yard.write("web/.quarterdeck.toml", ""),
    ),
    // Words.
    ("a word has a blank at its end", check, |_, spawn| words(spawn, &["tool", "run "])),
    ("a word has a blank at its beginning", check, |_, spawn| words(spawn, &["tool", " run"])),
    ("a letter is another that looks the same", check, |_, spawn| words(spawn, &["tool", "r\u{57d}n"])),
    ("the program's letter is another that looks the same", check, |yard, spawn| {
        yard.program(&yard.bin.join("t\u{43e}ol"), "\x7fELF tool");
        words(spawn, &["t\u{43e}ol", "run"]);
    }),
    ("a word has an invisible character", check, |_, spawn| words(spawn, &["tool", "run\u{200b}"])),
    (
        "a letter is composed otherwise",
        |yard| yard.free(&["tool", "caf\u{e9}"]),
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
        |yard| yard.free(&["tool", "a", "b"]),
        |_, spawn| words(spawn, &["tool", "a b"]),
    ),
    ("a word ends in a new line", check, |_, spawn| words(spawn, &["tool", "run\n"])),
    (
        "the words change places",
        |yard| yard.free(&["tool", "a", "b"]),
        |_, spawn| {
            words(spawn, &["tool", "b", "a"]);
        },
    ),
    // Variables.
    ("LD_PRELOAD is declared", check, |_, spawn| declare(spawn, "LD_PRELOAD", "/x.so")),
    ("PATH is declared", check, |yard, spawn| declare(spawn, "PATH", &yard.bin.display().to_string())),
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
    ("a terminal with nothing in it", check, |yard, spawn| {
        *spawn = Spawn { kind: Kind::Terminal, ..yard.free(&[]) };
    }),
    ("an agent has its words", check, |_, spawn| spawn.kind = Kind::Agent),
    ("an agent has other words", |yard| yard.agent(&["any", "a"]), |_, spawn| words(spawn, &["any", "b"])),
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
        "a rule is added",
        |yard| yard.free(&["tool", "check"]),
        |yard, spawn| {
            yard.edit("[\"tool\", \"check\"],", "[\"tool\", \"check\"], [\"tool\", \"evil\"],");
            words(spawn, &["tool", "evil"]);
        },
    ),
    (
        "the list is edited at all",
        |yard| yard.free(&["tool", "check"]),
        |yard, _| {
            yard.edit("[\"tool\", \"check\"],", "[\"tool\", \"check\"], [\"tool\", \"evil\"],");
        },
    ),
    (
        "only a comment is added to it",
        |yard| yard.free(&["tool", "check"]),
        |yard, _| {
            yard.edit("free = \"allow\"", "free = \"allow\" # sure");
        },
    ),
    (
        "a word follows",
        |yard| yard.free(&["tool", "check"]),
        |_, spawn| words(spawn, &["tool", "check", "x"]),
    ),
    (
        "a word only begins like the listed one",
        |yard| yard.free(&["tool", "build", "x"]),
        |_, spawn| {
            words(spawn, &["tool", "buildx"]);
        },
    ),
    ("a variable is declared", |yard| yard.free(&["tool", "check"]), |_, spawn| declare(spawn, "X", "1")),
    ("a terminal runs it", |yard| yard.free(&["tool", "check"]), |_, spawn| spawn.kind = Kind::Terminal),
    ("an agent has its words", |yard| yard.free(&["tool", "check"]), |_, spawn| spawn.kind = Kind::Agent),
    (
        "a program of that name comes earlier in the search path",
        |yard| yard.free(&["tool", "check"]),
        |yard, _| {
            yard.program(&yard.top().join("early/tool"), "\x7fELF tool");
        },
    ),
    (
        "the link behind the program's name is turned",
        |yard| yard.free(&["tool", "check"]),
        |yard, _| {
            relink(Path::new("other-tool"), &yard.bin.join("tool"));
        },
    ),
    (
        "a prefix leads to a shell by another name",
        |yard| yard.free(&["wrap", "x"]),
        |yard, _| {
            relink(Path::new("bash"), &yard.bin.join("wrap"));
        },
    ),
    (
        "the program lies in the project",
        |yard| yard.free(&["local", "go"]),
        |yard, _| {
            yard.program(&yard.app.join("local"), "\x7fELF local");
            relink(&yard.app.join("local"), &yard.bin.join("local"));
        },
    ),
    (
        "another project has the same list",
        |yard| yard.free(&["tool", "check"]),
        |yard, spawn| {
            let copy = yard.top().join("copy");
            std::fs::create_dir_all(&copy).unwrap();
            std::fs::copy(yard.app.join(".quarterdeck.toml"), copy.join(".quarterdeck.toml")).unwrap();
            spawn.cwd = Some(copy.display().to_string());
        },
    ),
    (
        "the project's rules ask again",
        |yard| yard.free(&["tool", "check"]),
        |yard, _| {
            yard.edit("free = \"allow\"", "free = \"ask\"");
        },
    ),
];

/// Changes that leave it the same command.
pub(super) const HARMLESS: &[Case] = &[
    ("nothing happens", test, |_, _| {}),
    ("nothing happens to free words", check, |_, _| {}),
    ("another preset is edited", test, |yard, _| yard.edit("\"other\"]", "\"changed\"]")),
    ("the comment of another preset is edited", test, |yard, _| yard.edit("# Something else.", "# Else.")),
    ("a preset is added", test, |yard, _| yard.edit("[policy]", "[preset.new]\nargv = [\"x\"]\n[policy]")),
    ("another preset does not read", test, |yard, _| yard.edit("[\"tool\", \"other\"]", "[1]")),
    ("the project's list is edited", test, |yard, _| yard.edit("[\"tool\", \"check\"],", "")),
    ("the user has a preset of the same name", test, |yard, _| {
        std::fs::write(yard.config.join("presets/test.toml"), "argv = [\"tool\"]\n").unwrap();
    }),
    ("another file of the project is edited", test, |yard, _| yard.write("web/index.html", "new")),
    ("it gets a name and a key", test, |_, spawn| {
        spawn.name = Some("mine".to_owned());
        spawn.key = Some("k".to_owned());
    }),
    ("it is asked for from deeper inside", test, |yard, spawn| {
        spawn.cwd = Some(yard.app.join("docs").display().to_string());
    }),
    ("it is asked for through a link to the project", check, |yard, spawn| {
        relink(&yard.app, &yard.top().join("link"));
        spawn.cwd = Some(yard.top().join("link").display().to_string());
    }),
    ("an environment is offered", check, |_, spawn| {
        spawn.base_env = Some([("PATH".to_owned(), "/evil".to_owned())].into());
    }),
];
