//! Checks of values that are constants but not literals. They run while the declaration compiles; a failed one is an
//! error at the value, because every token of the call has its span.
#![expect(clippy::panic, reason = "a panic in a constant is how it refuses to compile")]

use std::mem;

use crate::{
    compaction::ForkCompaction,
    declare::{
        self, ARROW, AgentInvocationModePolicy, BackgroundNotification, Delegates, HarnessIdentity, Look, REMEDY,
        SubAgentAvailability, SubAgentContextPolicy, Trace, WITHOUT_LIMIT, Way, exclusive, same,
    },
    id::rules,
    tool::registry,
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
    if let Err(excluded) = checked {
        refuse(&excluded);
    }
}

/// Notification of the background beside an invocation mode.
#[track_caller]
pub const fn background_notification(notification: BackgroundNotification, mode: AgentInvocationModePolicy) {
    mem::forget(notification);
    if let Err(excluded) = exclusive::background_notification(mode) {
        refuse(&excluded);
    }
}

#[track_caller]
const fn refuse(excluded: &exclusive::Excluded) {
    panic!("{}", Text::new().with(excluded.what).with(excluded.remedy.attributes).as_str());
}

/// The names or ids of all tools of a harness, each with its method and whether it is a constant.
pub type Texts = &'static [(&'static str, &'static str, bool)];

/// Whether two of them may be the same: certainly not if this says so. `ROOM` is some more than there are texts. Each
/// text is looked at once, where comparing each with all others takes the compiler seconds for some hundred constants.
#[must_use]
pub const fn may_clash<const ROOM: usize>(mut all: Texts) -> bool {
    let mut hashes = [0; ROOM];
    while let [(text, ..), tail @ ..] = all {
        // 0 marks what is free.
        let hash = registry::hash(text) | 1;
        let (_, mut slots) = hashes.split_at_mut((hash >> 1) as usize % ROOM);
        loop {
            match slots {
                [slot, ..] if *slot == 0 => {
                    *slot = hash;
                    break;
                }
                [slot, rest @ ..] if *slot != hash => slots = rest,
                // The same, or no room behind its place.
                _ => return true,
            }
        }
        all = tail;
    }
    false
}

/// The name of a tool that is a constant, beside those of the other tools of the harness.
#[track_caller]
pub const fn other_tools(may_clash: bool, method: &str, all: Texts) {
    if may_clash && let Some((name, other)) = twice(method, all) {
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
pub const fn other_agents(may_clash: bool, method: &str, all: Texts) {
    if may_clash && let Some((id, other)) = twice(method, all) {
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

/// A subagent that may have no bound.
#[track_caller]
pub const fn delegation<H: Delegates<B, Look> + Delegates<B, Trace>, B>(method: &str) {
    if let Some(cycle) = declare::cycle::<H, B>(method) {
        let mut text = Text::new().with(WITHOUT_LIMIT);
        let mut hops = cycle.hops();
        while let [Some(hop), rest @ ..] = hops {
            text = text.harness(hop.by, &cycle).with(".").with(hop.method).with(ARROW);
            hops = rest;
        }
        text = text.harness(cycle.to, &cycle).with(REMEDY.attributes);
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn different_texts_do_not_clash_and_equal_ones_do() {
        let names: Vec<&'static str> = (0..300).map(|at| &*format!("team.reviewer-{at}").leak()).collect();
        let mut all: Vec<_> = names.iter().map(|name| (*name, *name, true)).collect();
        assert!(!may_clash::<4096>(all.clone().leak()));
        assert!(!may_clash::<1>(&[]));
        all.push(("team.reviewer-7", "again", true));
        assert!(may_clash::<4096>(all.leak()));
    }

    #[test]
    fn a_text_that_is_too_long_is_cut() {
        let long = "é".repeat(2000);
        assert_eq!(Text::new().with("x").with(&long).as_str().len(), 2047);
        assert_eq!(Text::new().with(&long).as_str().len(), 2048);
    }
}
