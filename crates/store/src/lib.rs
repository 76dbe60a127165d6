//! Durable state in SQLite.
