//! Decides which requests may be sent again when an answer was lost: what a second one would do.
//!
//! A row of `verbs!` names one of the functions of [`Repeat`]; a row without one is
//! [`Repeat::Harmful`].

use crate::request::{
    Ask, Attention, Pad, PadAct, Request, SetTimer, Spawn, Task, TaskAct, Tell, Write, WriteKey,
};

/// The effect of sending a request a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// None: it only reads, or the second time leaves everything as the first did.
    Harmless,
    /// None, because the daemon does it once for its key, however often it is sent.
    Keyed,
    /// It may be done twice.
    Harmful,
}

impl Repeat {
    pub(crate) fn harmless<T>(_arguments: &mut T, _fresh_key: &mut dyn FnMut() -> String) -> Self {
        Self::Harmless
    }

    /// Gives the request a key if it has none.
    pub(crate) fn keyed(arguments: &mut impl Keyed, fresh_key: &mut dyn FnMut() -> String) -> Self {
        arguments.key().get_or_insert_with(fresh_key);
        Self::Keyed
    }

    /// Gives a write a key if it has none.
    pub(crate) fn typed(write: &mut Write, fresh_key: &mut dyn FnMut() -> String) -> Self {
        write.key.get_or_insert_with(|| WriteKey { id: fresh_key(), again: false });
        Self::Keyed
    }

    /// Operations on tasks get a key if they have none; of the rest, as the act says.
    pub(crate) fn by_operation(task: &mut Task, fresh_key: &mut dyn FnMut() -> String) -> Self {
        match task.act.is_operation() {
            true => Self::keyed(task, fresh_key),
            false => Self::by_act(task, fresh_key),
        }
    }

    /// As the act says.
    pub(crate) fn by_act(arguments: &mut impl Acts, _fresh_key: &mut dyn FnMut() -> String) -> Self {
        if arguments.only_reads() { Self::Harmless } else { Self::Harmful }
    }
}

impl Request {
    /// Records that the request was sent before, where the daemon must know it.
    pub fn mark_sent(&mut self) {
        if let Request::Write(Write { key: Some(key), .. }) = self {
            key.again = true;
        }
    }
}

/// Arguments of a verb that reads or changes, as its act says.
pub(crate) trait Acts {
    fn only_reads(&self) -> bool;
}

impl Acts for Pad {
    fn only_reads(&self) -> bool {
        match self.act {
            PadAct::List(_) | PadAct::Read { .. } | PadAct::History { .. } => true,
            PadAct::Write { .. } | PadAct::Append { .. } | PadAct::Delete { .. } | PadAct::Rename { .. } => {
                false
            }
        }
    }
}

impl Acts for Task {
    fn only_reads(&self) -> bool {
        match &self.act {
            TaskAct::List(_)
            | TaskAct::Show(_)
            | TaskAct::Diff(_)
            | TaskAct::Forecast(_)
            | TaskAct::Dropped(_) => true,
            TaskAct::Collect(collect) => collect.dry_run,
            TaskAct::Import(import) => import.dry_run,
            TaskAct::Create(_)
            | TaskAct::Review(_)
            | TaskAct::Land(_)
            | TaskAct::Drop(_)
            | TaskAct::Restore(_) => false,
        }
    }
}

/// Arguments with a key under which the daemon does something once.
pub(crate) trait Keyed {
    fn key(&mut self) -> &mut Option<String>;
}

macro_rules! keyed {
    ($($arguments:ty),*) => {
        $(impl Keyed for $arguments {
            fn key(&mut self) -> &mut Option<String> {
                &mut self.key
            }
        })*
    };
}
keyed!(Box<Spawn>, Tell, Ask, Attention, SetTimer, Task);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Empty, Kill, ReviewAct, ReviewTask, Target, TaskTarget};

    fn repeat(request: &mut Request) -> Repeat {
        request.make_repeatable(&mut || "k".to_owned())
    }

    #[test]
    fn a_request_gets_a_key_only_where_the_daemon_knows_keys_and_keeps_its_own() {
        let mut ask = Request::Ask(Ask { question: "q".to_owned(), options: Vec::new(), key: None });
        assert_eq!(repeat(&mut ask), Repeat::Keyed);
        assert!(matches!(&ask, Request::Ask(ask) if ask.key.as_deref() == Some("k")));
        let mut spawn = Request::Spawn(Box::new(Spawn { key: Some("own".to_owned()), ..Spawn::default() }));
        assert_eq!(repeat(&mut spawn), Repeat::Keyed);
        assert!(matches!(&spawn, Request::Spawn(spawn) if spawn.key.as_deref() == Some("own")));
    }

    #[test]
    fn an_operation_on_a_task_gets_a_key_and_a_review_does_not() {
        let target = || TaskTarget::Name("fix".to_owned());
        let mut restore = Request::Task(TaskAct::Restore(target()).into());
        assert_eq!(repeat(&mut restore), Repeat::Keyed);
        assert!(matches!(&restore, Request::Task(task) if task.key.as_deref() == Some("k")));
        let send = ReviewTask { target: target(), act: ReviewAct::Send(Empty {}) };
        assert_eq!(repeat(&mut Request::Task(TaskAct::Review(send).into())), Repeat::Harmful);
    }

    #[test]
    fn reading_is_harmless_and_ending_is_not() {
        assert_eq!(repeat(&mut Request::List(Empty {})), Repeat::Harmless);
        let kill = Kill { target: Target("a".to_owned()), signal: None, grace_ms: None };
        assert_eq!(repeat(&mut Request::Kill(kill)), Repeat::Harmful);
        let pad = |act| Request::Pad(Pad { project: None, act });
        assert_eq!(repeat(&mut pad(PadAct::List(Empty {}))), Repeat::Harmless);
        assert_eq!(repeat(&mut Request::Task(TaskAct::List(Empty {}).into())), Repeat::Harmless);
        let append = PadAct::Append { name: "n".to_owned(), text: "t".to_owned() };
        assert_eq!(repeat(&mut pad(append)), Repeat::Harmful);
    }
}
