//! The live events of one tree of agents: one hub per root, however many children there are.
//!
//! A subscriber has a queue of bounded length. When it is full, what comes is not kept: live events are counted, and
//! of durable ones only the range of their numbers, so that the subscriber can read them from the journal.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use super::EventEnvelope;
use crate::id::ThreadKey;

/// Hands every event of a tree to its subscribers.
#[derive(Debug, Default)]
pub(crate) struct EventHub {
    subscribers: Mutex<Vec<Arc<Queue>>>,
    active: AtomicUsize,
    closed: std::sync::atomic::AtomicBool,
}

#[derive(Debug)]
struct Queue {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<EventEnvelope>,
    gap: Gap,
    waker: Option<Waker>,
    closed: bool,
    /// The subscription was dropped.
    gone: bool,
}

/// What a subscriber missed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Gap {
    /// How many live events.
    pub(crate) live: u64,
    /// Which durable events: per thread and generation the first and the last number.
    pub(crate) durable: BTreeMap<(ThreadKey, u64), (u64, u64)>,
}

impl Gap {
    fn is_empty(&self) -> bool {
        self.live == 0 && self.durable.is_empty()
    }

    fn add(&mut self, envelope: &EventEnvelope) {
        match envelope.sequence {
            None => self.live += 1,
            Some(sequence) => {
                let sequence = sequence.get();
                let range =
                    self.durable.entry((envelope.thread.clone(), envelope.generation)).or_insert((sequence, sequence));
                range.1 = range.1.max(sequence);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl EventHub {
    /// Whether anybody listens. If not, live events need not even be made.
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed) > 0
    }

    /// Hands an event to all subscribers.
    pub(crate) fn publish(&self, envelope: &EventEnvelope) {
        lock(&self.subscribers).retain(|queue| {
            let mut state = lock(&queue.state);
            if state.gone {
                self.active.fetch_sub(1, Ordering::Relaxed);
                return false;
            }
            if state.gap.is_empty() && state.queue.len() < queue.capacity {
                state.queue.push_back(envelope.clone());
            } else {
                state.gap.add(envelope);
            }
            let waker = state.waker.take();
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
            true
        });
    }

    /// Listens from now on, with at most `capacity` events waiting.
    pub(crate) fn subscribe(&self, capacity: usize) -> Subscription {
        let queue = Arc::new(Queue { capacity: capacity.max(1), state: Mutex::default() });
        let mut subscribers = lock(&self.subscribers);
        if self.closed.load(Ordering::Acquire) {
            lock(&queue.state).closed = true;
        } else {
            subscribers.push(Arc::clone(&queue));
            self.active.fetch_add(1, Ordering::Relaxed);
        }
        Subscription { queue }
    }

    /// Ends all subscriptions once they are read empty.
    pub(crate) fn close(&self) {
        let subscribers = {
            let mut subscribers = lock(&self.subscribers);
            self.closed.store(true, Ordering::Release);
            self.active.store(0, Ordering::Relaxed);
            std::mem::take(&mut *subscribers)
        };
        for queue in subscribers {
            let waker = {
                let mut state = lock(&queue.state);
                state.closed = true;
                state.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

/// One subscriber's end of a hub.
#[derive(Debug)]
pub(crate) struct Subscription {
    queue: Arc<Queue>,
}

/// What a subscriber gets.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// The next event.
    Event(EventEnvelope),
    /// It was too slow: here is what it missed.
    Missed(Gap),
}

impl Subscription {
    pub(crate) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Delivery>> {
        let mut state = lock(&self.queue.state);
        if let Some(envelope) = state.queue.pop_front() {
            return Poll::Ready(Some(Delivery::Event(envelope)));
        }
        if !state.gap.is_empty() {
            return Poll::Ready(Some(Delivery::Missed(std::mem::take(&mut state.gap))));
        }
        if state.closed {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut state = lock(&self.queue.state);
        state.gone = true;
        state.queue = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{AgentScope, CustomEvent, Event, EventBody, EventSource},
        id::AgentId,
    };

    fn envelope(sequence: Option<u64>) -> EventEnvelope {
        let scope = AgentScope::root("a".into(), AgentId::new("a").unwrap());
        let source = Arc::new(EventSource::root(Arc::new(scope)));
        let custom = CustomEvent {
            name: "n".into(),
            value: Arc::new(serde_json::Value::Null),
            call_id: None,
            durable: sequence.is_some(),
        };
        let event = Arc::new(Event::new(source, EventBody::Custom(Box::new(custom))));
        let thread = ThreadKey::new("s", "t").unwrap();
        match sequence {
            Some(sequence) => EventEnvelope::journaled(thread, 1, sequence, event),
            None => EventEnvelope::live(thread, 1, event),
        }
    }

    fn poll(subscription: &Subscription) -> Poll<Option<Delivery>> {
        subscription.poll_next(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_slow_subscriber_is_told_what_it_missed_and_then_goes_on() {
        let hub = EventHub::default();
        let subscription = hub.subscribe(2);
        for sequence in 1..=5 {
            hub.publish(&envelope(Some(sequence)));
        }
        hub.publish(&envelope(None));
        for expected in 1..=2 {
            let Poll::Ready(Some(Delivery::Event(event))) = poll(&subscription) else { panic!("expected an event") };
            assert_eq!(event.sequence.unwrap().get(), expected);
        }
        let Poll::Ready(Some(Delivery::Missed(gap))) = poll(&subscription) else { panic!("expected a gap") };
        assert_eq!(gap.live, 1);
        assert_eq!(gap.durable.into_values().collect::<Vec<_>>(), [(3, 5)]);
        hub.publish(&envelope(Some(6)));
        assert!(matches!(poll(&subscription), Poll::Ready(Some(Delivery::Event(_)))));
        assert!(poll(&subscription).is_pending());
        hub.close();
        assert!(matches!(poll(&subscription), Poll::Ready(None)));
    }

    #[test]
    fn a_dropped_subscription_leaves_the_hub() {
        let hub = EventHub::default();
        assert!(!hub.is_active());
        drop(hub.subscribe(2));
        hub.publish(&envelope(None));
        assert!(!hub.is_active());
    }

    #[test]
    fn a_subscription_after_the_end_ends_at_once() {
        let hub = EventHub::default();
        hub.close();
        assert!(matches!(poll(&hub.subscribe(2)), Poll::Ready(None)));
    }
}
