//! Facts about reading and answering hooks.
