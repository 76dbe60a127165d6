//! `qd web` as browsers and programs see it: the real binary, a real daemon, requests and frames written by hand.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up has failed")]

mod access;
mod attachments;
mod audit;
mod desk;
mod dialect;
mod door_watch;
mod floods;
mod limits;
mod links;
mod openapi;
mod queries;
mod secrecy;
mod security;
mod server;
mod service;
mod shown_secrets;
mod socket;
mod starting;
mod tls;
mod view;

const QD: &str = env!("CARGO_BIN_EXE_qd");
