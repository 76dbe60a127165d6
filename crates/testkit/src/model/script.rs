//! Parses the script in a prompt and chooses the step to play. The script is in the prompt, so that a test
//! reads as one text and the server keeps no state per test.

use std::time::Duration;

use serde_json::Value;

/// The mark that Quarterdeck puts before each line of a message that no person wrote.
const MARK: char = '│';

/// The user's side of a conversation, in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    /// A text of the user, or of the program in the user's name.
    Text(String),
    /// The result of a tool.
    Result(String),
}

/// One step of the model.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// `@say TEXT`: ends the turn.
    Say(String),
    /// `@drip SECONDS TEXT`: ends the turn, word by word over this time.
    Drip { over: Duration, text: String },
    /// `@tool NAME {json}`: calls a tool.
    Tool { name: String, input: Value },
    /// `@quota SECONDS`: the account is used up until then.
    Quota { reset_in: u64 },
    /// `@fail STATUS`: an error of the server.
    Fail { status: u16 },
    /// `@hang`: begins to answer and does not continue.
    Hang,
}

/// What happens before a step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pause {
    /// `@slow SECONDS`.
    Slow(Duration),
    /// `@gate NAME`: until the test opens it.
    Gate(String),
}

/// The answer to one request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cue {
    /// The prompt being played: the last one with directives, else the last text.
    pub(super) prompt: String,
    /// How many tools have answered since that prompt.
    pub(super) position: usize,
    pub(super) pauses: Vec<Pause>,
    pub(super) step: Step,
}

/// Chooses the answer for a conversation.
pub(super) fn cue(said: &[Said]) -> Cue {
    let mut prompt = String::new();
    let mut script = Vec::new();
    let mut scenes: Vec<Scene> = Vec::new();
    let mut position = 0;
    let mut last_result = None;
    for part in said {
        match part {
            Said::Text(text) => {
                let (directives, later) = scenes_of(directives(text));
                if !directives.is_empty() {
                    (prompt, script, scenes, position) = (text.clone(), directives, later, 0);
                } else if let Some(scene) = scenes.iter().find(|scene| text.contains(&scene.when)) {
                    (prompt, script, position) = (text.clone(), scene.script.clone(), 0);
                } else if script.is_empty() {
                    prompt.clone_from(text);
                }
            }
            Said::Result(result) => {
                position += 1;
                last_result = Some(result);
            }
        }
    }
    let (pauses, step) = nth(script, position).unwrap_or_else(|| {
        let last: String = last_result.map(|result| result.chars().take(300).collect()).unwrap_or_default();
        (Vec::new(), Step::Say(format!("end of script; last result: {last}")))
    });
    Cue { prompt, position, pauses, step }
}

#[derive(Clone)]
enum Directive {
    Pause(Pause),
    Step(Step),
    When(String),
}

/// A part of a script that waits for a text.
struct Scene {
    when: String,
    script: Vec<Directive>,
}

/// Splits a script into what is played at once and what waits for a text.
fn scenes_of(all: Vec<Directive>) -> (Vec<Directive>, Vec<Scene>) {
    let mut at_once = Vec::new();
    let mut scenes: Vec<Scene> = Vec::new();
    for directive in all {
        match (directive, scenes.last_mut()) {
            (Directive::When(when), _) => scenes.push(Scene { when, script: Vec::new() }),
            (other, Some(scene)) => scene.script.push(other),
            (other, None) => at_once.push(other),
        }
    }
    (at_once, scenes)
}

/// Returns the step at `position`, with the pauses written directly before it.
fn nth(script: Vec<Directive>, position: usize) -> Option<(Vec<Pause>, Step)> {
    let mut before = position;
    let mut pauses = Vec::new();
    for directive in script {
        match directive {
            Directive::Pause(pause) => pauses.push(pause),
            Directive::When(_) => {}
            Directive::Step(step) if before == 0 => return Some((pauses, step)),
            Directive::Step(_) => {
                before -= 1;
                pauses.clear();
            }
        }
    }
    None
}

fn directives(text: &str) -> Vec<Directive> {
    unquoted(text).lines().filter_map(directive).collect()
}

/// Ends a prompt that a hook has handed over when the turn before it ended.
const HOOK_END: &str = "</hook_prompt>";

/// Removes the quotes that some programs put around a prompt from their command line.
fn unquoted(text: &str) -> String {
    let inside = text.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.map_or_else(|| text.to_owned(), |inside| inside.replace("\\\"", "\""))
}

/// Parses a line's directive. A line that begins like one but is invalid is answered with its own fault,
/// which the test then sees on the screen.
fn directive(line: &str) -> Option<Directive> {
    let line = line.trim();
    let line = line.strip_prefix(MARK).map_or(line, str::trim_start);
    let line = line.strip_suffix(HOOK_END).unwrap_or(line);
    let (word, rest) = line.strip_prefix('@').map(|rest| rest.split_once(' ').unwrap_or((rest, "")))?;
    let rest = rest.trim();
    let read = match word {
        "say" => Some(Directive::Step(Step::Say(rest.to_owned()))),
        "drip" => drip(rest),
        "tool" => tool(rest),
        "quota" => rest.parse().ok().map(|reset_in| Directive::Step(Step::Quota { reset_in })),
        "fail" => rest.parse().ok().map(|status| Directive::Step(Step::Fail { status })),
        "hang" => Some(Directive::Step(Step::Hang)),
        "slow" => slow(rest),
        "gate" => Some(Directive::Pause(Pause::Gate(rest.to_owned()))),
        "when" => (!rest.is_empty()).then(|| Directive::When(rest.to_owned())),
        _ => return None,
    };
    Some(read.unwrap_or_else(|| Directive::Step(Step::Say(format!("cannot read the directive `{line}`")))))
}

fn tool(rest: &str) -> Option<Directive> {
    let (name, input) = rest.split_once(' ').unwrap_or((rest, "{}"));
    let input = serde_json::from_str(input).ok()?;
    (!name.is_empty()).then(|| Directive::Step(Step::Tool { name: name.to_owned(), input }))
}

fn drip(rest: &str) -> Option<Directive> {
    let (seconds, text) = rest.split_once(' ')?;
    let over = Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?;
    Some(Directive::Step(Step::Drip { over, text: text.to_owned() }))
}

fn slow(rest: &str) -> Option<Directive> {
    let seconds = rest.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().map(|time| Directive::Pause(Pause::Slow(time)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(text: &str) -> Said {
        Said::Text(text.to_owned())
    }

    fn result(text: &str) -> Said {
        Said::Result(text.to_owned())
    }

    fn say(text: &str) -> Step {
        Step::Say(text.to_owned())
    }

    const SCRIPT: &str = "please do this\n  @gate a\n@tool look {\"at\": 1}\n@slow 0.5\n@say done";

    #[test]
    fn the_step_is_the_number_of_results_since_the_prompt() {
        let first = cue(&[text(SCRIPT)]);
        assert_eq!(first.step, Step::Tool { name: "look".to_owned(), input: json!({"at": 1}) });
        assert_eq!(first.pauses, [Pause::Gate("a".to_owned())]);
        let second = cue(&[text(SCRIPT), result("seen")]);
        assert_eq!((second.position, &second.step), (1, &say("done")));
        assert_eq!(second.pauses, [Pause::Slow(Duration::from_millis(500))]);
        assert_eq!(
            cue(&[text(SCRIPT), result("seen"), result("more")]).step,
            say("end of script; last result: more")
        );
    }

    #[test]
    fn a_new_script_replaces_the_old_one_and_a_plain_text_does_not() {
        let said = [text(SCRIPT), result("seen"), text("by the way"), text("@say second")];
        assert_eq!(cue(&said[..3]).step, say("done"));
        let second = cue(&said);
        assert_eq!((second.prompt.as_str(), second.position, second.step), ("@say second", 0, say("second")));
    }

    #[test]
    fn a_later_text_without_a_script_finds_the_scene_that_waits_for_it() {
        let script = text(
            "@say at once\n@when bell\n@tool look {}\n@say after the bell\n@when horn\n@say after the horn",
        );
        let said = [script, text("nothing yet"), text("the horn"), text("the bell"), result("seen")];
        assert_eq!(cue(&said[..2]).step, say("at once"));
        assert_eq!(cue(&said[..3]).step, say("after the horn"));
        let look = cue(&said[..4]);
        assert_eq!((look.prompt.as_str(), look.position), ("the bell", 0));
        assert_eq!(cue(&said).step, say("after the bell"));
        assert_eq!(cue(&[said[0].clone(), text("@say new"), text("the bell")]).step, say("new"));
    }

    #[test]
    fn a_message_between_agents_is_played_without_the_mark_before_its_lines() {
        let message = cue(&[text("[orchestrator lead 0badcafe]\n│ please\n│ @say done")]);
        assert_eq!(message.step, say("done"));
        assert_eq!(cue(&[text("│ @nonsense")]).step, say("end of script; last result: "));
    }

    #[test]
    fn a_prompt_that_a_hook_hands_over_is_played_without_its_tag() {
        let handed = cue(&[text("<hook_prompt hook_run_id=\"stop:0\">more\n@say done</hook_prompt>")]);
        assert_eq!(handed.step, say("done"));
    }

    #[test]
    fn a_prompt_in_quotes_is_played_too() {
        let quoted = cue(&[text("\"@tool look {\\\"at\\\":1}\n@say done\"")]);
        assert_eq!(quoted.step, Step::Tool { name: "look".to_owned(), input: json!({"at": 1}) });
    }

    #[test]
    fn refusals_and_hanging_are_steps() {
        assert_eq!(cue(&[text("@quota 3600")]).step, Step::Quota { reset_in: 3600 });
        assert_eq!(cue(&[text("@fail 529")]).step, Step::Fail { status: 529 });
        assert_eq!(cue(&[text("@hang")]).step, Step::Hang);
        let drip = Step::Drip { over: Duration::from_millis(1_500), text: "a b".to_owned() };
        assert_eq!(cue(&[text("@drip 1.5 a b")]).step, drip);
    }

    #[test]
    fn a_directive_that_cannot_be_read_is_told() {
        for line in ["@tool look {", "@drip a b", "@quota soon", "@slow -1", "@when"] {
            assert_eq!(cue(&[text(line)]).step, say(&format!("cannot read the directive `{line}`")));
        }
        assert_eq!(cue(&[text("@someone hello")]).step, say("end of script; last result: "));
    }
}
