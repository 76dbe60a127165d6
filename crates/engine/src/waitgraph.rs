//! Who waits for whom, so that no circle of waiting closes.
//!
//! Owns the look for a circle before a wait or a timer is taken. Refuses breaking what is no circle.
