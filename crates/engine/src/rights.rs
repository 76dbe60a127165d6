//! Who may do what to whom: one pure function, one table.
//!
//! Owns the policy. Refuses exceptions: no identity, no power; rights follow the tree.

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
    /// Answer a dialog or a request for leave in its name.
    Answer,
    /// Start a process below the caller.
    Spawn,
    /// End the daemon.
    Administer,
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

/// Whether `caller` may do `verb` to something that is `relation` to it.
#[must_use]
pub fn may(caller: Caller, verb: Verb, relation: Relation) -> bool {
    match caller {
        Caller::Human => true,
        Caller::Nobody => false,
        Caller::Process(_) => match verb {
            Verb::List => relation != Relation::Foreign,
            Verb::Read | Verb::Drive => matches!(relation, Relation::Own | Relation::Descendant),
            Verb::Message => {
                matches!(relation, Relation::Descendant | Relation::Parent | Relation::Sibling)
            }
            // Not its own: an agent that grants itself leave needs none.
            Verb::Answer => relation == Relation::Descendant,
            Verb::Spawn => relation == Relation::None,
            Verb::Administer => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::RunKey;
    use proto::{ProcessId, RunNumber};

    const VERBS: [Verb; 7] =
        [Verb::List, Verb::Read, Verb::Drive, Verb::Message, Verb::Answer, Verb::Spawn, Verb::Administer];
    const RELATIONS: [Relation; 7] = [
        Relation::Own,
        Relation::Descendant,
        Relation::Parent,
        Relation::Sibling,
        Relation::Neighbour,
        Relation::Foreign,
        Relation::None,
    ];

    #[test]
    fn nobody_may_do_nothing_and_a_human_everything() {
        for verb in VERBS {
            for relation in RELATIONS {
                assert!(!may(Caller::Nobody, verb, relation));
                assert!(may(Caller::Human, verb, relation));
            }
        }
    }

    #[test]
    fn a_process_reaches_itself_and_what_is_below_it() {
        let caller = Caller::Process(RunKey::new(ProcessId::from_entropy(1), RunNumber(1)));
        let allowed: Vec<(Verb, Relation)> = VERBS
            .into_iter()
            .flat_map(|verb| RELATIONS.map(|relation| (verb, relation)))
            .filter(|(verb, relation)| may(caller, *verb, *relation))
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
}
