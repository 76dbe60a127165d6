//! Terminal memory: bytes in, screen out.
