//! Facts about the engine, each a few inputs and what must come of them.

mod agents;
mod lifecycle;
mod properties;
mod stage;
mod trees;
mod viewers;
mod waits;
