//! The way through the door: connect or start, call, subscribe, attach.
