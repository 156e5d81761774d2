//! Which harnesses lead to which, as far as the compiler sees it.
//!
//! Every harness says what it reaches within a number of hops, in a constant. The number is a type, [`Fuel`], so that
//! harnesses which name each other have constants that depend on other constants and never on themselves. Only a
//! delegation without a bound is a hop. The expansion names a child's type only inside of these constants: a private
//! type may be a child of a public one, but no part of its interface.
//!
//! All of this runs while a declaration compiles, and only for harnesses with a subagent that has tools and an
//! `availability`. What is farther away than [`HOPS`] or more than [`Ways`] have room for is left to `build()`.
//!
//! Ways take the compiler time, and nearly always there is no cycle. So a [`Reach`] has two forms: with [`Look`] it is
//! a few bits, that say "no cycle" for certain; if they don't, it is evaluated once more, with [`Trace`].

use std::marker::PhantomData;

use super::{Advice, HarnessIdentity, Recursion, SubAgentAvailability, ToolHarness, identity::same};

/// The words around a cycle, while compiling and in `build()`.
pub(crate) const WITHOUT_LIMIT: &str = "HPD0080: agents can delegate to each other without limit: ";
pub(crate) const ARROW: &str = " → ";
pub(crate) const REMEDY: Advice = Advice {
    attributes: "; bound one of them with `availability = through_depth(2)`, or permit it with `recursion = Allowed`",
    values: "; bound one of them with `.with_availability(SubAgentAvailability::through_depth(2))`, or permit it with \
             `.with_recursion(Recursion::Allowed)`",
    file: "; bound one of them with `availability: 2`, or permit it with `recursion: Allowed`",
};

/// The hops of the longest cycle that the compiler sees.
const HOPS: usize = 8;
/// How many harnesses one harness can reach before the compiler loses sight of more.
const ROOM: usize = 32;

/// One delegation: a method of a harness.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Hop {
    pub(crate) by: &'static HarnessIdentity,
    pub(crate) method: &'static str,
}

/// A way from one harness to another.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Way {
    hops: [Option<Hop>; HOPS],
    len: usize,
    pub(crate) to: &'static HarnessIdentity,
}

impl Way {
    const fn new(hop: Hop, to: &'static HarnessIdentity) -> Self {
        Self { hops: [Some(hop), None, None, None, None, None, None, None], len: 1, to }
    }

    /// The same way with a hop before it.
    const fn after(&self, hop: Hop) -> Self {
        let [a, b, c, d, e, f, g, _] = self.hops;
        Self { hops: [Some(hop), a, b, c, d, e, f, g], len: self.len + 1, to: self.to }
    }

    /// The hops, from the first to the last.
    pub(crate) const fn hops(&self) -> &[Option<Hop>] {
        self.hops.split_at(self.len).0
    }

    /// Whether this is the place of a way that begins with `hop` and leads to `to`. Of those that come back to where they
    /// began, each first hop has one. Two harnesses with one hash share a place, and `build()` sees the cycles of both.
    const fn is_instead_of(&self, hop: Hop, to: &HarnessIdentity) -> bool {
        match &self.hops {
            _ if self.to.hash != to.hash => false,
            [Some(first), ..] if hop.by.hash == to.hash => same(first.method, hop.method),
            _ => true,
        }
    }
}

/// The shortest way to each harness that is reached, those first that are declared first.
#[derive(Debug, Clone, Copy)]
struct Ways {
    ways: [Option<Way>; ROOM],
    /// The hops of the longest walk among blocks with parameters.
    generic_hops: usize,
}

impl Ways {
    const NONE: Self = Self { ways: [None; ROOM], generic_hops: 0 };

    /// A way that is this hop and, unless that is all, a way that goes on. Most ways are known already: a new one is put
    /// together only if it is kept.
    const fn add(&mut self, hop: Hop, to: &'static HarnessIdentity, on: Option<&Way>) {
        let len = match on {
            Some(on) => on.len + 1,
            None => 1,
        };
        let mut ways = self.ways.as_mut_slice();
        while let [slot, rest @ ..] = ways {
            match slot {
                Some(known) if !known.is_instead_of(hop, to) => ways = rest,
                Some(known) if known.len <= len => return,
                _ => {
                    *slot = Some(match on {
                        Some(on) => on.after(hop),
                        None => Way::new(hop, to),
                    });
                    return;
                }
            }
        }
    }

    /// What is reached through a child.
    const fn add_all(&mut self, hop: Hop, child: &Child) {
        self.add(hop, child.identity, None);
        let mut generic_hops = 1;
        if let Some(beyond) = &child.reach.ways {
            let mut ways = beyond.ways.as_slice();
            while let [Some(way), rest @ ..] = ways {
                self.add(hop, way.to, Some(way));
                ways = rest;
            }
            generic_hops += beyond.generic_hops;
        }
        if hop.by.is_generic && child.identity.is_generic && self.generic_hops < generic_hops {
            self.generic_hops = generic_hops;
        }
    }

    const fn cycle(&self, harness: &HarnessIdentity, method: &str) -> Option<Way> {
        let mut ways = self.ways.as_slice();
        while let [Some(way), rest @ ..] = ways {
            if let [Some(first), ..] = way.hops()
                && way.to.is(harness)
                && same(first.method, method)
            {
                return if self.is_told_by(harness, way) { Some(*way) } else { None };
            }
            ways = rest;
        }
        None
    }

    const fn is_told_by(&self, harness: &HarnessIdentity, cycle: &Way) -> bool {
        let mut hops = cycle.hops();
        while let [Some(hop), rest @ ..] = hops {
            if hop.by.precedes(harness) {
                return false;
            }
            hops = rest;
        }
        // The types of one block are not told apart. Those that come back to it for ever are in a cycle; those that end,
        // because one is made of another, are not.
        !harness.is_generic || self.generic_hops == HOPS
    }
}

/// A set of harnesses that may hold more than were put into it.
#[derive(Debug, Clone, Copy)]
struct Marks(u128, u128, u128);

impl Marks {
    const NONE: Self = Self(0, 0, 0);

    const fn of(harness: &HarnessIdentity) -> Self {
        let hash = harness.hash;
        Self(1 << (hash >> 57), 1 << (hash >> 50 & 127), 1 << (hash >> 43 & 127))
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0, self.1 | other.1, self.2 | other.2)
    }

    const fn may_hold(self, harness: &HarnessIdentity) -> bool {
        let one = Self::of(harness);
        self.0 & one.0 != 0 && self.1 & one.1 != 0 && self.2 & one.2 != 0
    }
}

/// What a harness reaches by delegations without a bound.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Reach {
    from: Option<&'static HarnessIdentity>,
    marks: Marks,
    /// Only with [`Trace`].
    ways: Option<Ways>,
    /// Whether there may be more.
    is_cut: bool,
}

impl Reach {
    pub(crate) const NOTHING: Self = Self { from: None, marks: Marks::NONE, ways: None, is_cut: false };
    pub(crate) const CUT: Self = Self { is_cut: true, ..Self::NOTHING };

    /// Nothing yet.
    #[must_use]
    pub const fn from<F: Fuel>(from: Option<&'static HarnessIdentity>) -> Self {
        Self { from, ways: if F::TRACES { Some(Ways::NONE) } else { None }, ..Self::NOTHING }
    }

    /// This, and what is reached through one method.
    #[must_use]
    pub const fn through<const N: usize>(
        mut self,
        method: &'static str,
        availability: SubAgentAvailability,
        recursion: Recursion,
        children: [Option<Child>; N],
    ) -> Self {
        let Some(by) = self.from else { return self };
        let hop = Hop { by, method };
        let mut children = children.as_slice();
        while recursion.is_unbounded(availability)
            && let [child, rest @ ..] = children
        {
            // What leads nowhere is in no cycle, and would only take room.
            if let Some(child) = child
                && (child.reach.is_cut || child.reach.marks.0 != 0)
            {
                self.marks = self.marks.and(Marks::of(child.identity)).and(child.reach.marks);
                if let Some(ways) = &mut self.ways {
                    ways.add_all(hop, child);
                }
            }
            children = rest;
        }
        self
    }

    /// The cycle that begins with this method, if it is this harness that has to tell of it.
    pub(crate) const fn cycle(&self, method: &str) -> Option<Way> {
        match self {
            Self { from: Some(harness), ways: Some(ways), .. } => ways.cycle(harness, method),
            _ => None,
        }
    }
}

/// A harness of a child, and what it reaches in turn.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Child {
    pub(crate) identity: &'static HarnessIdentity,
    pub(crate) reach: Reach,
}

/// The same for a type.
pub(crate) const fn cycle<H: Delegates<B, Look> + Delegates<B, Trace>, B>(method: &str) -> Option<Way> {
    /// Constants of a function are evaluated when it is called.
    const fn traced<H: Delegates<B, Trace>, B>(method: &str) -> Option<Way> {
        H::REACH.cycle(method)
    }
    match &<H as Delegates<B, Look>>::REACH {
        Reach { from: Some(harness), marks, .. } if marks.may_hold(harness) => traced::<H, B>(method),
        _ => None,
    }
}

/// How far to walk, a number in unary, and what to remember.
#[doc(hidden)]
pub trait Fuel {
    /// Whether the ways are remembered.
    const TRACES: bool;
    type Reach<H: ToolHarness>: Reaches;
}

/// 0.
#[doc(hidden)]
#[derive(Debug)]
pub enum Spent<const TRACES: bool> {}

/// 1 more than `F`.
#[doc(hidden)]
#[derive(Debug)]
pub struct More<F>(PhantomData<F>);

/// One less than [`HOPS`]: the first hop is that of the harness itself.
type Far<const TRACES: bool> = More<More<More<More<More<More<More<Spent<TRACES>>>>>>>>;

/// To see whether there may be a cycle.
#[doc(hidden)]
pub type Look = Far<false>;

/// To see which.
#[doc(hidden)]
pub type Trace = Far<true>;

impl<const TRACES: bool> Fuel for Spent<TRACES> {
    const TRACES: bool = TRACES;
    type Reach<H: ToolHarness> = Cut;
}

impl<F: Fuel> Fuel for More<F> {
    const TRACES: bool = F::TRACES;
    type Reach<H: ToolHarness> = H::Reach<F>;
}

/// Something with a constant [`Reach`].
#[doc(hidden)]
pub trait Reaches {
    const REACH: Reach;
}

/// A harness whose children have no tools, or are bounded by default.
#[doc(hidden)]
#[derive(Debug)]
pub enum Nowhere {}

impl Reaches for Nowhere {
    const REACH: Reach = Reach::NOTHING;
}

/// A harness at which the fuel is spent.
#[doc(hidden)]
#[derive(Debug)]
pub enum Cut {}

impl Reaches for Cut {
    const REACH: Reach = Reach::CUT;
}

/// A harness which [delegates](Delegates).
#[doc(hidden)]
#[derive(Debug)]
pub struct Through<H, B, F>(PhantomData<(H, B, F)>);

impl<H: Delegates<B, F>, B, F: Fuel> Reaches for Through<H, B, F> {
    const REACH: Reach = H::REACH;
}

/// A harness with subagents that may have no bound and whose children have tools. `F` is the fuel with which the
/// children are looked at. `B` stands for the block: that a type has two is said of [`ToolHarness`] only.
#[doc(hidden)]
pub trait Delegates<B, F: Fuel> {
    const REACH: Reach;
}

/// A type that is named as a harness.
#[doc(hidden)]
#[derive(Debug)]
pub struct Beyond<C, F>(PhantomData<(C, F)>);

impl<C: ToolHarness, F: Fuel> Beyond<C, F> {
    pub const IDENTITY: Option<&'static HarnessIdentity> = Some(&C::TYPE.identity);
    pub const CHILD: Option<Child> =
        Some(Child { identity: &C::TYPE.identity, reach: <F::Reach<C> as Reaches>::REACH });
}

/// The other case. That a type is no harness is said where its tools are asked for, and need not be said here.
#[doc(hidden)]
pub trait NoHarness {
    const IDENTITY: Option<&'static HarnessIdentity> = None;
    const CHILD: Option<Child> = None;
}

impl<C, F> NoHarness for Beyond<C, F> {}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;

    fn identity(name: &'static str, module: &'static str, is_generic: bool) -> HarnessIdentity {
        HarnessIdentity::new(name, module, "package", Location::caller(), is_generic)
    }

    #[test]
    fn marks_hold_what_was_put_in_and_little_else() {
        let all: Vec<_> = (0..200).map(|at| identity("x".repeat(at).leak(), "m", false)).collect();
        let (some, rest) = all.split_at(20);
        let marks = some.iter().fold(Marks::NONE, |marks, one| marks.and(Marks::of(one)));
        assert!(some.iter().all(|one| marks.may_hold(one)));
        assert!(!rest.iter().all(|one| marks.may_hold(one)));
        assert!(!Marks::NONE.may_hold(&all[0]));
    }

    #[test]
    fn what_there_is_no_room_for_is_left_out() {
        let child = |at: usize| Child {
            identity: Box::leak(Box::new(identity("x".repeat(at).leak(), "m", false))),
            reach: Reach::CUT,
        };
        let from = Box::leak(Box::new(identity("from", "m", false)));
        let any = SubAgentAvailability::ANY_ALLOWED_DEPTH;
        let reach = (0..ROOM + 9).fold(Reach::from::<Trace>(Some(from)), |reach, at| {
            reach.through("method", any, Recursion::Guarded, [Some(child(at))])
        });
        assert!(reach.ways.unwrap().ways.iter().all(Option::is_some));
        let nothing = Reach::from::<Trace>(Some(from))
            .through("allowed", any, Recursion::Allowed, [Some(child(1))])
            .through("bounded", SubAgentAvailability::through_depth(9), Recursion::Guarded, [Some(child(1))])
            .through("leaf", any, Recursion::Guarded, [Some(Child { reach: Reach::NOTHING, ..child(1) }), None]);
        assert!(nothing.ways.unwrap().ways.iter().all(Option::is_none) && nothing.marks.0 == 0);
    }
}
