//! Checks of values that are constants but not literals. They run while the declaration compiles; a failed one is an
//! error at the value, because every token of the call has its span.
#![expect(clippy::panic, reason = "a panic in a constant is how it refuses to compile")]

use std::mem;

use crate::{
    compaction::ForkCompaction,
    declare::{
        AgentInvocationModePolicy, BackgroundNotification, SubAgentAvailability, SubAgentContextPolicy, exclusive,
    },
    event::RESERVED_METADATA,
    id::rules,
};

/// Text assembled in a constant, cut where the room ends.
struct Text {
    bytes: [u8; 512],
    len: usize,
}

impl Text {
    const fn new() -> Self {
        Self { bytes: [0; 512], len: 0 }
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
            // Cut in the middle of a character.
            Err(error) => match std::str::from_utf8(bytes.split_at(error.valid_up_to()).0) {
                Ok(text) => text,
                Err(_) => "",
            },
        }
    }
}

/// An agent id.
#[track_caller]
pub const fn agent_id(id: &&'static str) {
    if let Err(rule) = rules::agent_id(id) {
        let text = Text::new().with("HPD0020: the agent id \"").with(id).with("\" is not legal: expected ").with(rule);
        panic!("{}", text.as_str());
    }
}

/// The name of a tool.
#[track_caller]
pub const fn tool_name(name: &&'static str) {
    if let Err(rule) = rules::tool_name(name) {
        let text =
            Text::new().with("HPD0021: the tool name \"").with(name).with("\" is not legal: expected ").with(rule);
        panic!("{}", text.as_str());
    }
}

/// The name of a harness.
#[track_caller]
pub const fn harness_name(name: &&'static str) {
    if let Err(rule) = rules::agent_id(name) {
        let text =
            Text::new().with("HPD0022: the harness name \"").with(name).with("\" is not legal: expected ").with(rule);
        panic!("{}", text.as_str());
    }
}

/// The description of a tool.
#[track_caller]
pub const fn description(description: &&'static str) {
    if description.trim_ascii().is_empty() {
        panic!("HPD0031: the description is blank: say what it is for, for the model that chooses it");
    }
}

/// From where a subagent may be called.
#[track_caller]
pub const fn availability(availability: &SubAgentAvailability) {
    if !availability.is_callable() {
        panic!(
            "HPD0062: `through_depth(0)` makes a tool that nobody can call: the smallest depth is 1, the root's children"
        );
    }
}

/// Fork compaction beside a context policy.
#[track_caller]
pub const fn fork_compaction(compaction: ForkCompaction, context: SubAgentContextPolicy) {
    let checked = exclusive::fork_compaction(&compaction, context);
    // Nothing may be dropped in a constant.
    mem::forget(compaction);
    if let Err(text) = checked {
        panic!("{}", text);
    }
}

/// Notification of the background beside an invocation mode.
#[track_caller]
pub const fn background_notification(notification: BackgroundNotification, mode: AgentInvocationModePolicy) {
    mem::forget(notification);
    if let Err(text) = exclusive::background_notification(mode) {
        panic!("{}", text);
    }
}

/// A key of an author's own metadata.
#[track_caller]
pub const fn metadata_key(key: &&'static str) {
    let mut reserved: &[&str] = &RESERVED_METADATA;
    while let [first, rest @ ..] = reserved {
        if same(first, key) {
            let text = Text::new()
                .with("HPD0017: the metadata key \"")
                .with(key)
                .with("\" is set by the runtime: choose another");
            panic!("{}", text.as_str());
        }
        reserved = rest;
    }
}

/// The names or ids of all tools of a harness, each with its method and whether it is a constant.
pub type Texts = &'static [(&'static str, &'static str, bool)];

/// The name of a tool that is a constant, beside those of the other tools of the harness.
#[track_caller]
pub const fn other_tools(method: &str, all: Texts) {
    if let Some((name, other)) = twice(method, all) {
        let text = Text::new()
            .with("HPD0024: this harness has two tools named \"")
            .with(name)
            .with("\", the other one is `")
            .with(other)
            .with("`; rename one of the methods or give one another `name`");
        panic!("{}", text.as_str());
    }
}

/// An agent id that is a constant, beside those of the other tools of the harness.
#[track_caller]
pub const fn other_agents(method: &str, all: Texts) {
    if let Some((id, other)) = twice(method, all) {
        let text = Text::new()
            .with("HPD0025: this harness defines the agent \"")
            .with(id)
            .with("\" twice, the other one is `")
            .with(other)
            .with("`; an id stands for one definition: give one of them another id");
        panic!("{}", text.as_str());
    }
}

/// The text of `method`, and the method that has the same. Two constants are compared where the later one is.
const fn twice(method: &str, all: Texts) -> Option<(&'static str, &'static str)> {
    let Some(text) = text_of(method, all) else { return None };
    let (mut rest, mut is_later) = (all, false);
    while let [(other, other_method, is_constant), tail @ ..] = rest {
        if same(method, other_method) {
            is_later = true;
        } else if same(text, other) && !(is_later && *is_constant) {
            return Some((text, other_method));
        }
        rest = tail;
    }
    None
}

const fn text_of(method: &str, mut all: Texts) -> Option<&'static str> {
    while let [(text, other, _), tail @ ..] = all {
        if same(method, other) {
            return Some(text);
        }
        all = tail;
    }
    None
}

/// From the end: names that are alike mostly begin alike.
const fn same(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    while let ([one_rest @ .., a], [other_rest @ .., b]) = (one, other) {
        if *a != *b {
            return false;
        }
        one = one_rest;
        other = other_rest;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared_whole() {
        for (one, other) in [("", ""), ("a", "a"), ("größe", "größe")] {
            assert!(same(one, other), "{one} {other}");
        }
        for (one, other) in [("", "a"), ("a", "b"), ("ab", "b"), ("ab", "cb"), ("ab", "ac")] {
            assert!(!same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn of_two_constants_the_later_one_is_wrong_and_beside_a_literal_the_constant() {
        let all: Texts = &[("x", "a", true), ("y", "b", false), ("x", "c", true), ("y", "d", true), ("z", "e", true)];
        assert_eq!(twice("a", all), None);
        assert_eq!(twice("c", all), Some(("x", "a")));
        assert_eq!(twice("d", all), Some(("y", "b")));
        assert_eq!(twice("e", all), None);
        assert_eq!(twice("a", &[("x", "a", true), ("x", "b", false)]), Some(("x", "b")));
    }

    #[test]
    fn a_text_that_is_too_long_is_cut() {
        let long = "é".repeat(600);
        assert_eq!(Text::new().with("x").with(&long).as_str().len(), 511);
        assert_eq!(Text::new().with(&long).as_str().len(), 512);
    }
}
