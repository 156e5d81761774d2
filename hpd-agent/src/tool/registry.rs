//! The generated registry: every harness that the program was compiled with, by its declared name.
//!
//! `#[tool_harness]` links one entry per harness into the program; nothing runs before `main`. The index is made at
//! the first look-up. Only types without generic parameters can be named this way.
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
        Self { name, module, package, location, harness }
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
        "no tool harness is registered as `{name}`{}; if a dependency declares it, name that dependency in your code \
         (`use the_crate as _;`), or it is not linked; if it is made at run time, add it with `DynamicRegistry::add` \
         before agents are built",
        near.as_ref().map(|near| format!(", did you mean `{near}`?")).unwrap_or_default()
    )]
    Unknown {
        /// The name that was looked up.
        name: String,
        /// The name of a harness that it was probably meant to be.
        near: Option<String>,
    },
    /// Two harnesses have one name.
    #[error(
        "two tool harnesses are registered as `{name}`: at {first} and at {second}; give one of them another name, \
         for example with `#[tool_harness(name = \"…\")]`"
    )]
    Duplicate {
        /// The name.
        name: String,
        /// Where one of them is declared: file and line.
        first: String,
        /// Where the other one is declared.
        second: String,
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
    find(index(), name)
}

/// All registered harnesses, sorted by name.
///
/// # Errors
///
/// [`RegistryError::Duplicate`] names the first two that share a name.
pub fn harnesses() -> Result<&'static [&'static Registration], RegistryError> {
    let all = index();
    match all.iter().zip(all.iter().skip(1)).find(|(one, other)| one.name == other.name) {
        Some((one, other)) => Err(duplicate(one, other)),
        None => Ok(all),
    }
}

/// The names of all of them, sorted.
pub(crate) fn names<'a>() -> impl Iterator<Item = &'a str> {
    index().iter().map(|one| one.name)
}

fn index() -> &'static [&'static Registration] {
    static INDEX: OnceLock<Box<[&'static Registration]>> = OnceLock::new();
    INDEX.get_or_init(|| sorted(inventory::iter::<Registration>.into_iter().collect()))
}

/// In an order that the linker has no say in.
fn sorted(mut all: Vec<&Registration>) -> Box<[&Registration]> {
    all.sort_unstable_by_key(|one| (one.name, one.package, one.location.file(), one.location.line()));
    all.into_boxed_slice()
}

fn find<'r>(sorted: &[&'r Registration], name: &str) -> Result<&'r Registration, RegistryError> {
    let from = sorted.partition_point(|one| one.name < name);
    let mut same = sorted.get(from..).unwrap_or_default().iter().take_while(|one| one.name == name);
    match (same.next(), same.next()) {
        (Some(one), None) => Ok(one),
        (Some(one), Some(other)) => Err(duplicate(one, other)),
        (None, _) => {
            let near = nearest(name, sorted.iter().map(|one| one.name)).map(str::to_owned);
            Err(RegistryError::Unknown { name: name.to_owned(), near })
        }
    }
}

fn duplicate(one: &Registration, other: &Registration) -> RegistryError {
    let at = |one: &Registration| format!("{}:{}", one.location.file(), one.location.line());
    RegistryError::Duplicate { name: one.name.to_owned(), first: at(one), second: at(other) }
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

    fn registration(name: &'static str) -> Registration {
        Registration::new(name, "module", "package", Location::caller(), HarnessRef::of::<Tools>())
    }

    #[test]
    fn names_are_found_in_any_order_of_links() {
        let all: Vec<_> = ["c", "a", "d", "b"].into_iter().map(registration).collect();
        let all = sorted(all.iter().collect());
        assert_eq!(all.iter().map(|one| one.name()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
        for name in ["a", "b", "c", "d"] {
            assert_eq!(find(&all, name).unwrap().name(), name);
        }
        let error = find(&all, "bb").unwrap_err();
        assert_eq!(error.code(), "unknown_harness");
        assert!(error.to_string().contains("`bb`"));
    }

    #[test]
    fn duplicates_are_refused_with_both_places_and_do_not_hide_the_others() {
        let (one, other, third) = (registration("a"), registration("a"), registration("b"));
        let all = sorted(vec![&other, &third, &one]);
        let error = find(&all, "a").unwrap_err();
        assert_eq!(error.code(), "duplicate_harness");
        assert_eq!(error.to_string().matches("registry.rs:").count(), 2, "{error}");
        assert_eq!(find(&all, "b").unwrap().name(), "b");
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
