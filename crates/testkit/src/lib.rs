//! The stage for end-to-end tests: private daemons, fake children, screen assertions.
