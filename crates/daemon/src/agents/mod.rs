//! Agents, as far as they need hands: launching, watching and reaching vendors' programs.
//!
//! Owns what is done about an agent outside of its terminal. Refuses knowing vendors (the crate `agents` does, as data)
//! and refuses deciding (the engine does).

mod catalogue;
mod chance;
mod directory;
pub(crate) mod errand;
