//! Cycles of delegations without a bound, over everything that was frozen: also those that the compiler could not see,
//! since a method's body, a name or a declaration at run time makes them. The compiler's rules and words hold here too.

use std::{collections::VecDeque, sync::Arc};

use super::{
    BuildProblem,
    blueprint::ToolKind,
    freeze::{Definition, FrozenHarness},
    place::Place,
};
use crate::declare::{ARROW, ErasedHarness, REMEDY};

/// A delegation without a bound.
#[derive(Clone, Copy)]
struct Hop<'a> {
    /// The harness that the child has, by its index.
    to: usize,
    by: &'a Arc<dyn ErasedHarness>,
    method: usize,
    at: &'a Place,
}

/// Adds a problem for each cycle.
pub(crate) fn check(definitions: &[Definition], harnesses: &[FrozenHarness], problems: &mut Vec<BuildProblem>) {
    let hops: Vec<Vec<Hop<'_>>> = harnesses.iter().map(|harness| hops(harness, definitions)).collect();
    for cycle in cycles(&hops) {
        let Some(first) = cycle.first() else { continue };
        let mut text: String = cycle.iter().map(|hop| format!("{}{ARROW}", hop.text(&cycle))).collect();
        text.push_str(&first.harness(&cycle));
        let remedy = REMEDY.to(first.at.written());
        problems.push(BuildProblem::UnboundedDelegation { at: first.at.to_string(), cycle: text, remedy });
    }
}

/// The cycles, each from one of its harnesses, the first by name.
fn cycles<'a>(hops: &[Vec<Hop<'a>>]) -> Vec<Vec<Hop<'a>>> {
    let mut found = Vec::new();
    for (harness, own) in hops.iter().enumerate() {
        for through in own.chunk_by(|one, other| one.method == other.method) {
            let cycle = shortest(harness, through, hops).unwrap_or_default();
            if let Some(first) = cycle.first()
                && cycle.iter().all(|hop| rank(first) <= rank(hop))
            {
                found.push(cycle);
            }
        }
    }
    found
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

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, panic::Location};

    use proptest::{collection::vec, prelude::*, test_runner::TestRunner};

    use super::*;
    use crate::declare::{
        Child, DynamicHarness, HarnessIdentity, Reach, Recursion, SubAgent, SubAgentAvailability, Trace,
    };

    /// The harnesses that the children of each method have, by harness and method.
    type Graph = Vec<Vec<Vec<usize>>>;

    /// What the compiler walks, as it does it.
    struct Compiler<'a> {
        graph: &'a Graph,
        identities: Vec<&'static HarnessIdentity>,
        known: HashMap<(usize, usize), Reach>,
    }

    impl Compiler<'_> {
        fn reach(&mut self, harness: usize, fuel: usize) -> Reach {
            if let Some(known) = self.known.get(&(harness, fuel)) {
                return *known;
            }
            let mut reach = Reach::from::<Trace>(Some(self.identities[harness]));
            for (method, children) in self.graph[harness].iter().enumerate() {
                let method: &'static str = format!("m{method}").leak();
                let children = children.iter().map(|child| Child {
                    identity: self.identities[*child],
                    reach: match fuel {
                        0 => Reach::CUT,
                        _ if self.graph[*child].is_empty() => Reach::NOTHING,
                        _ => self.reach(*child, fuel - 1),
                    },
                });
                for child in children.collect::<Vec<_>>() {
                    reach = reach.through(
                        method,
                        SubAgentAvailability::ANY_ALLOWED_DEPTH,
                        Recursion::Guarded,
                        [Some(child)],
                    );
                }
            }
            self.known.insert((harness, fuel), reach);
            reach
        }

        fn cycles(graph: &Graph) -> Vec<Vec<String>> {
            let identity = |at| {
                let name = format!("h{at}").leak();
                &*Box::leak(Box::new(HarnessIdentity::new(name, "m", "p", Location::caller(), false)))
            };
            let identities = (0..graph.len()).map(identity).collect();
            let mut compiler = Compiler { graph, identities, known: HashMap::new() };
            let mut found = Vec::new();
            for (harness, methods) in graph.iter().enumerate() {
                for method in 0..methods.len() {
                    let cycle = compiler.reach(harness, 7).cycle(&format!("m{method}"));
                    let text = |way: crate::declare::Way| {
                        way.hops().iter().flatten().map(|hop| format!("{}.{}", hop.by.name, hop.method)).collect()
                    };
                    found.extend(cycle.map(text));
                }
            }
            found
        }
    }

    fn built(graph: &Graph) -> Vec<Vec<String>> {
        let harness = |(at, methods): (usize, &Vec<Vec<usize>>)| {
            let child = || SubAgent::from_parent("child");
            let made = DynamicHarness::new(format!("h{at}"));
            let made = (0..methods.len()).fold(made, |made, method| made.with_sub_agent(format!("m{method}"), child()));
            Arc::new(made) as Arc<dyn ErasedHarness>
        };
        let harnesses: Vec<_> = graph.iter().enumerate().map(harness).collect();
        let mut hops = Vec::new();
        for (by, methods) in harnesses.iter().zip(graph) {
            let of = |(method, children): (usize, &Vec<usize>)| {
                let hop = move |to: &usize| Hop { to: *to, by, method, at: &Place::Builder };
                children.iter().map(hop).collect::<Vec<_>>()
            };
            hops.push(methods.iter().enumerate().flat_map(of).collect());
        }
        cycles(&hops).iter().map(|cycle| cycle.iter().map(|hop| hop.text(cycle)).collect()).collect()
    }

    fn graphs() -> impl Strategy<Value = Graph> {
        (1..7_usize).prop_flat_map(|harnesses| vec(vec(vec(0..harnesses, 0..3), 0..4), harnesses))
    }

    #[test]
    fn the_compiler_and_the_build_find_the_same_cycles() {
        let same = |graph| {
            prop_assert_eq!(Compiler::cycles(&graph), built(&graph));
            Ok(())
        };
        TestRunner::deterministic().run(&graphs(), same).unwrap();
    }

    #[test]
    fn a_ring_and_a_loop_are_two_cycles() {
        let ring: Graph = vec![vec![vec![1]], vec![vec![], vec![0, 1]]];
        assert_eq!(built(&ring), [vec!["h0.m0", "h1.m1"], vec!["h1.m1"]]);
    }
}
