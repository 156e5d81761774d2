//! The boxed future that the object-safe traits of this crate return.

use std::pin::Pin;

/// A boxed future that can be sent between threads.
///
/// ```
/// # use hpd_agent::future::BoxFuture;
/// fn answer() -> BoxFuture<'static, u32> {
///     Box::pin(async { 42 })
/// }
/// ```
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
