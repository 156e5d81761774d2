//! What tests of agents and tools need.

mod context;

pub use self::context::{function_context, harness_context};
