//! The one decider: commands and facts in, effects out; pure.
