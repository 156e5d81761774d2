//! The persistent message list: clone and fork in O(1), a running hash, iteration in order.
//!
//! A history is a chain of segments. The one value that owns the last segment appends in place; a clone sees the same
//! messages and opens a segment of its own when it appends. So a child that is forked from ten thousand messages costs
//! two reference counts, and the parent never notices.

use std::sync::{Arc, OnceLock};

use crate::message::Message;

const FIRST_SEGMENT: usize = 4;
const LARGEST_SEGMENT: usize = 1024;

#[derive(Debug)]
struct Segment {
    /// The segment before this one and how many messages *in all* are taken over from there.
    parent: Option<Arc<Segment>>,
    /// How many messages stand before this segment.
    base: usize,
    slots: Box<[OnceLock<Arc<Message>>]>,
}

/// An ordered list of messages that is cheap to clone and to fork.
///
/// ```
/// # use std::sync::Arc;
/// # use hpd_agent::{history::History, message::Message};
/// let mut parent = History::new();
/// parent.push(Arc::new(Message::user("one")));
/// let mut child = parent.clone();
/// child.push(Arc::new(Message::user("two")));
/// parent.push(Arc::new(Message::user("three")));
/// assert_eq!(child.iter().map(|m| m.text().into_owned()).collect::<Vec<_>>(), ["one", "two"]);
/// assert_eq!(parent.last().map(|m| m.text().into_owned()).as_deref(), Some("three"));
/// ```
#[derive(Debug, Default)]
pub struct History {
    segment: Option<Arc<Segment>>,
    len: usize,
    hash: u64,
    /// Whether this value may append to `segment` in place. A clone never may.
    owner: bool,
}

impl Clone for History {
    fn clone(&self) -> Self {
        Self { segment: self.segment.clone(), len: self.len, hash: self.hash, owner: false }
    }
}

impl History {
    /// An empty history.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many messages it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The running hash of the messages' identities and shapes: equal for equal prefixes, in every process. Messages
    /// are immutable, so their ids stand for their content.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Appends a message.
    pub fn push(&mut self, message: Arc<Message>) {
        self.hash = mix(self.hash, &message);
        let rejected = match &self.segment {
            Some(segment) if self.owner => match segment.slots.get(self.len - segment.base) {
                Some(slot) => slot.set(message).err(),
                None => Some(message),
            },
            _ => Some(message),
        };
        if let Some(message) = rejected {
            let size = match &self.segment {
                Some(segment) if self.owner => (segment.slots.len() * 2).min(LARGEST_SEGMENT),
                _ => FIRST_SEGMENT,
            };
            let slots = std::iter::once(OnceLock::from(message))
                .chain(std::iter::repeat_with(OnceLock::new))
                .take(size)
                .collect();
            self.segment = Some(Arc::new(Segment { parent: self.segment.take(), base: self.len, slots }));
            self.owner = true;
        }
        self.len += 1;
    }

    /// The last message.
    #[must_use]
    pub fn last(&self) -> Option<&Arc<Message>> {
        let segment = self.segment.as_deref()?;
        segment.slots.get((self.len - segment.base).checked_sub(1)?)?.get()
    }

    /// The messages in order; from both ends. Costs O(segments) to start, O(1) a message.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter::new(self)
    }
}

impl Extend<Arc<Message>> for History {
    fn extend<I: IntoIterator<Item = Arc<Message>>>(&mut self, messages: I) {
        for message in messages {
            self.push(message);
        }
    }
}

impl FromIterator<Arc<Message>> for History {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        let mut history = Self::new();
        history.extend(messages);
        history
    }
}

impl<'a> IntoIterator for &'a History {
    type Item = &'a Arc<Message>;
    type IntoIter = Iter<'a>;
    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// A chain can be many thousand segments long: dropping it must not recurse.
impl Drop for Segment {
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(segment) = next {
            next = Arc::into_inner(segment).and_then(|mut segment| segment.parent.take());
        }
    }
}

fn mix(hash: u64, message: &Message) -> u64 {
    // The fork of a delegating message keeps its id but not its calls, so the shape has to count.
    let id = message.id().as_u128();
    let word = (id as u64) ^ ((id >> 64) as u64).rotate_left(32) ^ (message.parts().len() as u64);
    (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// Iterates over a [`History`] in order.
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    /// The segments from first to last, each with the messages of it that belong to the history.
    runs: std::collections::VecDeque<&'a [OnceLock<Arc<Message>>]>,
    len: usize,
}

impl<'a> Iter<'a> {
    fn new(history: &'a History) -> Self {
        let mut runs = std::collections::VecDeque::new();
        let mut end = history.len;
        let mut next = history.segment.as_deref();
        while let Some(segment) = next {
            if let Some(run) = segment.slots.get(..end.saturating_sub(segment.base)) {
                runs.push_front(run);
            }
            end = segment.base.min(end);
            next = segment.parent.as_deref();
        }
        Self { runs, len: history.len }
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a Arc<Message>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let run = self.runs.front_mut()?;
            if let [slot, rest @ ..] = run {
                *run = rest;
                self.len -= 1;
                return slot.get();
            }
            self.runs.pop_front();
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            let run = self.runs.back_mut()?;
            if let [rest @ .., slot] = run {
                *run = rest;
                self.len -= 1;
                return slot.get();
            }
            self.runs.pop_back();
        }
    }
}

impl ExactSizeIterator for Iter<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(n: usize) -> Arc<Message> {
        Arc::new(Message::user(n.to_string()))
    }

    fn texts(history: &History) -> Vec<String> {
        history.iter().map(|message| message.text().into_owned()).collect()
    }

    /// Every history behaves like a vector of its messages, whatever was cloned, appended to and dropped in between.
    #[test]
    fn behaves_like_a_vector_under_forks() {
        let mut all: Vec<(History, Vec<String>)> = vec![(History::new(), vec![])];
        let mut seed = 7u64;
        for n in 0..4_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 33) as usize % all.len();
            match seed >> 60 {
                0..=1 if all.len() < 40 => {
                    let copy = (all[at].0.clone(), all[at].1.clone());
                    all.push(copy);
                }
                2 if all.len() > 1 => drop(all.swap_remove(at)),
                _ => {
                    all[at].0.push(message(n));
                    all[at].1.push(n.to_string());
                }
            }
        }
        for (history, expected) in &all {
            assert_eq!(&texts(history), expected);
            assert_eq!(history.len(), expected.len());
            assert_eq!(history.iter().len(), expected.len());
            assert_eq!(history.last().map(|m| m.text().into_owned()), expected.last().cloned());
            let mut backwards: Vec<_> = history.iter().rev().map(|m| m.text().into_owned()).collect();
            backwards.reverse();
            assert_eq!(&backwards, expected);
        }
    }

    #[test]
    fn equal_prefixes_hash_equally_and_different_ones_do_not() {
        let messages: Vec<_> = (0..20).map(message).collect();
        let a: History = messages.iter().cloned().collect();
        let mut b: History = messages[..10].iter().cloned().collect();
        assert_ne!(a.hash(), b.hash());
        b.extend(messages[10..].iter().cloned());
        assert_eq!(a.hash(), b.hash());
        let swapped: History = [1, 0].iter().map(|&n| messages[n].clone()).collect();
        let straight: History = [0, 1].iter().map(|&n| messages[n].clone()).collect();
        assert_ne!(swapped.hash(), straight.hash());
    }

    #[test]
    fn a_chain_of_many_segments_drops_without_recursion() {
        let mut history = History::new();
        for n in 0..200_000 {
            let mut fork = history.clone();
            fork.push(message(n % 10));
            history = fork;
        }
        assert_eq!(history.len(), 200_000);
        drop(history);
    }

    #[test]
    fn a_fork_shares_what_came_before() {
        let mut parent = History::new();
        parent.push(message(1));
        let child = parent.clone();
        assert!(Arc::ptr_eq(parent.last().unwrap(), child.last().unwrap()));
    }
}
