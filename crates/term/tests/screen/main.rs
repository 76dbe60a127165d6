//! The screen through its public face: what goes in as bytes comes out as picture, replies and facts.

mod containment;
mod equivalence;
mod facts;
mod hostile;
mod lines;
mod malformed;
mod painting;
mod queries;
mod recordings;
mod reference;
mod replies;
mod shared;
mod streams;
