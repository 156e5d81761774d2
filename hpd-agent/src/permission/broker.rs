//! The open questions of one tree of agents.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use futures_core::Stream;
use tokio::sync::{mpsc, oneshot};

use super::{PermissionDecision, PermissionRequest};
use crate::{
    event::PermissionOutcome,
    id::{RequestId, ThreadKey},
};

/// How many answered questions are remembered, so that a late answer is told what happened.
const REMEMBERED: usize = 64;

/// What became of an answer.
///
/// There is no outcome for an answer of the wrong type, since a question for permission is the only kind of request and
/// its answer has a type of its own; and none for an ambiguous one, since ids of requests are made by the runtime and are
/// unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RespondOutcome {
    /// It counts. For a question that waited in a journal: it is committed there.
    Accepted,
    /// There is no such question, or no such thread.
    NotFound,
    /// Somebody else has answered before, or it was denied because nobody could be asked.
    AlreadyResolved,
    /// It came too late.
    TimedOut,
    /// The run was cancelled before, or the conversation went on without an answer.
    Cancelled,
    /// The question is one of another thread.
    TargetMismatch,
    /// What asked is over without an answer: the run has ended, or its process is gone.
    ExecutionEnded,
    /// Nothing runs in this process that could have asked, and no thread was named in whose journal it could wait.
    RuntimeUnavailable,
}

/// What a question came to.
#[derive(Debug)]
pub(crate) enum Answer {
    Decided(PermissionDecision),
    TimedOut,
    Cancelled,
    NobodyToAsk,
}

#[derive(Debug, Default)]
pub(crate) struct Broker {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// In the order of creation.
    pending: Vec<Pending>,
    resolved: VecDeque<(RequestId, ThreadKey, PermissionOutcome)>,
    watchers: Vec<mpsc::UnboundedSender<PermissionRequest>>,
    closed: bool,
}

#[derive(Debug)]
struct Pending {
    request: PermissionRequest,
    /// The threads from the root to the one that asks.
    path: Vec<ThreadKey>,
    /// Whether it is committed and was shown to those who had taken the requests.
    announced: bool,
    answer: oneshot::Sender<PermissionDecision>,
}

impl Inner {
    fn resolve(&mut self, id: RequestId, thread: ThreadKey, outcome: PermissionOutcome) {
        if self.resolved.len() == REMEMBERED {
            self.resolved.pop_front();
        }
        self.resolved.push_back((id, thread, outcome));
    }
}

impl Broker {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a question. The receiver resolves with the answer of whoever took the requests.
    pub(crate) fn open(
        &self,
        request: &PermissionRequest,
        path: Vec<ThreadKey>,
    ) -> oneshot::Receiver<PermissionDecision> {
        let (answer, receiver) = oneshot::channel();
        self.lock().pending.push(Pending { request: request.clone(), path, announced: false, answer });
        receiver
    }

    /// Shows a question to those who took the requests.
    pub(crate) fn announce(&self, request: &PermissionRequest) {
        let mut inner = self.lock();
        if let Some(pending) = inner.pending.iter_mut().find(|pending| pending.request.id() == request.id()) {
            pending.announced = true;
        }
        inner.watchers.retain(|watcher| watcher.send(request.clone()).is_ok());
    }

    /// Resolves when nobody has the requests any more.
    pub(crate) async fn abandoned(&self) {
        loop {
            let Some(watcher) = self.lock().watchers.first().cloned() else { return };
            watcher.closed().await;
            self.lock().watchers.retain(|watcher| !watcher.is_closed());
        }
    }

    /// Closes a question.
    pub(crate) fn close(&self, request: &PermissionRequest, outcome: PermissionOutcome) {
        let id = request.id();
        let mut inner = self.lock();
        inner.pending.retain(|pending| pending.request.id() != id);
        if inner.resolved.iter().all(|(resolved, ..)| *resolved != id) {
            inner.resolve(id, request.thread().clone(), outcome);
        }
    }

    /// Lets nobody answer a question any more.
    pub(crate) fn withdraw(&self, id: RequestId) {
        self.lock().pending.retain(|pending| pending.request.id() != id);
    }

    /// Ends all: the run is over.
    pub(crate) fn shut(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        inner.pending.clear();
        inner.watchers.clear();
    }

    /// Answers a question; `thread` is checked if given.
    pub(crate) fn respond(
        &self,
        id: RequestId,
        thread: Option<&ThreadKey>,
        decision: PermissionDecision,
    ) -> RespondOutcome {
        let mut inner = self.lock();
        let mismatch = |of: &ThreadKey| thread.is_some_and(|thread| thread != of);
        if let Some(at) = inner.pending.iter().position(|pending| pending.request.id() == id) {
            let found = inner.pending.get(at).is_some_and(|pending| mismatch(pending.request.thread()));
            if found {
                return RespondOutcome::TargetMismatch;
            }
            let pending = inner.pending.remove(at);
            let outcome = if decision.is_approved() { PermissionOutcome::Approved } else { PermissionOutcome::Denied };
            inner.resolve(id, pending.request.thread().clone(), outcome);
            return match pending.answer.send(decision) {
                Ok(()) => RespondOutcome::Accepted,
                Err(_) => RespondOutcome::ExecutionEnded,
            };
        }
        match inner.resolved.iter().find(|(resolved, ..)| *resolved == id) {
            Some((_, of, _)) if mismatch(of) => RespondOutcome::TargetMismatch,
            Some((.., PermissionOutcome::TimedOut)) => RespondOutcome::TimedOut,
            Some((.., PermissionOutcome::Cancelled)) => RespondOutcome::Cancelled,
            Some(_) => RespondOutcome::AlreadyResolved,
            None if inner.closed => RespondOutcome::ExecutionEnded,
            None => RespondOutcome::NotFound,
        }
    }

    /// The open questions of a thread and its descendants, in the order of their creation.
    pub(crate) fn pending(&self, thread: &ThreadKey) -> Vec<PermissionRequest> {
        let inner = self.lock();
        let below = inner.pending.iter().filter(|pending| pending.path.contains(thread));
        below.map(|pending| pending.request.clone()).collect()
    }

    /// Takes the requests: those that are open and those to come.
    pub(crate) fn watch(self: &Arc<Self>) -> PermissionRequests {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut inner = self.lock();
        for pending in inner.pending.iter().filter(|pending| pending.announced) {
            // The receiver is alive: it is right here.
            let _ = sender.send(pending.request.clone());
        }
        if !inner.closed {
            inner.watchers.push(sender);
        }
        PermissionRequests { receiver, broker: Arc::clone(self) }
    }
}

/// The questions for permission of a run and all its descendants. Whoever holds it is the one who can be asked.
///
/// A stream that ends with the run.
#[derive(Debug)]
pub struct PermissionRequests {
    receiver: mpsc::UnboundedReceiver<PermissionRequest>,
    broker: Arc<Broker>,
}

impl PermissionRequests {
    /// The next question; `None` when the run is over.
    pub async fn next(&mut self) -> Option<PermissionRequest> {
        self.receiver.recv().await
    }

    /// Answers a question.
    pub fn respond(&self, id: RequestId, decision: PermissionDecision) -> RespondOutcome {
        self.broker.respond(id, None, decision)
    }
}

impl Stream for PermissionRequests {
    type Item = PermissionRequest;
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<PermissionRequest>> {
        self.receiver.poll_recv(cx)
    }
}
