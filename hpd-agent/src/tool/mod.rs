//! Tools: their schemas, and the registries of harnesses: those that a program was compiled with, and those that are
//! made while it runs.

mod dynamic;
pub mod registry;
pub mod schema;

pub(crate) use self::dynamic::{Found, check_name};
pub use self::{
    dynamic::DynamicRegistry,
    registry::{Registration, RegistryError},
};
