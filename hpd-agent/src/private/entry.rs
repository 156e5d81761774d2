//! Entries of a harness's table, built in constants. The expansion says only what the declaration says: that is less
//! for the compiler to read.

use std::{borrow::Cow, mem, panic::Location};

use crate::{
    compaction::ForkCompaction,
    declare::{
        Action, AgentInvocationModePolicy, BackgroundNotification, CapabilityInfo, CapabilityKind, Entry,
        FunctionAction, FunctionInfo, HarnessRef, Metadata, Origin, ParamInfo, Params, SubAgentAction,
        SubAgentAvailability, SubAgentContextPolicy, SubAgentInfo, SubAgentLifecycle,
    },
};

/// The entry of a function. Its place is that of the call.
#[must_use]
#[track_caller]
pub const fn function<H>(
    method: &'static str,
    doc: &'static str,
    params: &'static [ParamInfo<'static>],
    call: FunctionAction<H>,
) -> Entry<H> {
    let info = FunctionInfo { params: Params::Static(params), requires_permission: false, exclusive: false };
    Entry {
        info: info_of(method, doc, Location::caller(), CapabilityKind::Function(info)),
        action: Action::Function(call),
    }
}

/// The entry of a subagent. Its place is that of the call.
#[must_use]
#[track_caller]
pub const fn sub_agent<H>(method: &'static str, doc: &'static str, define: SubAgentAction<H>) -> Entry<H> {
    let info = SubAgentInfo {
        agent_id: None,
        context: None,
        invocation_mode: None,
        availability: None,
        lifecycle: None,
        fork_compaction: None,
        background_notification: None,
        tool_harnesses: &[],
        metadata: None,
    };
    Entry {
        info: info_of(method, doc, Location::caller(), CapabilityKind::SubAgent(info)),
        action: Action::SubAgent(define),
    }
}

const fn info_of(
    method: &'static str,
    doc: &'static str,
    location: &'static Location<'static>,
    kind: CapabilityKind,
) -> CapabilityInfo {
    let doc = match not_empty(doc) {
        Some(doc) => Some(Cow::Borrowed(doc)),
        None => None,
    };
    let method = Cow::Borrowed(method);
    CapabilityInfo { method, name: None, description: None, doc, origin: Origin::Code(location), kind }
}

pub(super) const fn not_empty(text: &'static str) -> Option<&'static str> {
    if text.is_empty() { None } else { Some(text) }
}

macro_rules! policies {
    ($($name:ident: $value:ty,)*) => {$(
        #[doc = concat!("What the declaration says about `", stringify!($name), "`.")]
        #[must_use]
        pub const fn $name(mut self, value: $value) -> Self {
            if let CapabilityKind::SubAgent(info) = &mut self.info.kind {
                info.$name = Some(value);
            }
            self
        }
    )*};
}

/// Nothing may be dropped in a constant: the old value, in which there is nothing, is forgotten instead.
macro_rules! policies_that_own {
    ($($name:ident: $value:ty,)*) => {$(
        #[doc = concat!("What the declaration says about `", stringify!($name), "`.")]
        #[must_use]
        pub const fn $name(mut self, value: $value) -> Self {
            match &mut self.info.kind {
                CapabilityKind::SubAgent(info) => mem::forget(info.$name.replace(value)),
                CapabilityKind::Function(_) => mem::forget(value),
            }
            self
        }
    )*};
}

#[doc(hidden)]
impl<H> Entry<H> {
    policies! {
        agent_id: &'static str,
        context: SubAgentContextPolicy,
        invocation_mode: AgentInvocationModePolicy,
        availability: SubAgentAvailability,
        lifecycle: SubAgentLifecycle,
        metadata: fn() -> Metadata,
    }

    policies_that_own! {
        fork_compaction: ForkCompaction,
        background_notification: BackgroundNotification,
    }

    /// The harnesses that the child carries.
    #[must_use]
    pub const fn tool_harnesses(mut self, harnesses: &'static [HarnessRef]) -> Self {
        if let CapabilityKind::SubAgent(info) = &mut self.info.kind {
            info.tool_harnesses = harnesses;
        }
        self
    }

    /// Whether a call has to be permitted.
    #[must_use]
    pub const fn requires_permission(mut self, requires_permission: bool) -> Self {
        if let CapabilityKind::Function(info) = &mut self.info.kind {
            info.requires_permission = requires_permission;
        }
        self
    }

    /// Whether no other call runs at the same time.
    #[must_use]
    pub const fn exclusive(mut self, exclusive: bool) -> Self {
        if let CapabilityKind::Function(info) = &mut self.info.kind {
            info.exclusive = exclusive;
        }
        self
    }

    /// The explicit name.
    #[must_use]
    pub const fn name(mut self, name: &'static str) -> Self {
        mem::forget(self.info.name.replace(Cow::Borrowed(name)));
        self
    }

    /// The explicit description.
    #[must_use]
    pub const fn description(mut self, description: &'static str) -> Self {
        mem::forget(self.info.description.replace(Cow::Borrowed(description)));
        self
    }
}
