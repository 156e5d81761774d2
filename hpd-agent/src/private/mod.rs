//! What the expansion of the macros names. No part of the public interface: it changes in any version.
//!
//! The macros and this crate are released together, so the two always fit.

pub mod availability;
pub mod check;
mod entry;

use std::{marker::PhantomData, panic::Location};

pub use std::{
    future::Future,
    option::Option::{self, None, Some},
    // Under a name that no prelude has: the compiler would call the path to it unnecessary.
    result::Result::Ok as Begun,
};

pub use inventory;

pub use self::entry::{function, sub_agent};
pub use crate::{
    compaction::ForkCompaction,
    declare::{
        AgentInvocationModePolicy, BackgroundNotification, Beyond, Delegates, Entry, Fuel, HarnessIdentity,
        HarnessParam, HarnessRef, HarnessType, Metadata, NoHarness, Nowhere, Output, PlainOutput, Reach, Recursion,
        SubAgentAvailability, SubAgentContextPolicy, SubAgentLifecycle, Through, ToolHarness,
    },
    future::BoxFuture,
    tool::Registration,
};
use crate::{
    declare::{
        ArgumentDefault, Arguments, FunctionContext, IntoIdentifiedSubAgent, IntoSubAgent, MetadataValue, OwnDefault,
        ParamInfo, RegisteredHarness, SubAgent, ToolError, ToolParam,
    },
    error::BoxError,
    message::ToolOutput,
};

type Defined<'h> = BoxFuture<'h, Result<SubAgent, BoxError>>;
type Called<'h> = BoxFuture<'h, Result<ToolOutput, ToolError>>;

/// The place of the call.
#[must_use]
#[track_caller]
pub const fn here() -> &'static Location<'static> {
    Location::caller()
}

/// A harness type that a child carries.
#[must_use]
pub const fn child<T: ToolHarness>() -> HarnessRef {
    HarnessRef::of::<T>()
}

/// A harness type for the registry.
#[must_use]
pub const fn registered<T: RegisteredHarness>() -> HarnessRef {
    HarnessRef::of::<T>()
}

/// What a method with `agent_id` returned.
pub fn define<'h, T: IntoSubAgent>(value: T, agent_id: &'static str) -> Defined<'h> {
    Box::pin(std::future::ready(value.into_sub_agent(Some(agent_id))))
}

/// What a method without `agent_id` returned.
pub fn define_identified<'h, T: IntoIdentifiedSubAgent>(value: T) -> Defined<'h> {
    Box::pin(std::future::ready(value.into_sub_agent(None)))
}

/// What an `async` method with `agent_id` will return.
pub fn define_later<'h, T: IntoSubAgent>(
    future: impl Future<Output = T> + Send + 'h,
    agent_id: &'static str,
) -> Defined<'h> {
    Box::pin(async move { future.await.into_sub_agent(Some(agent_id)) })
}

/// What an `async` method without `agent_id` will return.
pub fn define_identified_later<'h, T: IntoIdentifiedSubAgent>(
    future: impl Future<Output = T> + Send + 'h,
) -> Defined<'h> {
    Box::pin(async move { future.await.into_sub_agent(None) })
}

/// The call of an `async` function that has not begun. In two steps, so that the type of the value is known where the
/// second one looks at it; and without an `async` block in the expansion, of which the compiler reports only the first
/// that is not `Send`.
pub fn call<'h, F: Future + Send + 'h, S: FnOnce() -> Result<F, ToolError> + Send + 'h>(start: S) -> Call<'h, F, S> {
    Call { start, future: PhantomData }
}

/// See [`call`].
#[derive(Debug)]
pub struct Call<'h, F, S> {
    start: S,
    future: PhantomData<fn(&'h ()) -> F>,
}

impl<'h, F: Future, S: FnOnce() -> Result<F, ToolError>> Call<'h, F, S> {
    /// What becomes of the value. The bounds are those of [`call`]; on the block they would be reported once more.
    pub fn finish(self, finish: impl FnOnce(F::Output) -> Result<ToolOutput, ToolError> + Send + 'h) -> Called<'h>
    where
        F: Send + 'h,
        S: Send + 'h,
    {
        let start = self.start;
        Box::pin(async move {
            let future = start()?;
            finish(future.await)
        })
    }
}

/// The call of a function that is not `async`. It runs when the future is polled, not before.
pub fn call_now<'h>(call: impl FnOnce() -> Result<ToolOutput, ToolError> + Send + 'h) -> Called<'h> {
    Box::pin(async move { call() })
}

/// One parameter of a function, without a doc comment if that is empty.
#[must_use]
pub const fn param<T: ToolParam<'static>>(name: &'static str, doc: &'static str) -> ParamInfo<'static> {
    ParamInfo::of::<T>(name, entry::not_empty(doc))
}

/// The same with a default, which the model is told.
#[must_use]
pub const fn param_or<T: ToolParam<'static>>(
    name: &'static str,
    doc: &'static str,
    default: fn() -> serde_json::Value,
) -> ParamInfo<'static> {
    ParamInfo::of::<T>(name, entry::not_empty(doc)).with_default(default)
}

/// A default as the model is told it.
pub fn default_value<T: ArgumentDefault>(default: impl FnOnce() -> T) -> serde_json::Value {
    default().into_default()
}

/// What a parameter is whose type has a default.
#[must_use]
pub fn own_default<T: OwnDefault>() -> T {
    T::own_default()
}

/// The value of a parameter.
pub fn take<'c, T: ToolParam<'c>>(
    arguments: &Arguments<'_>,
    context: &'c FunctionContext,
    name: &str,
) -> Result<T, ToolError> {
    T::take(arguments, context, name)
}

/// The value of a parameter that has a default.
pub fn take_or<'c, T: ToolParam<'c>>(
    arguments: &Arguments<'_>,
    context: &'c FunctionContext,
    name: &str,
    default: impl FnOnce() -> T,
) -> Result<T, ToolError> {
    if arguments.get(name).is_some() { T::take(arguments, context, name) } else { Ok(default()) }
}

/// Adds one value of `metadata(…)`.
pub fn insert_metadata(metadata: &mut Metadata, key: &str, value: impl MetadataValue) {
    metadata.insert(key.to_owned(), value.into_value());
}

/// How a harness is made where no instance was given: the inherent constant wins if the type has a `Default`.
#[derive(Debug)]
pub struct Construct<H>(PhantomData<H>);

impl<H: Default> Construct<H> {
    pub const DEFAULT: Option<fn() -> H> = Some(H::default);
}

/// The other case.
pub trait NoDefault<H> {
    const DEFAULT: Option<fn() -> H> = None;
}

impl<H> NoDefault<H> for Construct<H> {}
