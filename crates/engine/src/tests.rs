//! Facts about the engine, each a few inputs and what must come of them.

mod agents;
mod asking;
mod audit;
mod background;
mod budgets;
mod content;
mod crew;
mod grants;
mod keys;
mod letters;
mod lifecycle;
mod notices;
mod properties;
mod readiness;
mod rights_model;
mod stage;
mod stopping;
mod telling;
mod timers;
mod trees;
mod trust;
mod unheard;
mod unstarted;
mod viewers;
mod waitgraph;
mod waits;
