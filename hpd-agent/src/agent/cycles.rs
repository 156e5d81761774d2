//! Cycles of delegations without a bound, over everything that was frozen: also those that the compiler could not see,
//! since a method's body, a name or a declaration at run time makes them. The compiler's rules and words hold here too.

use std::{collections::VecDeque, sync::Arc};

use super::{
    BuildProblem,
    blueprint::ToolKind,
    freeze::{Definition, FrozenHarness, Place},
};
use crate::declare::{ARROW, ErasedHarness};

/// A delegation without a bound.
#[derive(Clone, Copy)]
struct Hop<'a> {
    /// The harness that the child has, by its index.
    to: usize,
    by: &'a Arc<dyn ErasedHarness>,
    method: usize,
    at: &'a Place,
}

/// Adds a problem for each cycle. It stands at one harness of the cycle, the first by name.
pub(crate) fn check(definitions: &[Definition], harnesses: &[FrozenHarness], problems: &mut Vec<BuildProblem>) {
    let hops: Vec<Vec<Hop<'_>>> = harnesses.iter().map(|harness| hops(harness, definitions)).collect();
    for (index, own) in hops.iter().enumerate() {
        for through in own.chunk_by(|one, other| one.method == other.method) {
            let Some(cycle) = shortest(index, through, &hops) else { continue };
            let Some(first) = cycle.first().filter(|first| cycle.iter().all(|hop| rank(first) <= rank(hop))) else {
                continue;
            };
            let mut text: String = cycle.iter().map(|hop| format!("{}{ARROW}", hop.text(&cycle))).collect();
            text.push_str(&first.harness(&cycle));
            problems.push(BuildProblem::UnboundedDelegation { at: first.at.to_string(), cycle: text });
        }
    }
}

fn hops<'a>(harness: &'a FrozenHarness, definitions: &'a [Definition]) -> Vec<Hop<'a>> {
    let mut hops = Vec::new();
    for (tool, at) in &harness.tools {
        let (ToolKind::SubAgent(tool), Place::Method(by, method)) = (&tool.kind, at) else { continue };
        if tool.rest().recursion.is_unbounded(tool.availability)
            && let Some(child) = definitions.get(tool.child)
        {
            hops.extend(child.harnesses.iter().map(|to| Hop { to: *to, by, method: *method, at }));
        }
    }
    hops
}

/// The shortest way that begins with one of these hops and ends at `home`; of two, the one that is declared first.
fn shortest<'a>(home: usize, begin: &[Hop<'a>], hops: &[Vec<Hop<'a>>]) -> Option<Vec<Hop<'a>>> {
    // What has been found, each with the hop before it.
    let mut found: Vec<(Hop<'a>, Option<usize>)> = Vec::new();
    let mut is_known = vec![false; hops.len()];
    let mut waiting: VecDeque<_> = begin.iter().map(|hop| (*hop, None)).collect();
    while let Some((hop, before)) = waiting.pop_front() {
        let Some(known) = is_known.get_mut(hop.to).filter(|known| !**known) else { continue };
        *known = true;
        found.push((hop, before));
        let here = found.len() - 1;
        if hop.to == home {
            let mut way: Vec<_> = std::iter::successors(found.get(here), |(_, before)| found.get((*before)?))
                .map(|(hop, _)| *hop)
                .collect();
            way.reverse();
            return Some(way);
        }
        waiting.extend(hops.get(hop.to).into_iter().flatten().map(|next| (*next, Some(here))));
    }
    None
}

/// The order in which the harnesses of a cycle are asked to have the error, as the compiler has it.
fn rank<'a>(hop: &Hop<'a>) -> impl Ord + use<'a> {
    let identity = hop.by.identity();
    let place = identity.map(|identity| {
        let at = identity.location;
        (identity.module, identity.package, at.file(), at.line(), at.column())
    });
    (identity.is_some_and(|identity| identity.is_generic), hop.by.name(), place)
}

impl Hop<'_> {
    fn text(&self, cycle: &[Self]) -> String {
        let method = self.by.info(self.method).map_or("", |info| &info.method);
        format!("{}.{method}", self.harness(cycle))
    }

    /// The harness that delegates, with its module if there is another one of this name in the cycle.
    fn harness(&self, cycle: &[Self]) -> String {
        let module = |hop: &Self| hop.by.identity().map(|identity| identity.module);
        let name = self.by.name();
        match module(self) {
            Some(own) if cycle.iter().any(|hop| hop.by.name() == name && module(hop) != Some(own)) => {
                format!("{own}::{name}")
            }
            _ => name.to_owned(),
        }
    }
}
