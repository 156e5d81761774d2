//! Agents: building them, running them, and steering what runs.
//!
//! An [`Agent`] is built once by its [`AgentBuilder`] and shared by cloning. [`Agent::run`] opens a new session;
//! [`Agent::thread`] continues a conversation.

mod answer;
mod blueprint;
mod build_error;
mod builder;
mod canonical;
mod clients;
mod compile;
mod cycles;
mod definition;
mod delegate;
mod driver;
mod error;
mod events;
mod execute;
mod explain;
mod freeze;
mod inner;
mod lane;
mod ledger;
mod materialize;
mod model;
mod park;
mod pending;
mod permit;
mod place;
mod queue;
mod resolver;
mod run;
mod schemas;
mod sources;
mod spot;
mod tools;
mod tree;

use std::sync::Arc;

use self::{blueprint::Blueprint, execute::Place, inner::AgentInner};
pub use self::{
    build_error::{BuildError, BuildProblem},
    builder::AgentBuilder,
    definition::{AgentDefinition, SubAgentDefinition, ToolDefinition, ToolDefinitionKind},
    error::RunError,
    events::EventStream,
    explain::{DelegationPreview, ExplainError},
    resolver::{AgentLease, AgentRuntimeResolver, ResolveError},
    run::{Run, RunFuture, RunHandle, RunResult},
};
pub use crate::message::AgentUsage;
use crate::{
    declare::AgentRunConfig,
    error::IdError,
    event::{ForkPoint, ThreadHeader},
    id::{AgentId, ExecutionId, SessionId, ThreadId, ThreadKey},
    message::{Message, Part, Role},
    permission::PermissionRequest,
    session::{SessionError, ThreadGraph, load, survey},
    store::{AgentStore, Append, Batch, SessionStore},
};

/// An agent: a model, instructions, tools and children, ready to run. Cheap to clone.
#[derive(Clone)]
pub struct Agent {
    inner: Arc<AgentInner>,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut agent = f.debug_struct("Agent");
        if let Ok(root) = self.root() {
            agent.field("id", &root.agent_id).field("name", &root.config.name());
        }
        agent.finish_non_exhaustive()
    }
}

/// What an agent is asked: text, or a message of the user.
///
/// ```
/// # use hpd_agent::agent::Input;
/// let input: Input = "Summarize this.".into();
/// ```
#[derive(Debug, Clone)]
pub struct Input(Message);

impl From<&str> for Input {
    fn from(text: &str) -> Self {
        Self(Message::user(text))
    }
}

impl From<String> for Input {
    fn from(text: String) -> Self {
        Self(Message::user(text))
    }
}

impl From<&String> for Input {
    fn from(text: &String) -> Self {
        Self(Message::user(text.as_str()))
    }
}

impl From<Arc<str>> for Input {
    fn from(text: Arc<str>) -> Self {
        Self(Message::user(text))
    }
}

impl From<Message> for Input {
    /// The message counts as the user's, whatever its role. Only its text does: an answer with reasoning or tool calls
    /// in it can be handed on.
    fn from(message: Message) -> Self {
        let is_text = |part: &&Part| matches!(part, Part::Text(_));
        if message.role() == Role::User && message.parts().iter().all(|part| is_text(&part)) {
            return Self(message);
        }
        Self(Message::of(message.id(), Role::User, message.parts().iter().filter(is_text).cloned()))
    }
}

impl Agent {
    fn new(inner: AgentInner) -> Self {
        Self { inner: Arc::new(inner) }
    }

    /// Begins to build an agent.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::new()
    }

    fn inner(&self) -> &Arc<AgentInner> {
        &self.inner
    }

    fn root(&self) -> Result<&Blueprint, RunError> {
        self.inner.forest.get(0).ok_or(RunError::Internal { reason: "the agent's blueprint is missing" })
    }

    /// The agent's id.
    #[must_use]
    pub fn id(&self) -> Option<&AgentId> {
        self.root().ok().map(|root| &root.agent_id)
    }

    /// What all agents of its tree are, as they were frozen: itself first, then its children.
    ///
    /// ```
    /// # use hpd_agent::{prelude::*, testing::ScriptedChatClient};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let tools = DynamicHarness::new("team").with_sub_agent(
    ///     "reviewer",
    ///     SubAgent::from_config("team.reviewer", AgentConfig::new("Reviewer")).with_description("Reviews a draft."),
    /// );
    /// let agent = Agent::builder()
    ///     .with_chat_client(ScriptedChatClient::texts(["Hello."]))
    ///     .with_dynamic_harness(tools)
    ///     .build()
    ///     .await?;
    /// let ids: Vec<String> = agent.definitions().iter().map(|agent| agent.agent_id.to_string()).collect();
    /// assert_eq!(ids, ["agent", "team.reviewer"]);
    /// assert!(agent.definitions()[0].to_json().starts_with(r#"{"agentId":"agent","config":{"name":"Agent"},"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn definitions(&self) -> Vec<AgentDefinition> {
        self.inner.forest.iter().map(AgentDefinition::of).collect()
    }

    /// Where its threads are kept.
    #[must_use]
    pub fn session_store(&self) -> &Arc<dyn SessionStore> {
        &self.inner.store
    }

    /// Where definitions of agents are kept.
    #[must_use]
    pub fn agent_store(&self) -> &Arc<dyn AgentStore> {
        &self.inner.agent_store
    }

    /// Runs the agent on an input in a new session, whose ids are in the result.
    pub fn run(&self, input: impl Into<Input>) -> Run {
        let session = SessionId::trusted(format!("{:032x}", crate::id::random_u128()));
        let key = ThreadKey::of(session, main_thread());
        Run::new(self.clone(), Ok(Place { key, new: true, existing: false, agent: None }), input.into().0)
    }

    /// A conversation: `agent.thread("user-42", "main").run("…")` continues it, or begins it if there is none.
    ///
    /// An id that is not legal is an error of what is done with the thread.
    pub fn thread<S, T>(&self, session: S, thread: T) -> Thread
    where
        S: TryInto<SessionId>,
        T: TryInto<ThreadId>,
        IdError: From<S::Error> + From<T::Error>,
    {
        let key = ThreadKey::new(session, thread).and_then(for_conversations);
        Thread { agent: self.clone(), key, agent_id: None, existing: false }
    }

    /// What a session consists of: its threads with their forks, and the children that were begun in it, each with what
    /// became of it. Empty if there is no such session. Every journal of the session is read once.
    ///
    /// # Errors
    ///
    /// [`RunError::InvalidId`] if the id is not legal, [`RunError::Session`] if the store fails.
    pub async fn thread_graph<S>(&self, session: S) -> Result<ThreadGraph, RunError>
    where
        S: TryInto<SessionId>,
        IdError: From<S::Error>,
    {
        let session = session.try_into().map_err(IdError::from)?;
        Ok(survey(&*self.inner.store, session, &*self.inner).await?)
    }

    /// Deletes a session with all its threads.
    ///
    /// # Errors
    ///
    /// [`RunError::ThreadBusy`] if something runs in it; an error of the store.
    pub async fn delete_session(&self, session: &SessionId) -> Result<(), RunError> {
        if let Some(thread) = self.inner.running_in(session) {
            return Err(RunError::ThreadBusy { thread });
        }
        self.inner.forget(session);
        Ok(self.inner.store.delete_session(session.clone()).await?)
    }
}

/// A thread that callers may name.
fn for_conversations(key: ThreadKey) -> Result<ThreadKey, IdError> {
    match key.thread_id.as_str().starts_with('$') {
        false => Ok(key),
        true => Err(IdError {
            kind: "thread id",
            text: key.thread_id.to_string(),
            rule: "one that does not begin with `$`, which is for what the runtime keeps itself",
        }),
    }
}

fn main_thread() -> ThreadId {
    static MAIN: std::sync::OnceLock<ThreadId> = std::sync::OnceLock::new();
    MAIN.get_or_init(|| ThreadId::trusted("main")).clone()
}

/// What works on a thread now.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RuntimeState {
    /// The execution that works on the thread itself.
    pub active_execution: Option<ExecutionId>,
    /// The questions of the thread and its descendants that wait for an answer, the oldest first.
    pub pending_requests: Vec<PermissionRequest>,
    /// How many runs wait until the thread is free; see [`Run::queued`].
    pub queued_runs: usize,
}

/// One conversation of an agent.
#[derive(Debug, Clone)]
pub struct Thread {
    agent: Agent,
    key: Result<ThreadKey, IdError>,
    /// Who works on it; `None`: the agent that continues it.
    agent_id: Option<AgentId>,
    /// It is not begun by a run.
    existing: bool,
}

impl Thread {
    /// Runs an agent on an input in this conversation: the one that continues it, that is the root agent in its own
    /// conversations, and a child in a child's. A thread that does not exist yet is begun by the root agent, unless
    /// it is [`existing`](Self::existing).
    pub fn run(&self, input: impl Into<Input>) -> Run {
        Run::new(self.agent.clone(), self.place().map_err(Into::into), input.into().0)
    }

    /// The same conversation, which a run continues and never begins: if there is no such thread, the run is an error
    /// that says so. For ids that were kept somewhere, such as those of a child.
    ///
    /// ```
    /// # use hpd_agent::{prelude::*, testing::ScriptedChatClient};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// # let agent = Agent::builder().with_chat_client(ScriptedChatClient::texts(["Hello."])).build().await?;
    /// let thread = agent.thread("user-42", "subagent/reviewer/0123456789ab").existing();
    /// assert_eq!(thread.run("Go on.").await.unwrap_err().code(), "thread_not_found");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn existing(mut self) -> Self {
        self.existing = true;
        self
    }

    /// Goes on with a turn that waits for permission ([`RunError::AwaitingPermission`]): calls whose questions have been
    /// answered run or are refused, children that waited go on inside of their calls, and then the turn continues. What
    /// was said for the run that began the turn holds, unless the new one is given a
    /// [configuration of its own](Run::with_run_config). A question that nobody has answered is asked again, under
    /// the same id, and waits again if nobody answers.
    ///
    /// Awaiting it gives [`RunError::NothingToResume`] if the thread waits for nothing. [`Thread::run`] with a new input
    /// gives up what waits instead.
    pub fn resume(&self) -> Run {
        Run::resuming(self.agent.clone(), self.place().map_err(Into::into))
    }

    fn place(&self) -> Result<Place, IdError> {
        let (agent, existing) = (self.agent_id.clone(), self.existing);
        self.key.clone().map(|key| Place { key, new: false, existing, agent })
    }

    /// The same conversation for another agent of the tree, by its id. Its place in the tree stays: what a child's
    /// depth forbids, it forbids whoever takes the child's place.
    ///
    /// An id that is not legal, or none of the tree's, is an error of what is done with the thread.
    #[must_use]
    pub fn with_agent<A>(mut self, agent_id: A) -> Self
    where
        A: TryInto<AgentId>,
        IdError: From<A::Error>,
    {
        match agent_id.try_into() {
            Ok(id) => self.agent_id = Some(id),
            Err(error) => self.key = self.key.and(Err(error.into())),
        }
        self
    }

    /// Its address.
    ///
    /// # Errors
    ///
    /// [`IdError`] if it was given ids that are not legal.
    pub fn key(&self) -> Result<&ThreadKey, IdError> {
        self.key.as_ref().map_err(Clone::clone)
    }

    /// What has been said in it.
    ///
    /// # Errors
    ///
    /// [`RunError::Session`] if there is no such thread or it can't be read.
    pub async fn messages(&self) -> Result<Vec<Arc<Message>>, RunError> {
        let key = self.key.clone()?;
        Ok(load(&*self.agent.inner.store, &key).await?.history.iter().cloned().collect())
    }

    /// What the child behind a subagent tool would see if the agent of this conversation called the tool now, in a run with
    /// this configuration. Asks no model and nobody, and writes nothing.
    ///
    /// # Errors
    ///
    /// [`ExplainError`] if there is no such tool, if the call would be refused before anybody is asked, or if there is no
    /// such conversation.
    pub async fn explain(
        &self,
        tool: &str,
        arguments: &str,
        run_config: &AgentRunConfig,
    ) -> Result<DelegationPreview, ExplainError> {
        let key = self.key.clone().map_err(RunError::from)?;
        let thread = load(&*self.agent.inner.store, &key).await.map_err(RunError::from)?;
        let run_config = (*run_config != AgentRunConfig::default()).then(|| Arc::new(run_config.clone()));
        let lane = spot::Spot::preview(&self.agent, key, Some((thread, self.agent_id.clone())), run_config)?;
        Arc::new(lane).explain(tool, arguments)
    }

    /// Forks the conversation at its end: the new thread of the same session sees all that was said so far, and what
    /// is said from now on in one of them is not in the other. Nothing is copied.
    ///
    /// # Errors
    ///
    /// [`RunError`] if the thread can't be read, the new one exists, or its id is not legal.
    pub async fn fork<T>(&self, thread: T) -> Result<Thread, RunError>
    where
        T: TryInto<ThreadId>,
        IdError: From<T::Error>,
    {
        let key = self.key.clone()?;
        let fork = ThreadKey::of(key.session_id.clone(), thread.try_into().map_err(IdError::from)?);
        let fork = for_conversations(fork)?;
        let source = load(&*self.agent.inner.store, &key).await?;
        if source.len == 0 && source.header.forked_from.is_none() {
            return Err(SessionError::NotFound { thread: key }.into());
        }
        let point: ForkPoint = source.fork_point();
        let agent_id = self.agent_id.clone().unwrap_or_else(|| source.header.default_agent_id.clone());
        let header = Arc::new(ThreadHeader::conversation(fork.clone(), agent_id).forked_from(point));
        self.agent.inner.store.commit(Batch::new(vec![Append::create(header, Vec::new())])).await?;
        Ok(Self { key: Ok(fork), ..self.clone() })
    }
}
