//! The generated registry: every harness that the program was compiled with, by its declared name.
//!
//! `#[tool_harness]` links one entry per harness into the program; before `main` nothing runs but the links of
//! `inventory`. The index is made once, at the first look-up. Only types whose parameters are lifetimes, if they have
//! any, can be named this way.
//!
//! A dependency that no code names is not linked, and its harnesses are not here: `use that_crate as _;` is enough.
//!
//! ```
//! use hpd_agent::{prelude::*, tool::registry};
//!
//! #[derive(Default)]
//! struct Clock;
//!
//! #[tool_harness(name = "clock")]
//! impl Clock {
//!     /// Says what time it is.
//!     #[ai_function]
//!     fn now(&self) -> String {
//!         "noon".to_owned()
//!     }
//! }
//!
//! assert_eq!(registry::harness("clock")?.name(), "clock");
//! assert!(registry::harness("no-such-harness").is_err());
//! # Ok::<(), hpd_agent::tool::RegistryError>(())
//! ```

use std::{panic::Location, sync::OnceLock};

use crate::{declare::HarnessRef, error::nearest};

/// One harness of the generated registry.
#[derive(Debug)]
pub struct Registration {
    name: &'static str,
    /// Of the name, known when the program is compiled: that makes the index cheap.
    hash: u64,
    module: &'static str,
    package: &'static str,
    location: &'static Location<'static>,
    harness: HarnessRef,
}

inventory::collect!(Registration);

impl Registration {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(
        name: &'static str,
        module: &'static str,
        package: &'static str,
        location: &'static Location<'static>,
        harness: HarnessRef,
    ) -> Self {
        Self { name, hash: hash(name), module, package, location, harness }
    }

    /// The declared name: that of the type, or what `#[tool_harness(name = "…")]` says.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The path of the module that declares it.
    #[must_use]
    pub const fn module(&self) -> &'static str {
        self.module
    }

    /// The package that declares it.
    #[must_use]
    pub const fn package(&self) -> &'static str {
        self.package
    }

    /// Where it is declared.
    #[must_use]
    pub const fn location(&self) -> &'static Location<'static> {
        self.location
    }

    /// The harness type.
    #[must_use]
    pub const fn harness(&self) -> HarnessRef {
        self.harness
    }
}

/// What can be wrong with a look-up by name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// No harness of this name was linked into the program.
    #[error(
        "there is no tool harness `{name}`{}; if a dependency declares it, name that dependency in your code \
         (`use the_crate as _;`), or it is not linked; if it is made at run time, add it with `DynamicRegistry::add` \
         before agents are built; one with type parameters has no name of its own: ask for it by its type",
        near.as_ref().map(|near| format!(", did you mean `{near}`?")).unwrap_or_default()
    )]
    Unknown {
        /// The name that was looked up.
        name: String,
        /// The name of a harness that it was probably meant to be.
        near: Option<String>,
    },
    /// Two harnesses have one name.
    #[error("two tool harnesses are registered as `{name}`: at {first} and at {second}; {advice}")]
    Duplicate {
        /// The name.
        name: String,
        /// Where one of them is declared: file and line.
        first: String,
        /// Where the other one is declared.
        second: String,
        /// What to do.
        advice: &'static str,
    },
    /// A harness made at run time has the name of one that the program was compiled with.
    #[error(
        "the name `{name}` of the harness made at {at} belongs to the one declared at {generated}, which is always found \
         first; choose another name"
    )]
    Generated {
        /// The name.
        name: String,
        /// Where the harness is declared that the program was compiled with.
        generated: String,
        /// Where the other one was made.
        at: String,
    },
    /// A name that no harness can have.
    #[error("`{name}`, made at {at}, is not a legal name of a harness: expected {rule}")]
    IllegalName {
        /// The name.
        name: String,
        /// Where the harness was made.
        at: String,
        /// The rule that the name breaks.
        rule: &'static str,
    },
}

impl RegistryError {
    /// The stable code of this error: `unknown_harness`, `duplicate_harness` or `illegal_harness_name`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "unknown_harness",
            Self::Duplicate { .. } | Self::Generated { .. } => "duplicate_harness",
            Self::IllegalName { .. } => "illegal_harness_name",
        }
    }
}

/// The harness that is registered under `name`.
///
/// # Errors
///
/// [`RegistryError::Unknown`] if there is none, [`RegistryError::Duplicate`] if there are two.
pub fn harness(name: &str) -> Result<&'static Registration, RegistryError> {
    find(name)?.ok_or_else(|| {
        let near = nearest(name, names()).map(str::to_owned);
        RegistryError::Unknown { name: name.to_owned(), near }
    })
}

/// The same, without the words for the case that there is none, which take longer than the look-up.
pub(crate) fn find(name: &str) -> Result<Option<&'static Registration>, RegistryError> {
    static INDEX: OnceLock<Index<'static>> = OnceLock::new();
    INDEX.get_or_init(|| Index::of(inventory::iter::<Registration>.into_iter())).find(name)
}

/// All registered harnesses, sorted by name.
///
/// # Errors
///
/// [`RegistryError::Duplicate`] names the first two that share a name.
pub fn harnesses() -> Result<&'static [&'static Registration], RegistryError> {
    let all = all();
    match all.iter().zip(all.iter().skip(1)).find(|(one, other)| one.name == other.name) {
        Some((one, other)) => Err(duplicate(one, other)),
        None => Ok(all),
    }
}

/// The names of all of them, sorted.
pub(crate) fn names<'a>() -> impl Iterator<Item = &'a str> {
    all().iter().map(|one| one.name)
}

fn all() -> &'static [&'static Registration] {
    static ALL: OnceLock<Vec<&'static Registration>> = OnceLock::new();
    ALL.get_or_init(|| sorted(inventory::iter::<Registration>.into_iter().collect()))
}

/// In an order that the linker has no say in.
fn sorted(mut all: Vec<&Registration>) -> Vec<&Registration> {
    let place = |one: &Registration| (one.location.file(), one.location.line(), one.location.column());
    all.sort_unstable_by_key(|one| (one.name, one.package, place(one)));
    all
}

/// Finds registrations by name, those that share one too.
///
/// A table of slots, half of them free: a registration stands in the slot that its hash gives, or in the first free one
/// after it. Filling it compares no names, so it takes a fraction of the time that sorting them would. The names stand
/// in the slots too: registrations are spread over the program, and each one looked at is memory to wait for.
struct Index<'r> {
    /// How many slots a hash can give. There are more only if the last ones overflow.
    homes: usize,
    slots: Vec<Option<(&'static str, &'r Registration)>>,
}

impl<'r> Index<'r> {
    fn of(all: impl Iterator<Item = &'r Registration> + Clone) -> Self {
        let homes = 2 * all.clone().count();
        let mut index = Self { homes, slots: vec![None; homes] };
        for one in all {
            let (home, taken) = (index.home(one.hash), Some((one.name, one)));
            match index.slots.iter_mut().skip(home).find(|slot| slot.is_none()) {
                Some(free) => *free = taken,
                None => index.slots.push(taken),
            }
        }
        index
    }

    fn find(&self, name: &str) -> Result<Option<&'r Registration>, RegistryError> {
        let near = self.slots.iter().skip(self.home(hash(name))).map_while(|slot| *slot);
        let mut same = near.filter(|(known, _)| *known == name).map(|(_, one)| one);
        let Some(one) = same.next() else { return Ok(None) };
        let Some(other) = same.next() else { return Ok(Some(one)) };
        let all = sorted([one, other].into_iter().chain(same).collect());
        Err(duplicate(all.first().unwrap_or(&one), all.get(1).unwrap_or(&other)))
    }

    /// A part of all homes as large as the hash is of all hashes.
    fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.homes as u128) >> u64::BITS) as usize
    }
}

/// A hash that can be computed in a constant, eight bytes at a time.
pub(crate) const fn hash(name: &str) -> u64 {
    const fn mixed(hash: u64, word: u64) -> u64 {
        let product = (hash ^ word) as u128 * 0x9e37_79b9_7f4a_7c15;
        (product >> 64) as u64 ^ product as u64
    }
    let bytes = name.as_bytes();
    let (mut hash, mut rest) = (bytes.len() as u64, bytes);
    while let Some((word, tail)) = rest.split_first_chunk() {
        hash = mixed(hash, u64::from_le_bytes(*word));
        rest = tail;
    }
    // What is left over is hashed with some of the bytes before it, if there are any.
    if let (false, Some(word)) = (rest.is_empty(), bytes.last_chunk()) {
        return mixed(hash, u64::from_le_bytes(*word));
    }
    while let [byte, tail @ ..] = rest {
        hash = mixed(hash, *byte as u64);
        rest = tail;
    }
    hash
}

fn duplicate(one: &Registration, other: &Registration) -> RegistryError {
    let at = |one: &Registration| format!("{}:{}", one.location.file(), one.location.line());
    let advice = "give one of them another name, for example with `#[tool_harness(name = \"…\")]`";
    RegistryError::Duplicate { name: one.name.to_owned(), first: at(one), second: at(other), advice }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[derive(Default)]
    struct Tools;

    #[tool_harness(name = "registry-test")]
    impl Tools {
        /// Does nothing.
        #[ai_function]
        fn nothing(&self) {}
    }

    #[track_caller]
    fn registration(name: &'static str) -> Registration {
        Registration::new(name, "module", "package", Location::caller(), HarnessRef::of::<Tools>())
    }

    /// With the hash of the last slot.
    fn crowded(name: &'static str) -> Registration {
        Registration { hash: u64::MAX, ..registration(name) }
    }

    #[test]
    fn names_are_found_in_any_order_of_links() {
        let names: Vec<&str> = (0..1_000).map(|number| &*format!("harness-{number:04}").leak()).collect();
        let all: Vec<_> = names.iter().rev().copied().map(registration).collect();
        let index = Index::of(all.iter());
        for name in &names {
            assert_eq!(index.find(name).unwrap().unwrap().name(), *name);
        }
        for absent in ["", "harness", "harness-1000", "harness-00000", "a name that is longer than sixteen bytes"] {
            assert!(index.find(absent).unwrap().is_none(), "{absent}");
        }
        assert_eq!(sorted(all.iter().collect()).iter().map(|one| one.name()).collect::<Vec<_>>(), names);
        assert!(Index::of([].iter()).find("harness-0000").unwrap().is_none());
    }

    #[test]
    fn what_shares_a_slot_is_found_also_behind_the_last_one() {
        let all: Vec<_> = ["a", "b", "c", "d", "e"].into_iter().map(crowded).collect();
        let index = Index::of(all.iter());
        assert!(index.slots.len() > index.homes, "some stand behind the last home");
        for one in &all {
            let found = index.slots.iter().skip(index.home(u64::MAX)).flatten();
            assert!(found.into_iter().any(|(_, found)| std::ptr::eq(*found, one)));
        }
    }

    #[test]
    fn duplicates_are_refused_with_both_places_and_do_not_hide_the_others() {
        let (one, other, third, single) = (registration("a"), registration("a"), registration("a"), registration("b"));
        let expected = Index::of([&one, &other, &third].into_iter()).find("a").unwrap_err();
        assert_eq!(expected.code(), "duplicate_harness");
        assert_eq!(expected.to_string().matches("registry.rs:").count(), 2, "{expected}");
        for links in [[&other, &single, &third, &one], [&third, &one, &other, &single], [&single, &other, &one, &third]]
        {
            let index = Index::of(links.into_iter());
            assert_eq!(index.find("a").unwrap_err(), expected, "whatever the order of links");
            assert_eq!(index.find("b").unwrap().unwrap().name(), "b");
        }
    }

    #[test]
    fn a_harness_of_this_crate_is_linked() {
        let found = harness("registry-test").unwrap();
        assert_eq!(found.package(), "hpd-agent");
        assert!(found.module().ends_with("registry::tests"));
        assert!(found.location().file().ends_with("registry.rs"));
        assert!(harnesses().unwrap().iter().any(|one| one.name() == "registry-test"));
    }
}
