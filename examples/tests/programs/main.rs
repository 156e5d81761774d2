//! The examples as a user runs them: their output, their exit codes, the terminal, Ctrl-C.

#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod agents;
mod chat;
mod quickstart;
mod support;
#[cfg(unix)]
mod terminal;
mod tools;
