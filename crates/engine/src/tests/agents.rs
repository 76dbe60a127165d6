//! Facts about agents: what is believed of them, what they are told, what they say, what they ask.

mod delivery;
mod expiry;
mod inbox;
mod mended;
mod model;
mod restore;
mod resume;
pub(super) mod scene;
mod shortfalls;
mod states;
mod turns;
