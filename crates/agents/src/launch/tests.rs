//! Facts about launch plans.
