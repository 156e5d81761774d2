use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use crate::event::{EventBody, PermissionChoice, PermissionRemembered, PermissionStateChanged};

/// What a session remembers of answers: the choices that hold for it, and what the permission policy keeps. Shared by
/// all its threads, so by forked and fresh children too.
#[derive(Debug, Default)]
pub(crate) struct SessionMemory {
    inner: Mutex<Inner>,
    /// Held from what a policy reads of its state until what it makes of it is committed.
    learning: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Few choices are ever remembered: a scan beats a map.
    choices: Vec<PermissionRemembered>,
    /// What the policy keeps; `None`: nothing.
    state: Option<Arc<Map<String, Value>>>,
    /// Whether the session's own thread is in the store.
    stored: bool,
}

impl SessionMemory {
    /// Takes in what the session's own thread holds.
    pub(crate) fn restore<'a>(&self, events: impl IntoIterator<Item = &'a EventBody>) {
        for event in events {
            self.take_in(event);
        }
        self.set_stored();
    }

    /// Takes in one event of the session's own thread.
    pub(crate) fn take_in(&self, event: &EventBody) {
        match event {
            EventBody::PermissionRemembered(remembered) => self.remember(remembered.clone()),
            EventBody::PermissionStateChanged(changed) => self.change(changed),
            _ => {}
        }
    }

    /// Forgets all: what was known may be that of a session that somebody has deleted.
    pub(crate) fn clear(&self) {
        *self.lock() = Inner::default();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was chosen for calls of a tool with this key; `Ask` if nothing. What was denied to the tool as a whole is
    /// denied to all its calls.
    pub(crate) fn choice(&self, tool: &str, key: &str) -> PermissionChoice {
        let inner = self.lock();
        let of_key = inner.choices.iter().find(|chosen| chosen.is_for(key)).map(|chosen| chosen.choice);
        let denied = || inner.choices.iter().any(|chosen| chosen.denies_all_of(tool));
        match of_key {
            Some(PermissionChoice::DenyAlways) => PermissionChoice::DenyAlways,
            _ if denied() => PermissionChoice::DenyAlways,
            other => other.unwrap_or_default(),
        }
    }

    fn remember(&self, new: PermissionRemembered) {
        let mut inner = self.lock();
        match inner.choices.iter_mut().find(|chosen| chosen.is_for(new.shared_key())) {
            // Two questions were open at once: what was denied stays denied.
            Some(chosen) if chosen.choice == PermissionChoice::DenyAlways => {}
            Some(chosen) => *chosen = new,
            None => inner.choices.push(new),
        }
    }

    fn change(&self, changed: &PermissionStateChanged) {
        let mut inner = self.lock();
        let state = Arc::make_mut(inner.state.get_or_insert_default());
        for (name, value) in &*changed.entries {
            match value {
                Value::Null => state.remove(name),
                value => state.insert(name.clone(), value.clone()),
            };
        }
    }

    /// The tools that are denied for good, whatever the call.
    pub(crate) fn denied_tools(&self) -> Vec<Arc<str>> {
        let denied = |chosen: &PermissionRemembered| {
            chosen.denies_all_of(&chosen.function_name).then(|| Arc::clone(&chosen.function_name))
        };
        self.lock().choices.iter().filter_map(denied).collect()
    }

    /// What the policy keeps.
    pub(crate) fn state(&self) -> Arc<Map<String, Value>> {
        static NOTHING: LazyLock<Arc<Map<String, Value>>> = LazyLock::new(Arc::default);
        self.lock().state.as_ref().map_or_else(|| Arc::clone(&NOTHING), Arc::clone)
    }

    /// Who has this is the only one who changes what the session remembers.
    pub(crate) async fn learning(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.learning.lock().await
    }

    pub(crate) fn is_stored(&self) -> bool {
        self.lock().stored
    }

    pub(crate) fn set_stored(&self) {
        self.lock().stored = true;
    }
}

impl PermissionRemembered {
    fn shared_key(&self) -> &Arc<str> {
        self.key.as_ref().unwrap_or(&self.function_name)
    }

    fn is_for(&self, key: &str) -> bool {
        **self.shared_key() == *key
    }

    fn denies_all_of(&self, tool: &str) -> bool {
        self.key.is_none() && *self.function_name == *tool && self.choice == PermissionChoice::DenyAlways
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(key: Option<&str>, choice: PermissionChoice) -> EventBody {
        EventBody::PermissionRemembered(PermissionRemembered {
            function_name: "run".into(),
            key: key.map(Into::into),
            choice,
        })
    }

    #[test]
    fn a_denial_is_not_undone_by_an_answer_to_a_question_that_was_open_beside_it() {
        use PermissionChoice::{AllowAlways, Ask, DenyAlways};
        for order in [[AllowAlways, DenyAlways], [DenyAlways, AllowAlways]] {
            let memory = SessionMemory::default();
            memory.restore(&order.map(|choice| chosen(Some("run:ls"), choice)));
            assert_eq!(memory.choice("run", "run:ls"), DenyAlways);
            assert_eq!(memory.choice("run", "run:rm"), Ask);
            assert!(memory.denied_tools().is_empty());
        }
    }

    #[test]
    fn what_is_denied_to_a_tool_is_denied_to_all_its_calls() {
        use PermissionChoice::{AllowAlways, Ask, DenyAlways};
        let memory = SessionMemory::default();
        memory.restore(&[chosen(Some("run:ls"), AllowAlways), chosen(None, DenyAlways)]);
        assert_eq!(memory.choice("run", "run:ls"), DenyAlways);
        assert_eq!(memory.choice("read", "read"), Ask);
        assert_eq!(memory.denied_tools(), [Arc::from("run")]);
    }
}
