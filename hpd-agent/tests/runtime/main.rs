//! The runtime through its public interface, with scripted models whose requests are checked as providers check them.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail a test"
)]

mod approvals;
mod budgets;
mod build;
mod cancellation;
mod clients;
mod continuing;
mod contract;
mod cycles;
#[cfg(feature = "definition-files")]
mod definitions;
mod delegation;
mod dynamic;
mod events;
mod failures;
mod faults;
mod graph;
mod inheritance;
mod odd_clients;
mod parked;
mod permissions;
mod queue;
mod random_trees;
mod receipts;
mod resolving;
mod schemas;
mod sessions;
mod sources;
mod support;
mod threads;
mod tools;
mod trees;
