//! Checks of values that are constants but not literals. They run while the declaration compiles; a failed one is an
//! error at the value, because every token of the call has its span.
#![expect(clippy::panic, reason = "a panic in a constant is how it refuses to compile")]

use crate::{
    declare::{
        self, ARROW, Delegates, HarnessIdentity, Look, REMEDY, SubAgentAvailability, ToolHarness, Trace, WITHOUT_LIMIT,
        Way,
    },
    id::rules,
};

/// Text assembled in a constant, cut where the room ends.
struct Text {
    bytes: [u8; 2048],
    len: usize,
}

impl Text {
    const fn new() -> Self {
        Self { bytes: [0; 2048], len: 0 }
    }

    const fn with(mut self, text: &str) -> Self {
        let mut rest = text.as_bytes();
        let (_, mut room) = self.bytes.split_at_mut(self.len);
        let mut added = 0;
        while let ([byte, tail @ ..], [slot, free @ ..]) = (rest, room) {
            *slot = *byte;
            added += 1;
            rest = tail;
            room = free;
        }
        self.len += added;
        self
    }

    const fn as_str(&self) -> &str {
        let bytes = self.bytes.split_at(self.len).0;
        match std::str::from_utf8(bytes) {
            Ok(text) => text,
            // The room ended within a character.
            Err(error) => match std::str::from_utf8(bytes.split_at(error.valid_up_to()).0) {
                Ok(text) => text,
                Err(_) => "the value is not valid",
            },
        }
    }
}

/// An agent id.
#[track_caller]
pub const fn agent_id(id: &&'static str) {
    if let Err(rule) = rules::agent_id(id) {
        let text = Text::new().with("the agent id \"").with(id).with("\" is not legal: expected ").with(rule);
        panic!("{}", text.as_str());
    }
}

/// The name of a tool.
#[track_caller]
pub const fn tool_name(name: &&'static str) {
    if let Err(rule) = rules::tool_name(name) {
        let text = Text::new().with("the tool name \"").with(name).with("\" is not legal: expected ").with(rule);
        panic!("{}", text.as_str());
    }
}

/// The name of a harness.
#[track_caller]
pub const fn harness_name(name: &&'static str) {
    if let Err(rule) = rules::agent_id(name) {
        let text = Text::new().with("the harness name \"").with(name).with("\" is not legal: expected ").with(rule);
        panic!("{}", text.as_str());
    }
}

/// The description of a tool.
#[track_caller]
pub const fn description(description: &&'static str) {
    if description.trim_ascii().is_empty() {
        panic!("the description is blank: say what the tool does, for the model that chooses it");
    }
}

/// From where a subagent may be called.
#[track_caller]
pub const fn availability(availability: &SubAgentAvailability) {
    if !availability.is_callable() {
        panic!("`through_depth(0)` makes a tool that nobody can call: the smallest depth is 1, the root's children");
    }
}

/// A subagent that may have no bound.
#[track_caller]
pub const fn delegation<H, B>(method: &'static str)
where
    H: ToolHarness + Delegates<B, Look> + Delegates<B, Trace>,
{
    if let Some(cycle) = declare::cycle::<H, B>(method) {
        let mut text = Text::new().with(WITHOUT_LIMIT);
        let mut hops = cycle.hops();
        while let [Some(hop), rest @ ..] = hops {
            text = text.harness(hop.by, &cycle).with(".").with(hop.method).with(ARROW);
            hops = rest;
        }
        text = text.harness(H::IDENTITY, &cycle).with(REMEDY);
        panic!("{}", text.as_str());
    }
}

impl Text {
    /// A harness of a cycle, with its module if there is another one of this name.
    const fn harness(mut self, harness: &HarnessIdentity, cycle: &Way) -> Self {
        let mut hops = cycle.hops();
        while let [Some(hop), rest @ ..] = hops {
            if hop.by.is_namesake(harness) {
                self = self.with(harness.module).with("::");
                break;
            }
            hops = rest;
        }
        self.with(harness.name)
    }
}
