//! The dynamic registry: harnesses that are found by name though the program was not compiled with them.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use super::registry::{self, RegistryError};
use crate::{
    declare::{DynamicHarness, HarnessRef},
    error::nearest,
    id::rules,
};

type Harnesses = BTreeMap<Arc<str>, Arc<DynamicHarness>>;

/// Harnesses that are added and removed while the program runs. Clones share their content.
///
/// An agent that is built with it finds in it by name what the [generated registry](super::registry) does not have.
/// It looks while it is built; what changes later is for agents that are built later.
///
/// ```
/// use hpd_agent::{prelude::*, tool::DynamicRegistry};
///
/// let registry = DynamicRegistry::new();
/// registry.add(DynamicHarness::new("plugins.weather"))?;
/// assert!(registry.get("plugins.weather").is_some());
/// assert_eq!(registry.add(DynamicHarness::new("plugins.weather")).unwrap_err().code(), "duplicate_harness");
///
/// registry.remove("plugins.weather");
/// assert!(registry.names().is_empty());
/// # Ok::<(), hpd_agent::tool::RegistryError>(())
/// ```
#[derive(Clone, Default)]
pub struct DynamicRegistry {
    harnesses: Arc<RwLock<Harnesses>>,
}

impl DynamicRegistry {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a harness under its name. One that is there already is no error.
    ///
    /// # Errors
    ///
    /// [`RegistryError::IllegalName`] for a name that no harness can have, [`RegistryError::Generated`] for one that the
    /// generated registry has, so that this one would never be found, and [`RegistryError::Duplicate`] if another
    /// harness of the name is here.
    pub fn add(&self, harness: impl Into<Arc<DynamicHarness>>) -> Result<(), RegistryError> {
        let harness = harness.into();
        check_name(&harness)?;
        let mut harnesses = self.harnesses.write().unwrap_or_else(PoisonError::into_inner);
        match harnesses.get(harness.name()) {
            Some(first) if !Arc::ptr_eq(first, &harness) => Err(RegistryError::Duplicate {
                name: harness.name().to_owned(),
                first: first.origin().to_string(),
                second: harness.origin().to_string(),
                advice: "give one of them another name, or put one in the other's place with `DynamicRegistry::replace`",
            }),
            _ => {
                harnesses.insert(Arc::clone(harness.shared_name()), harness);
                Ok(())
            }
        }
    }

    /// Adds a harness in place of the one of its name, which it returns if there was one.
    ///
    /// # Errors
    ///
    /// [`RegistryError::IllegalName`] and [`RegistryError::Generated`], as for [`add`](Self::add).
    pub fn replace(
        &self,
        harness: impl Into<Arc<DynamicHarness>>,
    ) -> Result<Option<Arc<DynamicHarness>>, RegistryError> {
        let harness = harness.into();
        check_name(&harness)?;
        let mut harnesses = self.harnesses.write().unwrap_or_else(PoisonError::into_inner);
        Ok(harnesses.insert(Arc::clone(harness.shared_name()), harness))
    }

    /// Takes a harness out. Agents that were built with it keep it.
    pub fn remove(&self, name: &str) -> Option<Arc<DynamicHarness>> {
        self.harnesses.write().unwrap_or_else(PoisonError::into_inner).remove(name)
    }

    /// The harness of this name, if it is here.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<DynamicHarness>> {
        self.harnesses.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// The names of all harnesses that are here, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<Arc<str>> {
        self.harnesses.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// A registry of its own with the same harnesses.
    pub(crate) fn snapshot(&self) -> Self {
        let harnesses = self.harnesses.read().unwrap_or_else(PoisonError::into_inner).clone();
        Self { harnesses: Arc::new(RwLock::new(harnesses)) }
    }

    /// The harness of this name: the generated one, or else the one that is here.
    pub(crate) fn find(&self, name: &str) -> Result<Found, RegistryError> {
        if let Some(registered) = registry::find(name)? {
            return Ok(Found::Generated(registered.harness()));
        }
        if let Some(harness) = self.get(name) {
            return Ok(Found::Dynamic(harness));
        }
        Err(RegistryError::Unknown { name: name.to_owned(), near: self.near(name, &[]) })
    }

    /// The harness that was probably meant by a name, or the one of `more` that was.
    pub(crate) fn near(&self, name: &str, more: &[Arc<str>]) -> Option<String> {
        let names = self.names();
        let known = registry::names().chain(names.iter().chain(more).map(|name| &**name));
        nearest(name, known).map(str::to_owned)
    }
}

/// What a look-up by name finds.
pub(crate) enum Found {
    Generated(HarnessRef),
    Dynamic(Arc<DynamicHarness>),
}

/// Whether a harness can have its name, whoever else has it here.
pub(crate) fn check_name(harness: &DynamicHarness) -> Result<(), RegistryError> {
    let name = harness.name();
    if let Err(rule) = rules::agent_id(name) {
        return Err(RegistryError::IllegalName { name: name.to_owned(), at: harness.origin().to_string(), rule });
    }
    match registry::find(name)? {
        None => Ok(()),
        Some(generated) => {
            let at = generated.location();
            Err(RegistryError::Generated {
                name: name.to_owned(),
                generated: format!("{}:{}", at.file(), at.line()),
                at: harness.origin().to_string(),
            })
        }
    }
}

impl fmt::Debug for DynamicRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[derive(Default)]
    struct Compiled;

    #[tool_harness(name = "dynamic-test")]
    impl Compiled {}

    #[test]
    fn a_name_that_the_program_was_compiled_with_is_taken() {
        let registry = DynamicRegistry::new();
        let error = registry.add(DynamicHarness::new("dynamic-test")).unwrap_err();
        assert_eq!(error.code(), "duplicate_harness");
        assert_eq!(error.to_string().matches("dynamic.rs:").count(), 2, "{error}");
        let error = registry.replace(DynamicHarness::new("dynamic-test")).unwrap_err();
        assert!(matches!(error, RegistryError::Generated { .. }), "{error}");
        assert!(matches!(registry.find("dynamic-test").unwrap(), Found::Generated(_)));
    }

    #[test]
    fn two_of_one_name_are_refused_unless_one_replaces_the_other() {
        let registry = DynamicRegistry::new();
        let first = Arc::new(DynamicHarness::new("a"));
        registry.add(Arc::clone(&first)).unwrap();
        registry.add(Arc::clone(&first)).unwrap();
        let error = registry.add(DynamicHarness::new("a")).unwrap_err();
        assert_eq!(error.to_string().matches("dynamic.rs:").count(), 2, "{error}");
        let old = registry.clone().replace(DynamicHarness::new("a")).unwrap().unwrap();
        assert!(Arc::ptr_eq(&old, &first));
        assert!(!Arc::ptr_eq(&registry.get("a").unwrap(), &first), "clones share their content");
        assert!(registry.remove("a").is_some() && registry.remove("a").is_none());
        assert_eq!(registry.add(DynamicHarness::new("has space")).unwrap_err().code(), "illegal_harness_name");
    }

    #[test]
    fn what_is_not_found_is_answered_with_what_is_near() {
        let registry = DynamicRegistry::new();
        registry.add(DynamicHarness::new("plugins.weather")).unwrap();
        let snapshot = registry.snapshot();
        registry.remove("plugins.weather");
        for (wrong, near) in [("plugins.wether", "`plugins.weather`"), ("dynamic-tests", "`dynamic-test`")] {
            let error = snapshot.find(wrong).err().unwrap();
            assert_eq!(error.code(), "unknown_harness");
            assert!(error.to_string().contains(near), "{error}");
        }
        assert!(matches!(snapshot.find("plugins.weather").unwrap(), Found::Dynamic(_)));
        let error = registry.find("plugins.weather").err().unwrap().to_string();
        assert!(error.contains("DynamicRegistry::add") && !error.contains("did you mean"), "{error}");
    }

    #[test]
    fn threads_add_and_remove_at_the_same_time() {
        let registry = DynamicRegistry::new();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let registry = &registry;
                scope.spawn(move || {
                    for n in 0..50 {
                        registry.add(DynamicHarness::new(format!("t{thread}.{n}"))).unwrap();
                        if n % 2 == 0 {
                            registry.remove(&format!("t{thread}.{n}")).unwrap();
                        }
                    }
                });
            }
        });
        assert_eq!(registry.names().len(), 100);
    }
}
