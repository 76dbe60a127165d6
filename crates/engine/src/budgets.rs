//! What a tree of processes may use up.
//!
//! Owns the limits and what was spent. Refuses exceptions: a descendant spends from every budget above it.
