//! What agents may start without asking, and what a person is being asked about.
//!
//! Owns the ledger of what people trust. Refuses trusting by name: a warrant is known by its digest.

use proto::crew::TrustView;

use crate::Engine;

/// Everything that is trusted.
#[derive(Debug, Default)]
pub(crate) struct Ledger {}

impl Engine {
    pub(crate) fn restore_trust(&mut self, _saved: Vec<TrustView>) {
        let Ledger {} = self.trust;
    }
}
