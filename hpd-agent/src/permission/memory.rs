use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::PermissionChoice;

/// The choices that hold for a session: shared by all its threads, so by forked and fresh children too.
#[derive(Debug, Default)]
pub(crate) struct SessionMemory {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Few tools are ever remembered: a scan beats a map.
    choices: Vec<(Arc<str>, PermissionChoice)>,
    /// Whether the session's own thread is in the store.
    stored: bool,
}

impl SessionMemory {
    /// Takes in the choices that the session's own thread holds.
    pub(crate) fn restore(&self, choices: impl IntoIterator<Item = (Arc<str>, PermissionChoice)>) {
        for (tool, choice) in choices {
            self.remember(tool, choice);
        }
        self.set_stored();
    }

    /// Forgets all: what was known may be that of a session that somebody has deleted.
    pub(crate) fn clear(&self) {
        *self.lock() = Inner::default();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was chosen for a tool; `Ask` if nothing.
    pub(crate) fn choice(&self, tool: &str) -> PermissionChoice {
        self.lock()
            .choices
            .iter()
            .find(|(name, _)| **name == *tool)
            .map_or(PermissionChoice::Ask, |(_, choice)| *choice)
    }

    pub(crate) fn remember(&self, tool: Arc<str>, choice: PermissionChoice) {
        let mut inner = self.lock();
        match inner.choices.iter_mut().find(|(name, _)| *name == tool) {
            Some(entry) => entry.1 = choice,
            None => inner.choices.push((tool, choice)),
        }
    }

    /// The tools that are denied for good.
    pub(crate) fn denied(&self) -> Vec<Arc<str>> {
        let denied = |(tool, choice): &(Arc<str>, PermissionChoice)| {
            (*choice == PermissionChoice::DenyAlways).then(|| Arc::clone(tool))
        };
        self.lock().choices.iter().filter_map(denied).collect()
    }

    pub(crate) fn is_stored(&self) -> bool {
        self.lock().stored
    }

    pub(crate) fn set_stored(&self) {
        self.lock().stored = true;
    }
}
