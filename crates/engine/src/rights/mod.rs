//! Who may do what to whom: one pure function, one table.
//!
//! A caller without an identity has no rights. Rights follow the tree, and a person may add to them.

pub mod audience;
pub(crate) mod grants;
pub(crate) mod registry;

use proto::Role;
use proto::rights::Right;

use crate::input::Caller;

/// What is about to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Know that a process exists and how it is.
    List,
    /// Read screens, logs and waits.
    Read,
    /// Type, resize, signal, end, restart, rename.
    Drive,
    /// Give it a message.
    Message,
    /// Answer a dialog or a request for permission in its name.
    Answer,
    /// Mark as seen what a process did, for the person whose faces show it.
    See,
    /// Start a process below the caller.
    Spawn,
    /// Grant, trust, read the audit log, end the daemon: what only people do.
    Administer,
}

impl Verb {
    /// Its word, for the audit log.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Read => "read",
            Self::Drive => "drive",
            Self::Message => "message",
            Self::Answer => "answer",
            Self::See => "see",
            Self::Spawn => "spawn",
            Self::Administer => "administer",
        }
    }
}

impl Verb {
    /// The least role of a connection that may do it, whoever asks.
    #[must_use]
    pub fn role(self) -> Role {
        match self {
            Self::List | Self::Read => Role::View,
            Self::Drive | Self::Message | Self::Answer | Self::See | Self::Spawn => Role::Type,
            Self::Administer => Role::Admin,
        }
    }
}

/// What the target is to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// The caller itself.
    Own,
    /// Below the caller at any depth.
    Descendant,
    /// The caller's parent.
    Parent,
    /// Spawned by the same process, in the same workspace.
    Sibling,
    /// In the same workspace, otherwise unrelated.
    Neighbour,
    /// In another workspace.
    Foreign,
    /// The verb has no target.
    None,
}

/// What people granted the caller over the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// It may read.
    pub reads: bool,
    /// It may drive, and so read.
    pub drives: bool,
    /// It may give messages.
    pub messages: bool,
}

impl Granted {
    /// With one more right.
    #[must_use]
    pub fn with(mut self, right: Right) -> Self {
        match right {
            Right::Read => self.reads = true,
            Right::Drive => self.drives = true,
            Right::Message => self.messages = true,
        }
        self
    }

    fn covers(self, verb: Verb) -> bool {
        match verb {
            Verb::List => self.reads || self.drives || self.messages,
            Verb::Read => self.reads || self.drives,
            Verb::Drive => self.drives,
            Verb::Message => self.messages,
            // Leave to use a tool, a person's marks, new processes and administration cannot be passed on.
            Verb::Answer | Verb::See | Verb::Spawn | Verb::Administer => false,
        }
    }
}

/// Returns true if `caller` may do `verb` to something that is `relation` to it and over which it was `granted` this.
#[must_use]
pub fn may(caller: Caller, verb: Verb, relation: Relation, granted: Granted) -> bool {
    match caller {
        Caller::Person | Caller::Via(_) => true,
        Caller::Nobody => false,
        Caller::Process(_) => follows_tree(verb, relation) || granted.covers(verb),
    }
}

fn follows_tree(verb: Verb, relation: Relation) -> bool {
    match verb {
        Verb::List => relation != Relation::Foreign,
        Verb::Read | Verb::Drive => matches!(relation, Relation::Own | Relation::Descendant),
        Verb::Message => {
            matches!(relation, Relation::Descendant | Relation::Parent | Relation::Sibling)
        }
        // Not its own: an agent that grants itself permission needs none.
        Verb::Answer => relation == Relation::Descendant,
        Verb::Spawn => relation == Relation::None,
        // What a person has seen is not for a process to say.
        Verb::See | Verb::Administer => false,
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod table_tests {
    use super::*;
    use crate::input::RunKey;
    use proto::{ProcessId, RunNumber};

    const VERBS: [Verb; 8] = [
        Verb::List,
        Verb::Read,
        Verb::Drive,
        Verb::Message,
        Verb::Answer,
        Verb::See,
        Verb::Spawn,
        Verb::Administer,
    ];
    const RELATIONS: [Relation; 7] = [
        Relation::Own,
        Relation::Descendant,
        Relation::Parent,
        Relation::Sibling,
        Relation::Neighbour,
        Relation::Foreign,
        Relation::None,
    ];
    const RIGHTS: [Right; 3] = [Right::Read, Right::Drive, Right::Message];

    fn somebody() -> Caller {
        Caller::Process(RunKey::new(ProcessId::from_entropy(1), RunNumber(1)))
    }

    fn cells() -> impl Iterator<Item = (Verb, Relation)> {
        VERBS.into_iter().flat_map(|verb| RELATIONS.map(|relation| (verb, relation)))
    }

    #[test]
    fn nobody_may_do_nothing_and_a_person_everything() {
        let everything = RIGHTS.into_iter().fold(Granted::default(), Granted::with);
        for (verb, relation) in cells() {
            assert!(!may(Caller::Nobody, verb, relation, everything));
            assert!(may(Caller::Person, verb, relation, Granted::default()));
            let Caller::Process(run) = somebody() else { panic!("a process is one") };
            assert!(may(Caller::Via(run), verb, relation, Granted::default()));
        }
    }

    #[test]
    fn a_process_reaches_itself_and_what_is_below_it() {
        let allowed: Vec<(Verb, Relation)> = cells()
            .filter(|(verb, relation)| may(somebody(), *verb, *relation, Granted::default()))
            .collect();
        let listed = [
            Relation::Own,
            Relation::Descendant,
            Relation::Parent,
            Relation::Sibling,
            Relation::Neighbour,
            Relation::None,
        ];
        let mut expected: Vec<_> = listed.map(|relation| (Verb::List, relation)).to_vec();
        for verb in [Verb::Read, Verb::Drive] {
            expected.extend([(verb, Relation::Own), (verb, Relation::Descendant)]);
        }
        let messaged = [Relation::Descendant, Relation::Parent, Relation::Sibling];
        expected.extend(messaged.map(|relation| (Verb::Message, relation)));
        expected.push((Verb::Answer, Relation::Descendant));
        expected.push((Verb::Spawn, Relation::None));
        assert_eq!(allowed, expected);
    }

    #[test]
    fn a_grant_adds_its_own_verbs_and_no_others() {
        for (right, added) in [
            (Right::Read, vec![Verb::List, Verb::Read]),
            (Right::Drive, vec![Verb::List, Verb::Read, Verb::Drive]),
            (Right::Message, vec![Verb::List, Verb::Message]),
        ] {
            let granted = Granted::default().with(right);
            let gained: Vec<Verb> =
                VERBS.into_iter().filter(|verb| may(somebody(), *verb, Relation::Foreign, granted)).collect();
            assert_eq!(gained, added, "{right:?}");
            for (verb, relation) in cells() {
                let plain = may(somebody(), verb, relation, Granted::default());
                assert!(!plain || may(somebody(), verb, relation, granted), "a grant never takes away");
            }
        }
    }
}
