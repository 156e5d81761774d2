//! The runs that wait for a thread.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use tokio::sync::oneshot;

use super::{inner::Kept, tree::Tree};
use crate::id::ThreadKey;

/// Resolves when it is a run's turn, with what is kept of the thread: the thread is the run's own by then.
pub(super) type Turn = oneshot::Receiver<Option<Box<Kept>>>;

/// One queue for each thread that somebody waits for, first come, first served. A thread is handed from one run to the
/// next under one lock, so nobody can come in between.
#[derive(Default)]
pub(super) struct Queues(HashMap<ThreadKey, VecDeque<Waiter>>);

pub(super) struct Waiter {
    pub(super) tree: Arc<Tree>,
    pub(super) turn: oneshot::Sender<Option<Box<Kept>>>,
}

impl Queues {
    /// Puts a run at the end of a thread's queue.
    pub(super) fn join(&mut self, key: &ThreadKey, tree: &Arc<Tree>) -> Turn {
        let (turn, waiting) = oneshot::channel();
        self.0.entry(key.clone()).or_default().push_back(Waiter { tree: Arc::clone(tree), turn });
        waiting
    }

    /// Takes the run out whose turn it is.
    pub(super) fn next(&mut self, key: &ThreadKey) -> Option<Waiter> {
        let queue = self.0.get_mut(key)?;
        let next = queue.pop_front();
        if queue.is_empty() {
            self.0.remove(key);
        }
        next
    }

    /// Takes a run out that does not wait any more.
    pub(super) fn leave(&mut self, key: &ThreadKey, tree: &Arc<Tree>) {
        let Some(queue) = self.0.get_mut(key) else { return };
        queue.retain(|waiter| !Arc::ptr_eq(&waiter.tree, tree));
        if queue.is_empty() {
            self.0.remove(key);
        }
    }

    /// How many runs wait for a thread.
    pub(super) fn len(&self, key: &ThreadKey) -> usize {
        self.0.get(key).map_or(0, VecDeque::len)
    }
}
