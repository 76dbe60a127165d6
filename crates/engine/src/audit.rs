//! What of the engine's decisions is written down for good.
//!
//! Owns the choice: every refusal for want of rights, and everything that was done to somebody. Refuses secrets and texts.
