//! One picture of the whole terminal, and the bytes that turn the last picture into the next.
//!
//! | file | owns |
//! |---|---|
//! | `grid` | the cells of a picture and its cursor |
//! | `width` | how many columns text takes, and which cells terminals disagree about |
//! | `encode` | the difference of two pictures as bytes |
//! | `depth` | colours for terminals that have fewer |

pub(crate) mod depth;
pub(crate) mod encode;
pub(crate) mod grid;
pub(crate) mod width;

#[cfg(test)]
mod tests;

pub(crate) use depth::ColorDepth;
pub(crate) use encode::Encoder;
pub(crate) use grid::{Grid, Point, Rect, ShownCursor};
