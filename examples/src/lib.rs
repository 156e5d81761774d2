//! What the examples have in common, so that each of them shows its own subject only.
//!
//! - [`options`]: the command line.
//! - [`model`]: which model answers.
//! - [`steer`]: making a small model call its tools.
//! - [`document`]: the text that is worked on.
//! - [`terminal`]: asking the person who started the program.
//! - [`tree`]: showing the events of a run and its descendants.
//! - [`watch`](mod@watch): a run from its start to its end, with all of these.
//! - [`report`]: token usage, failures, exit codes.

pub mod document;
pub mod interrupt;
pub mod model;
pub mod options;
pub mod report;
pub mod steer;
pub mod terminal;
pub mod text;
pub mod tree;
pub mod watch;
