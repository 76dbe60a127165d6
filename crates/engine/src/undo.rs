//! Taking back the last command: maps and cells keep what they held before it, until the next input.
//!
//! A command that entrusts something to Quarterdeck is done only if its records can be kept. The daemon asks
//! [`Engine::is_undoable`] before it carries the command's effects out, and calls [`Engine::undo`] instead when the store
//! refuses the records. Nothing else is decided in between, so the state before the command is the state after it.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use proto::Failure;

use crate::Engine;
use crate::command::Recorded;
use crate::effect::Effect;
use crate::input::{Command, Ticket};
use crate::record::Record;

/// A map that can return to what it was at a mark. Reading is that of the map inside; every change is remembered first.
#[derive(Clone)]
pub(crate) struct UndoMap<K, V> {
    map: BTreeMap<K, V>,
    /// Since the mark: what was there under each key that changed. None: there is no mark.
    before: Option<BTreeMap<K, Option<V>>>,
}

impl<K: Ord + Clone, V: Clone> UndoMap<K, V> {
    fn remember(&mut self, key: &K) {
        if let Some(before) = self.before.as_mut().filter(|before| !before.contains_key(key)) {
            before.insert(key.clone(), self.map.get(key).cloned());
        }
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.remember(key);
        self.map.get_mut(key)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.remember(&key);
        self.map.insert(key, value)
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.remember(key);
        self.map.remove(key)
    }

    pub(crate) fn pop_first(&mut self) -> Option<(K, V)> {
        let key = self.map.keys().next()?.clone();
        self.remove(&key).map(|value| (key, value))
    }

    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&K, &V) -> bool) {
        let is_dropped = |(key, value): &(&K, &V)| !is_kept(key, value);
        let dropped: Vec<K> = self.map.iter().filter(is_dropped).map(|(key, _)| key.clone()).collect();
        for key in dropped {
            self.remove(&key);
        }
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        let keys: Vec<K> = self.before.iter().flat_map(|_| self.map.keys().cloned()).collect();
        keys.iter().for_each(|key| self.remember(key));
        self.map.values_mut()
    }
}

impl<K, V> Deref for UndoMap<K, V> {
    type Target = BTreeMap<K, V>;

    fn deref(&self) -> &BTreeMap<K, V> {
        &self.map
    }
}

impl<K, V> Default for UndoMap<K, V> {
    fn default() -> Self {
        Self { map: BTreeMap::new(), before: None }
    }
}

impl<K: std::fmt::Debug, V: std::fmt::Debug> std::fmt::Debug for UndoMap<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.map.fmt(f)
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for UndoMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self { map: entries.into_iter().collect(), before: None }
    }
}

/// A value that can return to what it was at a mark.
#[derive(Clone, Default)]
pub(crate) struct UndoCell<T> {
    value: T,
    before: Option<T>,
}

impl<T> From<T> for UndoCell<T> {
    fn from(value: T) -> Self {
        Self { value, before: None }
    }
}

impl<T> Deref for UndoCell<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for UndoCell<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for UndoCell<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.value.fmt(f)
    }
}

/// A part of the state that can return to what it was at a mark.
trait Undoable {
    fn mark(&mut self);
    fn unmark(&mut self);
    fn undo(&mut self);
}

impl<T: Clone> Undoable for UndoCell<T> {
    fn mark(&mut self) {
        self.before = Some(self.value.clone());
    }

    fn unmark(&mut self) {
        self.before = None;
    }

    fn undo(&mut self) {
        if let Some(before) = self.before.take() {
            self.value = before;
        }
    }
}

impl<K: Ord + Clone, V: Clone> Undoable for UndoMap<K, V> {
    fn mark(&mut self) {
        self.before = Some(BTreeMap::new());
    }

    fn unmark(&mut self) {
        self.before = None;
    }

    fn undo(&mut self) {
        for (key, value) in self.before.take().into_iter().flatten() {
            match value {
                Some(value) => self.map.insert(key, value),
                None => self.map.remove(&key),
            };
        }
    }
}

/// The command that can be taken back.
pub(crate) struct LastCommand {
    ticket: Ticket,
    /// Every record of it must be kept; otherwise those of what was entrusted.
    needs_every_record: bool,
}

impl Engine {
    /// Marks the state before a command that entrusts something.
    pub(crate) fn mark_command(&mut self, ticket: Ticket, command: &Command) {
        let recorded = command.declaration().recorded;
        if recorded != Recorded::Nothing {
            let needs_every_record = recorded == Recorded::Everything;
            self.last_command = Some(LastCommand { ticket, needs_every_record });
            self.undoable_parts().into_iter().for_each(Undoable::mark);
        }
    }

    /// Removes the mark: the last command stays done.
    pub(crate) fn forget_last_command(&mut self) {
        if self.last_command.take().is_some() {
            self.undoable_parts().into_iter().for_each(Undoable::unmark);
        }
    }

    /// Removes the mark of a command that has recorded nothing that must be kept.
    pub(crate) fn check_last_command(&mut self) {
        let Some(last) = &self.last_command else { return };
        let is_needed = |effect: &Effect| match effect {
            Effect::Record(record) => last.needs_every_record || record.is_entrusted(),
            _ => false,
        };
        let is_stopping = self.ctx.out.effects.iter().any(|effect| matches!(effect, Effect::Stop));
        if is_stopping || !self.ctx.out.effects.iter().any(is_needed) {
            self.forget_last_command();
        }
    }

    /// Returns true if the last input was a command whose records must be kept for it to be done.
    #[must_use]
    pub fn is_undoable(&self) -> bool {
        self.last_command.is_some()
    }

    /// Takes the last command back, because its records cannot be kept. Its effects must not have been carried out;
    /// the returned ones are to be instead.
    pub fn undo(&mut self, failure: Failure) -> Vec<Effect> {
        let Some(last) = self.last_command.take() else { return Vec::new() };
        self.undoable_parts().into_iter().for_each(Undoable::undo);
        self.ctx.out.reply(last.ticket, Err(failure));
        std::mem::take(&mut self.ctx.out.effects)
    }

    fn undoable_parts(&mut self) -> [&mut dyn Undoable; 18] {
        [
            &mut *self.ctx.processes,
            &mut self.ctx.out.numbers,
            &mut self.waits.open,
            &mut self.waits.next,
            &mut self.inbox.items,
            &mut self.inbox.asked,
            &mut self.mail.queue.open,
            &mut self.mail.queue.closed,
            &mut self.mail.queue.waiters,
            &mut self.timers.open,
            &mut self.timers.over,
            &mut self.grants.given,
            &mut self.trust.trusted,
            &mut self.trust.asked,
            &mut self.trust.once,
            &mut self.trust.refused,
            &mut self.tasks.all,
            &mut self.workspaces.made,
        ]
    }
}

impl Record {
    /// Returns true if it holds something that a caller entrusted to Quarterdeck and that is nowhere else: messages,
    /// timers, grants, trust and questions. What describes runs is with their holders too.
    #[must_use]
    pub fn is_entrusted(&self) -> bool {
        match self {
            Self::PutMail(_)
            | Self::RemoveMail(_)
            | Self::PutTimer(_)
            | Self::RemoveTimer(_)
            | Self::PutGrant(_)
            | Self::RemoveGrant(_)
            | Self::PutTrust(_)
            | Self::RemoveTrust(_)
            | Self::PutQuestion(_)
            | Self::RemoveQuestion(_)
            | Self::PutTask(_)
            | Self::RemoveTask(_)
            | Self::PutWorkspace(_)
            | Self::RemoveWorkspace(_) => true,
            Self::Put(_)
            | Self::Remove(_)
            | Self::PutTurn(_)
            | Self::RemoveTurn { .. }
            | Self::Counters(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m7b_a_map_returns_to_what_it_was_at_the_mark() {
        let before: UndoMap<u8, &str> = [(1, "one"), (2, "two"), (3, "three")].into_iter().collect();
        let mut map = before.clone();
        map.mark();
        map.insert(1, "uno");
        map.insert(4, "four");
        map.remove(&2);
        map.remove(&4);
        map.pop_first();
        map.values_mut().for_each(|value| *value = "changed");
        *map.get_mut(&3).unwrap() = "again";
        map.retain(|key, _| *key > 3);
        assert!(map.is_empty());
        map.undo();
        assert_eq!(*map, *before);
        map.insert(5, "five");
        map.undo();
        assert!(map.contains_key(&5), "without a mark nothing is taken back");
    }
}
