//! Decides whether a program may type now: what is in its way on the screen, in the composer or at the
//! keyboard.

use std::time::Duration;

use agents::detect::Written;
use engine::effect::{ComposerIs, Guard};
use engine::input::{ScreenSeen, TypingOutcome};
use proto::agent::Composer;

/// What a program's typing depends on.
pub(super) struct TypingContext<'a> {
    pub(super) look: &'a ScreenSeen,
    /// The text of a draft in the composer.
    pub(super) written: &'a Written,
    /// The terminal reads lines without echo.
    pub(super) is_secret: bool,
    /// How long ago a person typed.
    pub(super) person_quiet: Option<Duration>,
}

/// Returns why nothing may be typed; `None` when it may.
pub(super) fn obstacle(guard: &Guard, around: &TypingContext<'_>) -> Option<TypingOutcome> {
    let open = around.look.dialog.as_ref();
    let digest = open.and_then(|evidence| evidence.dialog.as_ref()).map(|dialog| dialog.digest.as_str());
    let is_person_near =
        around.person_quiet.is_some_and(|quiet| quiet < Duration::from_millis(guard.person_quiet_ms));
    match &guard.dialog {
        Some(wanted) if digest != Some(wanted.as_str()) => Some(TypingOutcome::Stale),
        None if open.is_some() => Some(TypingOutcome::Dialog),
        _ if around.is_secret => Some(TypingOutcome::NoEcho),
        _ if is_person_near => Some(TypingOutcome::PersonTyping),
        _ => composer_obstacle(&guard.composer, around),
    }
}

/// Returns the obstacle in the composer, if any.
fn composer_obstacle(wanted: &ComposerIs, around: &TypingContext<'_>) -> Option<TypingOutcome> {
    match (wanted, around.look.composer) {
        (ComposerIs::Any, _)
        | (ComposerIs::NoShell, Composer::Unknown | Composer::Empty | Composer::Draft)
        | (ComposerIs::NoDraft, Composer::Unknown | Composer::Empty)
        | (ComposerIs::Ready, Composer::Empty | Composer::Draft)
        | (ComposerIs::Empty, Composer::Empty) => None,
        (_, Composer::Shell) => Some(TypingOutcome::Shell),
        (ComposerIs::NoDraft | ComposerIs::Empty, Composer::Draft) => Some(TypingOutcome::Draft),
        (ComposerIs::Holds(text), Composer::Draft) if around.written.reads_as(text) => None,
        (ComposerIs::Holds(_), Composer::Draft | Composer::Empty) => Some(TypingOutcome::OtherText),
        (ComposerIs::Ready | ComposerIs::Empty | ComposerIs::Holds(_), Composer::Unknown) => {
            Some(TypingOutcome::NoComposer)
        }
    }
}

/// Returns what the composer must hold for a program that writes by itself. Unlike for mail, its own unsubmitted text
/// is no obstacle: only a person's draft is. A composer that no rule describes is never seen.
pub(super) fn wanted_by_writer(
    wanted: &ComposerIs,
    is_described: bool,
    is_persons_draft: bool,
) -> ComposerIs {
    match wanted {
        ComposerIs::Ready if is_described && is_persons_draft => ComposerIs::Empty,
        ComposerIs::Ready if is_described => ComposerIs::Ready,
        ComposerIs::Ready | ComposerIs::NoDraft if is_persons_draft => ComposerIs::NoDraft,
        ComposerIs::Ready | ComposerIs::NoDraft => ComposerIs::NoShell,
        wanted => wanted.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::agent::{Dialog, Source};
    use proto::{AgentState, Evidence};

    fn guard() -> Guard {
        Guard { dialog: None, composer: ComposerIs::Empty, person_quiet_ms: 3_000 }
    }

    fn dialog(digest: &str) -> Evidence {
        let open =
            Dialog { digest: digest.to_owned(), title: String::new(), body: String::new(), options: vec![] };
        Evidence { dialog: Some(open), ..Evidence::new(Source::Dialog, "ask", Some(AgentState::Blocked)) }
    }

    fn obstacle_with(
        guard: &Guard,
        look: &ScreenSeen,
        is_secret: bool,
        quiet_ms: Option<u64>,
    ) -> Option<TypingOutcome> {
        let person_quiet = quiet_ms.map(Duration::from_millis);
        obstacle(guard, &TypingContext { look, written: &Written::default(), is_secret, person_quiet })
    }

    fn seen(composer: Composer) -> ScreenSeen {
        ScreenSeen { composer, ..ScreenSeen::default() }
    }

    #[test]
    fn c17_a_message_is_pasted_only_into_a_composer_that_is_seen_and_empty() {
        let obstacle = |composer| obstacle_with(&guard(), &seen(composer), false, None);
        assert_eq!(obstacle(Composer::Empty), None);
        assert_eq!(obstacle(Composer::Unknown), Some(TypingOutcome::NoComposer));
        assert_eq!(obstacle(Composer::Shell), Some(TypingOutcome::Shell));
        assert_eq!(obstacle(Composer::Draft), Some(TypingOutcome::Draft));
    }

    #[test]
    fn c17_enter_is_pressed_only_when_the_composer_holds_the_text_it_is_meant_for() {
        let enter = Guard { composer: ComposerIs::Holds("fix it".to_owned()), ..guard() };
        let obstacle = |composer| obstacle_with(&enter, &seen(composer), false, None);
        assert_eq!(obstacle(Composer::Draft), Some(TypingOutcome::OtherText), "another text");
        assert_eq!(obstacle(Composer::Empty), Some(TypingOutcome::OtherText));
        assert_eq!(obstacle(Composer::Unknown), Some(TypingOutcome::NoComposer));
        assert_eq!(obstacle(Composer::Shell), Some(TypingOutcome::Shell));
    }

    #[test]
    fn c17_what_a_program_types_by_itself_never_reaches_a_shell_mode() {
        for composer in [ComposerIs::NoDraft, ComposerIs::NoShell] {
            let write = Guard { composer, ..guard() };
            assert_eq!(
                obstacle_with(&write, &seen(Composer::Shell), false, None),
                Some(TypingOutcome::Shell)
            );
            assert_eq!(obstacle_with(&write, &seen(Composer::Unknown), false, None), None);
        }
    }

    #[test]
    fn c17_a_program_submits_only_in_a_composer_that_is_seen_where_it_can_be_seen() {
        let submits = |is_described, is_persons_draft, composer| {
            let composer_is = wanted_by_writer(&ComposerIs::Ready, is_described, is_persons_draft);
            let write = Guard { composer: composer_is, ..guard() };
            obstacle_with(&write, &seen(composer), false, None)
        };
        assert_eq!(submits(true, false, Composer::Unknown), Some(TypingOutcome::NoComposer));
        assert_eq!(submits(true, false, Composer::Empty), None);
        assert_eq!(submits(true, false, Composer::Draft), None, "its own draft");
        assert_eq!(submits(true, true, Composer::Draft), Some(TypingOutcome::Draft));
        assert_eq!(submits(true, true, Composer::Unknown), Some(TypingOutcome::NoComposer));
        assert_eq!(submits(true, false, Composer::Shell), Some(TypingOutcome::Shell));
        assert_eq!(submits(false, false, Composer::Unknown), None, "a shell has no composer");
    }

    #[test]
    fn c3_a_program_types_neither_into_a_dialog_nor_over_a_draft_nor_into_a_secret() {
        let clear = ScreenSeen { composer: Composer::Empty, ..ScreenSeen::default() };
        let draft = ScreenSeen { composer: Composer::Draft, ..ScreenSeen::default() };
        let asking = ScreenSeen { dialog: Some(dialog("d1")), ..ScreenSeen::default() };
        assert_eq!(obstacle_with(&guard(), &clear, false, None), None);
        assert_eq!(obstacle_with(&guard(), &draft, false, None), Some(TypingOutcome::Draft));
        assert_eq!(obstacle_with(&guard(), &asking, false, None), Some(TypingOutcome::Dialog));
        assert_eq!(obstacle_with(&guard(), &clear, true, None), Some(TypingOutcome::NoEcho));
        assert_eq!(obstacle_with(&guard(), &clear, false, Some(2_999)), Some(TypingOutcome::PersonTyping));
        assert_eq!(obstacle_with(&guard(), &clear, false, Some(3_000)), None);
    }

    #[test]
    fn c3_an_answer_reaches_only_the_dialog_it_names() {
        let answer = Guard { dialog: Some("d1".to_owned()), composer: ComposerIs::Any, person_quiet_ms: 0 };
        let asking = |digest| ScreenSeen { dialog: Some(dialog(digest)), ..ScreenSeen::default() };
        assert_eq!(obstacle_with(&answer, &asking("d1"), false, None), None);
        assert_eq!(obstacle_with(&answer, &asking("d2"), false, None), Some(TypingOutcome::Stale));
        assert_eq!(obstacle_with(&answer, &ScreenSeen::default(), false, None), Some(TypingOutcome::Stale));
    }
}
