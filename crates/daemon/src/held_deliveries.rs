//! Holds back deliveries to agents whose records the store has refused. They wait until the records are
//! stored: a daemon that died in between would not know of them, and the next one would deliver the same
//! message or timer again.

use engine::Effect;
use engine::effect::Keystrokes;

use crate::warnings::{Cause, Warnings};

/// Effects that wait. There is at most one for each agent, because an agent gets one message at a time.
pub(crate) struct HeldDeliveries {
    effects: Vec<Effect>,
    warnings: Warnings,
}

impl HeldDeliveries {
    pub(crate) fn new(warnings: Warnings) -> Self {
        Self { effects: Vec::new(), warnings }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.effects.is_empty()
    }

    /// Holds the deliveries among the effects back; returns the others.
    pub(crate) fn hold(&mut self, effects: Vec<Effect>) -> Vec<Effect> {
        let (held, rest): (Vec<Effect>, Vec<Effect>) = effects.into_iter().partition(is_delivery);
        if !held.is_empty() {
            self.effects.extend(held);
            self.replace_warning();
        }
        rest
    }

    /// Returns everything that was held back.
    pub(crate) fn release(&mut self) -> Vec<Effect> {
        let released = std::mem::take(&mut self.effects);
        self.replace_warning();
        released
    }

    /// Replaces the warning that shows in `status` how many wait.
    fn replace_warning(&self) {
        let text = match self.effects.len() {
            0 => return self.warnings.clear(&Cause::HeldDeliveries),
            1 => "1 message or timer waits until state can be saved".to_owned(),
            count => format!("{count} messages and timers wait until state can be saved"),
        };
        self.warnings.set(Cause::HeldDeliveries, text);
    }
}

/// Returns true if an effect gives an agent a message. Keys do not: they answer, interrupt or submit what is there.
fn is_delivery(effect: &Effect) -> bool {
    matches!(effect, Effect::HandOver { .. } | Effect::Type { what: Keystrokes::Paste(_), .. })
}

#[cfg(test)]
mod tests {
    use engine::effect::{ComposerIs, Guard};
    use engine::input::JobId;
    use engine::{RunKey, Ticket};
    use proto::{ProcessId, RunNumber};

    use super::*;

    fn typed(what: Keystrokes) -> Effect {
        let run = RunKey::new(ProcessId::from_entropy(7), RunNumber(1));
        let guard = Guard { dialog: None, composer: ComposerIs::Any, person_quiet_ms: 0 };
        Effect::Type { run, job: JobId(1), what, guard }
    }

    #[test]
    fn m7e_messages_wait_and_keys_and_answers_do_not() {
        let warnings = Warnings::default();
        warnings.set(Cause::Settings, "another".to_owned());
        let mut held = HeldDeliveries::new(warnings.clone());
        let answer = || Effect::Reply {
            ticket: Ticket(1),
            result: Box::new(Err(proto::Failure::new(proto::ErrorCode::Busy, "no"))),
        };
        let keys = || typed(Keystrokes::Keys(vec!["enter".to_owned()]));
        let rest = held.hold(vec![keys(), typed(Keystrokes::Paste("message".to_owned())), answer()]);
        let shown = |effects: &[Effect]| format!("{effects:?}");
        assert_eq!(shown(&rest), shown(&[keys(), answer()]));
        assert_eq!(warnings.texts().len(), 2);
        assert_eq!(shown(&held.release()), shown(&[typed(Keystrokes::Paste("message".to_owned()))]));
        assert_eq!(warnings.texts(), ["another"], "the warning goes with what waited");
        assert!(held.is_empty());
    }
}
