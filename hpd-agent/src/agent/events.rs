//! The events of a run as a stream, also for a subscriber that is slow.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_core::Stream;

use crate::{
    event::{Delivery, Event, EventBody, EventEnvelope, EventsMissed, Gap, Subscription},
    future::BoxFuture,
    store::SessionStore,
};

/// The events of a run and all its descendants.
///
/// A subscriber that is too slow reads the durable events that it missed from the journal, and is told by an
/// `EVENTS_MISSED` event how many live ones are gone.
pub struct EventStream {
    subscription: Subscription,
    store: Arc<dyn SessionStore>,
    /// Events that were read from the journal.
    caught_up: VecDeque<EventEnvelope>,
    reading: Option<BoxFuture<'static, VecDeque<EventEnvelope>>>,
    /// The last event that was seen live: what was missed is told in its place.
    last: Option<EventEnvelope>,
}

impl EventStream {
    pub(super) fn new(subscription: Subscription, store: Arc<dyn SessionStore>) -> Self {
        Self { subscription, store, caught_up: VecDeque::new(), reading: None, last: None }
    }

    /// The next event; `None` when the run is over.
    pub async fn next(&mut self) -> Option<EventEnvelope> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventStream").finish_non_exhaustive()
    }
}

impl Stream for EventStream {
    type Item = EventEnvelope;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<EventEnvelope>> {
        loop {
            if let Some(reading) = &mut self.reading {
                let events = ready!(reading.as_mut().poll(cx));
                self.reading = None;
                self.caught_up = events;
            }
            if let Some(envelope) = self.caught_up.pop_front() {
                return Poll::Ready(Some(envelope));
            }
            match ready!(self.subscription.poll_next(cx)) {
                None => return Poll::Ready(None),
                Some(Delivery::Event(envelope)) => {
                    self.last = Some(envelope.clone());
                    return Poll::Ready(Some(envelope));
                }
                Some(Delivery::Missed(gap)) => {
                    self.reading = Some(Box::pin(catch_up(Arc::clone(&self.store), gap, self.last.clone())));
                }
            }
        }
    }
}

/// Reads what a subscriber missed, in the order in which it was committed.
async fn catch_up(store: Arc<dyn SessionStore>, gap: Gap, last: Option<EventEnvelope>) -> VecDeque<EventEnvelope> {
    let mut found = Vec::new();
    for ((thread, generation), (first, last)) in gap.durable {
        let limit = usize::try_from(last - first + 1).unwrap_or(usize::MAX);
        match store.read(thread.clone(), Some(generation), first, limit).await {
            Ok(records) => found.extend(records.into_iter().map(|record| {
                let envelope = EventEnvelope::journaled(thread.clone(), generation, record.sequence, record.event);
                (record.position, envelope)
            })),
            Err(error) => tracing::warn!(%error, %thread, "events that a subscriber missed could not be read"),
        }
    }
    found.sort_by_key(|(position, _)| *position);
    let mut events: VecDeque<_> = found.into_iter().map(|(_, envelope)| envelope).collect();
    if gap.live > 0
        && let Some(EventEnvelope { thread, generation, event, .. }) = last
    {
        let body = EventBody::EventsMissed(EventsMissed { count: gap.live });
        let missed = Event::new(Arc::clone(event.source()), body);
        events.push_back(EventEnvelope::live(thread, generation, Arc::new(missed)));
    }
    events
}
