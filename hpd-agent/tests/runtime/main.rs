//! The runtime through its public interface, with scripted models whose requests are checked as providers check them.

mod build;
mod cancellation;
mod delegation;
mod events;
mod failures;
mod permissions;
mod support;
mod threads;
mod tools;
