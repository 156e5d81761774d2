//! A root run's task: from the claim of its thread to its result.

use std::sync::Arc;

use super::{
    Agent, RunError, RunResult,
    driver::Ended,
    inner::{Claimed, Kept},
    queue::Turn,
    spot::Spot,
    tree::Tree,
};
use crate::{
    declare::AgentRunConfig,
    id::{AgentId, ThreadKey},
    message::Message,
    store::{CommitError, StoreError},
};

/// What a run is to do.
pub(super) struct Order {
    pub(super) place: Place,
    /// `None`: goes on with a turn that waits for permission.
    pub(super) input: Option<Arc<Message>>,
    pub(super) config: Option<Arc<AgentRunConfig>>,
    /// It waits until the thread is free.
    pub(super) queued: bool,
}

/// Where a run happens.
pub(super) struct Place {
    pub(super) key: ThreadKey,
    /// The thread is known to be new.
    pub(super) new: bool,
    /// The thread must be there already.
    pub(super) existing: bool,
    /// The agent that shall work; `None`: the one that continues the thread.
    pub(super) agent: Option<AgentId>,
}

/// Whatever happens to a run's task, nobody waits for its tree afterwards; even if it is never polled.
pub(super) struct OpenTree(pub(super) Arc<Tree>);

impl Drop for OpenTree {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The task of a root run.
pub(super) async fn execute(mut claim: Claim, _tree: OpenTree, order: Box<Order>) -> Result<RunResult, RunError> {
    let result = claim.run(order).await;
    // Whatever happens, the thread is free afterwards.
    drop(claim);
    result
}

/// A run's right to its thread, or its place in the queue for it. Given back when it is dropped.
pub(super) struct Claim {
    spot: Spot,
    hold: Hold,
}

enum Hold {
    Waiting(Turn),
    Held(Option<Box<Kept>>),
}

impl Drop for Claim {
    fn drop(&mut self) {
        let Spot { agent, tree, key } = &self.spot;
        let inner = agent.inner();
        match &mut self.hold {
            Hold::Held(kept) => inner.release(key, kept.take()),
            Hold::Waiting(turn) => {
                inner.leave(key, tree);
                // Its turn may have come this very moment.
                if let Ok(kept) = turn.try_recv() {
                    inner.release(key, kept);
                }
            }
        }
    }
}

impl Claim {
    pub(super) fn new(agent: &Agent, tree: &Arc<Tree>, order: &Order) -> Result<Self, RunError> {
        let Place { key, new, .. } = &order.place;
        let hold = match agent.inner().claim(key, tree, *new, order.queued)? {
            Claimed::Now(kept) => Hold::Held(kept),
            Claimed::Later(turn) => Hold::Waiting(turn),
        };
        let spot = Spot { agent: agent.clone(), tree: Arc::clone(tree), key: key.clone() };
        Ok(Self { spot, hold })
    }

    /// Waits until the thread is this run's. Gives what is kept of it.
    async fn acquire(&mut self) -> Result<Option<Box<Kept>>, RunError> {
        if let Hold::Waiting(turn) = &mut self.hold {
            let kept = tokio::select! {
                biased;
                () = self.spot.tree.cancellation.wait() => return Err(RunError::Cancelled),
                kept = turn => kept,
            };
            let kept = kept.map_err(|_| RunError::Internal { reason: "the queue of a thread is gone" })?;
            self.hold = Hold::Held(kept);
        }
        match &mut self.hold {
            Hold::Held(kept) => Ok(kept.take()),
            Hold::Waiting(_) => Ok(None),
        }
    }

    async fn run(&mut self, order: Box<Order>) -> Result<RunResult, RunError> {
        // What waits is never kept: if something is, it is not what somebody wants to go on with.
        let kept = self.acquire().await?.filter(|_| order.input.is_some());
        let spot = &self.spot;
        let (lane, request) = match kept {
            Some(kept) => match spot.begin(kept.state, Some(kept.last_event), false, &order).await {
                // Another process has continued, deleted or replaced the thread: what was kept is old.
                Err(RunError::Commit(
                    CommitError::Conflict { .. }
                    | CommitError::Replaced { .. }
                    | CommitError::Store(StoreError::NotFound { .. }),
                )) => {
                    spot.memory().clear();
                    spot.begin_from_store(&order).await?
                }
                begun => begun?,
            },
            None if order.place.new => spot.begin(spot.new_thread(&order)?, None, true, &order).await?,
            None => match spot.begin_from_store(&order).await {
                // Another process has begun or continued it at the same moment.
                Err(RunError::Commit(CommitError::Exists { .. } | CommitError::Conflict { .. })) => {
                    spot.begin_from_store(&order).await?
                }
                begun => begun?,
            },
        };
        let Ended { outcome, last_event, usage: (own_usage, _), .. } = Arc::clone(&lane).drive(request).await;
        // What could not be committed is not kept, nor is what others may answer: the next run reads the journal.
        let keep = !outcome
            .as_ref()
            .is_err_and(|error| error.is_fatal() || matches!(error, RunError::AwaitingPermission { .. }));
        let answer = outcome.map(|answer| RunResult {
            thread: self.spot.key.clone(),
            text: answer.text,
            stop: answer.stop,
            message: answer.message,
            own_usage,
            usage: self.spot.tree.usage(),
        });
        if keep && let Some(lane) = Arc::into_inner(lane) {
            let state = lane.state.into_inner();
            if let Some(last_event) = last_event.filter(|_| state.is_committed()) {
                self.hold = Hold::Held(Some(Box::new(Kept { state: state.thread, last_event, memory: lane.memory })));
            }
        }
        answer
    }
}
