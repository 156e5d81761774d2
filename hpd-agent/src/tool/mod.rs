//! Tools: their schemas, and the registry of the harnesses that a program was compiled with.

pub mod registry;
pub mod schema;
#[cfg(test)]
mod schema_tests;

pub use self::registry::{Registration, RegistryError};
