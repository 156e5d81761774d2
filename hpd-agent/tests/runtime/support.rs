//! What the tests share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use hpd_agent::{
    agent::{AgentBuilder, RunResult},
    chat::{BoxFuture, ChatRequest},
    event::{Event, ThreadHeader},
    id::{OwnerId, SessionId, ThreadKey},
    message::{Message, ToolResult},
    prelude::*,
    store::{
        Batch, CommitError, Committed, Fence, LeaseError, OutboxEntry, OutboxQuery, Position, Record, SessionStore,
        StoreError, ThreadQuery, ThreadRecord, memory::MemorySessionStore,
    },
    testing::{RequestChecker, ScriptedChatClient},
};

#[derive(Default)]
pub(crate) struct Specialists;

#[tool_harness]
impl Specialists {
    /// Summarizes a request before the parent answers.
    #[subagent(agent_id = "specialist.summarizer")]
    fn summarizer(&self) -> AgentConfig {
        AgentConfig::new("Summarizer").with_system_instructions("You are the summarizer.")
    }

    /// Reviews a draft, with as much context as the model wants.
    #[subagent(agent_id = "specialist.reviewer", context = ModelChoice, metadata(team = "writing"))]
    fn reviewer(&self) -> AgentConfig {
        AgentConfig::new("Reviewer").with_system_instructions("You are the reviewer.")
    }

    /// Knows nothing of the conversation.
    #[subagent(agent_id = "specialist.fresh", context = Fresh)]
    fn fresh(&self) -> AgentConfig {
        AgentConfig::new("Fresh").with_system_instructions("You are fresh.")
    }

    /// Lives in a session of its own.
    #[subagent(agent_id = "specialist.isolated", context = Isolated)]
    fn isolated(&self) -> AgentConfig {
        AgentConfig::new("Isolated").with_system_instructions("You are isolated.")
    }
}

/// An agent with the specialists, whose requests are checked as real providers check them.
pub(crate) fn builder(script: &ScriptedChatClient) -> AgentBuilder {
    Agent::builder()
        .with_name("Coordinator")
        .with_system_instructions("You are the coordinator.")
        .with_chat_client(RequestChecker::new(script.clone()))
        .with_permissions(Permissions::allow_all())
}

pub(crate) async fn agent(script: &ScriptedChatClient) -> Agent {
    builder(script).with_tool_harness::<Specialists>().build().await.unwrap()
}

pub(crate) async fn journal(agent: &Agent, thread: &ThreadKey) -> Vec<Arc<Event>> {
    let records = agent.session_store().read(thread.clone(), None, 1, usize::MAX).await.unwrap();
    for (number, record) in (1..).zip(&records) {
        assert_eq!(record.sequence, number);
        // Every event survives its wire form.
        let json = record.event.to_json().unwrap();
        let read = Event::from_json(json.clone()).unwrap();
        assert_eq!(read.body(), record.event.body(), "{json}");
        assert_eq!(read.to_json().unwrap(), json);
    }
    records.into_iter().map(|record| record.event).collect()
}

pub(crate) fn types(events: &[Arc<Event>]) -> Vec<&str> {
    events.iter().map(|event| event.type_name()).collect()
}

/// The instructions of a child without what a forked one is told of its task.
pub(crate) fn instructions(request: &ChatRequest) -> &str {
    request.system.split("\n\n# Your task").next().unwrap_or_default()
}

/// The headers of the children of a thread.
pub(crate) async fn children(agent: &Agent, parent: &ThreadKey) -> Vec<Arc<ThreadHeader>> {
    let found = agent.session_store().threads(ThreadQuery::children_of(parent.clone())).await.unwrap();
    found.into_iter().map(|thread| thread.header).collect()
}

/// The tool results of a finished run, in the order in which the model was shown them.
pub(crate) async fn results(agent: &Agent, result: &RunResult) -> Vec<ToolResult> {
    let thread = agent.thread(result.session_id(), result.thread_id());
    let messages: Vec<Arc<Message>> = thread.messages().await.unwrap();
    messages.iter().flat_map(|message| message.results().cloned().collect::<Vec<_>>()).collect()
}

/// A store in memory whose commits take their time, so that something can happen in the middle of one, or fail, and which
/// can call itself durable.
#[derive(Default)]
pub(crate) struct TestStore {
    pub(crate) inner: MemorySessionStore,
    pub(crate) delay: Duration,
    pub(crate) durable: bool,
    /// Which commit fails, from 0, and how.
    pub(crate) fault: Option<(Fault, usize)>,
    pub(crate) commits: AtomicUsize,
    /// How often a journal was read.
    pub(crate) reads: AtomicUsize,
}

/// How a commit fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    Refused,
    UnknownApplied,
    UnknownNotApplied,
    /// So often that the runtime gives up.
    UnknownForGood,
    Conflict,
}

impl TestStore {
    pub(crate) fn failing(fault: Fault, at: usize) -> Self {
        Self { fault: Some((fault, at)), ..Self::default() }
    }

    /// The fault of the next commit.
    fn next_fault(&self) -> Option<Fault> {
        let number = self.commits.fetch_add(1, Ordering::SeqCst);
        let (fault, at) = self.fault?;
        let last = if fault == Fault::UnknownForGood { at + 3 } else { at };
        (at..=last).contains(&number).then_some(fault)
    }
}

fn broken() -> StoreError {
    StoreError::Backend { source: "the disk is gone".into() }
}

impl SessionStore for TestStore {
    fn is_durable(&self) -> bool {
        self.durable
    }
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, CommitError>> {
        let fault = self.next_fault();
        if let (None, true) = (fault, self.delay.is_zero()) {
            return self.inner.commit(batch);
        }
        let thread = batch.appends[0].thread.clone();
        // It happens at once; whoever asked learns of it later.
        let applied = !matches!(fault, Some(Fault::Refused | Fault::UnknownNotApplied | Fault::Conflict));
        let committed = applied.then(|| self.inner.commit(batch));
        Box::pin(async move {
            let committed = match committed {
                Some(committed) => Some(committed.await),
                None => None,
            };
            if !self.delay.is_zero() {
                tokio::time::sleep(self.delay).await;
            }
            match fault {
                None => committed.unwrap(),
                Some(Fault::Refused) => Err(broken().into()),
                Some(Fault::Conflict) => Err(CommitError::Conflict { thread, expected: 1, actual: 2 }),
                Some(Fault::UnknownApplied | Fault::UnknownForGood | Fault::UnknownNotApplied) => {
                    Err(CommitError::Unknown(broken()))
                }
            }
        })
    }
    fn read(
        &self,
        thread: ThreadKey,
        generation: Option<u64>,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, StoreError>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.inner.read(thread, generation, from, limit)
    }
    fn threads(&self, query: ThreadQuery) -> BoxFuture<'_, Result<Vec<ThreadRecord>, StoreError>> {
        self.inner.threads(query)
    }
    fn outbox(&self, query: OutboxQuery) -> BoxFuture<'_, Result<Vec<OutboxEntry>, StoreError>> {
        self.inner.outbox(query)
    }
    fn acquire(&self, thread: ThreadKey, owner: OwnerId, ttl: Duration) -> BoxFuture<'_, Result<Fence, LeaseError>> {
        self.inner.acquire(thread, owner, ttl)
    }
    fn renew(&self, fences: Vec<Fence>, ttl: Duration) -> BoxFuture<'_, Result<(), LeaseError>> {
        self.inner.renew(fences, ttl)
    }
    fn release(&self, fence: Fence) -> BoxFuture<'_, Result<(), LeaseError>> {
        self.inner.release(fence)
    }
    fn changed(&self, after: Position) -> BoxFuture<'_, Result<Position, StoreError>> {
        self.inner.changed(after)
    }
    fn delete_session(&self, session: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.delete_session(session)
    }
}
