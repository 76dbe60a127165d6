//! The grammar of the command line: global flags. `commands` has the list of verbs, and each verb's own file
//! has its arguments and their help.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser};
use proto::Printable;

use crate::commands::{Verb, verb_groups};
use crate::errors::{self, CliError};

/// The heading of the flags that every verb has, in its help text.
pub(crate) const FOR_ALL: &str = "Options of every verb";

/// Runs and watches processes that outlive their terminal. Without a command it opens the deck, which shows them all.
#[derive(Debug, Parser)]
#[command(name = "qd", version = proto::version::VERSION, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) flags: Flags,

    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

/// The flags of every verb.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Print JSON instead of text; errors too.
    #[arg(long, global = true, help_heading = FOR_ALL, display_order = 900)]
    pub(crate) json: bool,

    /// Print no confirmations: only results and errors.
    #[arg(long, short, global = true, help_heading = FOR_ALL, display_order = 901)]
    pub(crate) quiet: bool,

    /// Use a private daemon; it and all its processes end with this command.
    #[arg(long, global = true, help_heading = FOR_ALL, display_order = 902)]
    pub(crate) ephemeral: bool,
}

/// Parses the command line; prints what is wrong with it and returns the exit code otherwise.
pub(crate) fn parse() -> Result<Cli, ExitCode> {
    let words: Vec<OsString> = std::env::args_os().collect();
    match parse_first_verb(&words) {
        Some(cli) => Ok(cli),
        None => parse_all_verbs(&words).map_err(|error| print_usage_error(&error, &words)),
    }
}

/// Parses by the whole grammar, whose help has the verbs in groups.
fn parse_all_verbs(words: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = verb_groups::with_groups(Cli::command()).try_get_matches_from(words)?;
    Cli::from_arg_matches(&matches)
}

/// Parses a command line that begins with a verb, by the grammar of that verb alone: making the grammar of all
/// verbs took a third of the time of a short command. `None` if the words need more than that: help, an error.
fn parse_first_verb(words: &[OsString]) -> Option<Cli> {
    let verb = Verb::grammar(words.get(1)?.to_str()?)?;
    let grammar = Flags::augment_args(clap::Command::new("qd")).subcommand(verb);
    let matches = grammar.try_get_matches_from(words).ok()?;
    Cli::from_arg_matches(&matches).ok()
}

fn print_usage_error(error: &clap::Error, words: &[OsString]) -> ExitCode {
    let is_json = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
    // If the output is closed, there is no reader left.
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            drop(error.print());
            ExitCode::SUCCESS
        }
        // The help of a verb that lacks its second word goes to standard error: nothing was done.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if !is_json => {
            drop(error.print());
            ExitCode::from(errors::USAGE)
        }
        _ => {
            let wrong = usage(&error.to_string());
            let wrong = match with_dashes(error, words) {
                Some(line) => wrong.hinted(format!("put -- before the command: {line}")),
                None => wrong,
            };
            errors::report(&wrong, is_json)
        }
    }
}

/// Returns the command line with `--` before the command that is to run, if it lacks only that.
fn with_dashes(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let verb = words.get(1).filter(|verb| matches!(**verb, "exec" | "spawn"))?;
    let Some(ContextValue::String(unexpected)) = error.get(ContextKind::InvalidArg) else { return None };
    if words.contains(&"--") || unexpected.starts_with('-') {
        return None;
    }
    let at = words.iter().position(|word| word == unexpected)?;
    // `spawn` takes one word, the name of an agent.
    let is_name = |word: &str| !word.starts_with('-');
    let start = if *verb == "spawn" && at > 2 && is_name(words.get(at - 1)?) { at - 1 } else { at };
    let (before, command) = words.split_at_checked(start)?;
    let shown = [&["qd"], before.get(1..)?, &["--"], command].concat().join(" ");
    Some(Printable(&shown).to_string())
}

/// Returns the error on one line and the verb's usage, from clap's paragraphs: the error with a list of
/// words, tips, the usage, and a pointer to help.
fn usage(text: &str) -> CliError {
    let mut paragraphs = text.split("\n\n").map(one_line);
    let first = paragraphs.next().unwrap_or_default();
    let error = CliError::usage(in_plain_words(first.strip_prefix("error: ").unwrap_or(&first)));
    let rest: Vec<String> = paragraphs.filter(|paragraph| !paragraph.is_empty()).map(plain).collect();
    if rest.is_empty() { error } else { error.hinted(rest.join("; ")) }
}

/// The words of the standard library about a number, of which a person sees nothing in what they typed.
const NUMBER_FAULTS: [(&str, &str); 5] = [
    ("invalid digit found in string", "it takes a whole number"),
    ("cannot parse integer from empty string", "it takes a whole number"),
    ("number too large to fit in target type", "that number is too large"),
    ("number too small to fit in target type", "that number is too small"),
    ("invalid float literal", "it takes a number"),
];

fn in_plain_words(message: &str) -> String {
    let fault = NUMBER_FAULTS.iter().find_map(|(fault, words)| Some((message.strip_suffix(fault)?, words)));
    fault.map_or_else(|| message.to_owned(), |(before, words)| format!("{before}{words}"))
}

fn one_line(paragraph: &str) -> String {
    let words: Vec<&str> = paragraph.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    words.join(" ").trim_end_matches('.').to_owned()
}

/// A paragraph of clap's without the words that a hint says already.
fn plain(paragraph: String) -> String {
    if paragraph.starts_with("For more information, ") {
        return "--help says more".to_owned();
    }
    let paragraph = paragraph.replace(" tip: ", "; ").replace("tip: ", "");
    match paragraph.split_once(" exist: ") {
        // clap puts the nearest word last.
        Some((before, words)) => {
            let nearest_first: Vec<&str> = words.split(", ").collect::<Vec<_>>().into_iter().rev().collect();
            format!("{before} exist: {}", nearest_first.join(", "))
        }
        None => paragraph,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_and_every_argument_has_a_help_text() {
        check_help(&Cli::command());
    }

    fn check_help(command: &clap::Command) {
        for verb in command.get_subcommands() {
            assert!(verb.get_about().is_some(), "{}", verb.get_name());
            for argument in verb.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {}", verb.get_name(), argument.get_id());
            }
            check_help(verb);
        }
    }

    #[test]
    fn m15_the_flags_of_every_verb_stand_under_a_heading_of_their_own() {
        let help = Cli::try_parse_from(["qd", "wait", "--help"]).unwrap_err().to_string();
        let (own, for_all) = help.split_once(FOR_ALL).unwrap();
        assert!(own.contains("--pattern") && own.contains("--timeout"), "{help}");
        let is_listed = |text: &str| text.lines().any(|line| line.trim_start().starts_with("--json "));
        assert!(!is_listed(own) && is_listed(for_all), "{help}");
    }

    #[test]
    fn a_wrong_command_line_is_told_on_one_line_with_the_usage_as_its_next_step() {
        let message = |words: &[&str]| usage(&Cli::try_parse_from(words).unwrap_err().to_string());
        let missing = message(&["qd", "key"]);
        assert!(missing.to_string().contains("were not provided: <NAME> <KEY>"), "{missing}");
        let hint = missing.hint().unwrap();
        assert!(hint.starts_with("Usage: qd key") && hint.contains("--help"), "{hint}");
        let tip = message(&["qd", "spwan"]).hint().unwrap();
        assert!(tip.starts_with("a similar subcommand exists: 'spawn'"), "{tip}");
        assert!(tip.ends_with("--help says more"), "{tip}");
        let tips = message(&["qd", "atach"]).hint().unwrap();
        assert!(tips.starts_with("some similar subcommands exist: 'attach', 'detach'"), "{tips}");
        assert!(!missing.to_string().contains('\n') && !hint.contains('\n'));
    }

    #[test]
    fn m15_a_command_without_two_dashes_before_it_is_shown_with_them() {
        let line = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            with_dashes(&Cli::try_parse_from(&words).unwrap_err(), &words)
        };
        assert_eq!(line("qd exec make test").unwrap(), "qd exec -- make test");
        assert_eq!(line("qd exec --name x make -j4 test").unwrap(), "qd exec --name x -- make -j4 test");
        assert_eq!(line("qd spawn make dev").unwrap(), "qd spawn -- make dev");
        assert_eq!(line("qd spawn --auto-restart make dev").unwrap(), "qd spawn --auto-restart -- make dev");
        for other in ["qd ps make", "qd exec --nmae x", "qd exec make -- test"] {
            assert_eq!(line(other), None, "{other}");
        }
    }

    #[test]
    fn m15_what_is_no_number_is_told_with_the_flag_and_what_it_takes() {
        let message = |words: &[&str]| usage(&Cli::try_parse_from(words).unwrap_err().to_string());
        let tail = message(&["qd", "logs", "x", "--tail", "y"]).to_string();
        assert!(tail.contains("--tail") && tail.ends_with("it takes a whole number"), "{tail}");
        let ports = message(&["qd", "new", "x", "--ports", "70000"]).to_string();
        assert!(ports.contains("--ports") && !ports.contains("in string"), "{ports}");
        let tips = message(&["qd", "exec", "--nmae", "x", "--", "y"]).hint().unwrap();
        assert!(tips.starts_with("a similar argument exists: '--name'; "), "{tips}");
    }

    #[test]
    fn every_verb_is_parsed_alone_as_it_is_among_all() {
        for verb in Cli::command().get_subcommands() {
            assert!(Verb::grammar(verb.get_name()).is_some(), "{}", verb.get_name());
        }
        let lines = [
            "qd spawn --name x --env A=1 -q -- ls --json -l",
            "qd ps --json",
            "qd read x --ephemeral",
            "qd pads list",
            "qd close x --grace 3",
        ];
        for line in lines {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let (alone, among_all) =
                (parse_first_verb(&words).expect(line), Cli::try_parse_from(words).expect(line));
            assert_eq!(format!("{alone:?}"), format!("{among_all:?}"), "{line}");
        }
        for line in
            ["qd", "qd spwan", "qd --json ps", "qd ps --help", "qd ps --version", "qd read", "qd help ps"]
        {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(parse_first_verb(&words).is_none(), "{line}");
        }
    }

    #[test]
    fn what_follows_two_dashes_is_the_childs() {
        let cli = Cli::try_parse_from(["qd", "spawn", "--name", "x", "--", "ls", "--json", "-l"]).unwrap();
        let Some(Verb::Spawn(spawn)) = cli.verb else { panic!("not a spawn") };
        assert!(!cli.flags.json);
        assert_eq!(spawn.argv, ["ls", "--json", "-l"]);
    }
}
