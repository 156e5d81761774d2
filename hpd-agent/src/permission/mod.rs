//! Permission: rules, questions, answers, remembered choices.
//!
//! Permission fails closed and never hangs. A call that needs permission runs if the [`PermissionPolicy`] allows it or
//! if somebody who is asked allows it. Who can be asked: the policy's own handler ([`Permissions::ask_with`]), and
//! whoever has taken the run's requests. If there is nobody, the call is denied at once and the reason says what to
//! change. A question of a child at any depth reaches the root and is answered there.

mod broker;
mod memory;
mod policy;

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

pub(crate) use self::{
    broker::{Answer, Broker},
    memory::SessionMemory,
};
pub use self::{
    broker::{PermissionRequests, RespondOutcome},
    policy::{PermissionPolicy, Ruling, SubAgentView, ToolCallView},
};
use crate::{
    declare::PermissionOverride,
    event::{AgentScope, CallType, PermissionChoice, PermissionRequested},
    future::BoxFuture,
    id::{CallId, RequestId, ThreadKey, Timestamp},
};

/// How long somebody who is asked may take if nothing else is said.
pub const DEFAULT_ANSWER_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// An answer to a question for permission.
///
/// ```
/// # use hpd_agent::permission::PermissionDecision;
/// let once = PermissionDecision::allow();
/// let always = PermissionDecision::allow().always();
/// let no = PermissionDecision::deny("Not on production data.");
/// assert!(once.is_approved() && always.is_approved() && !no.is_approved());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionDecision {
    approved: bool,
    always: bool,
    reason: Option<Arc<str>>,
}

impl PermissionDecision {
    /// This call may run.
    #[must_use]
    pub const fn allow() -> Self {
        Self { approved: true, always: false, reason: None }
    }

    /// This call may not run; the model is told the reason.
    #[must_use]
    pub fn deny(reason: impl Into<Arc<str>>) -> Self {
        Self { approved: false, always: false, reason: Some(reason.into()) }
    }

    /// The same for all calls in this session with the same [key](PermissionPolicy::key): by default, all calls of the
    /// tool.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.always = true;
        self
    }

    /// Whether the call may run.
    #[must_use]
    pub const fn is_approved(&self) -> bool {
        self.approved
    }

    /// Why not.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    pub(crate) fn shared_reason(&self) -> Option<Arc<str>> {
        self.reason.clone()
    }

    pub(crate) const fn choice(&self) -> PermissionChoice {
        match (self.always, self.approved) {
            (false, _) => PermissionChoice::Ask,
            (true, true) => PermissionChoice::AllowAlways,
            (true, false) => PermissionChoice::DenyAlways,
        }
    }
}

/// A question for permission, as it reaches who can answer it.
#[derive(Debug, Clone)]
pub struct PermissionRequest {
    question: Arc<PermissionRequested>,
    agent: Arc<AgentScope>,
    thread: ThreadKey,
    created_at: Timestamp,
}

impl PermissionRequest {
    pub(crate) fn new(
        question: Arc<PermissionRequested>,
        agent: Arc<AgentScope>,
        thread: ThreadKey,
        created_at: Timestamp,
    ) -> Self {
        Self { question, agent, thread, created_at }
    }

    /// Its identity; an answer names it.
    #[must_use]
    pub fn id(&self) -> RequestId {
        self.question.permission_id
    }

    /// The call that needs permission.
    #[must_use]
    pub fn call_id(&self) -> CallId {
        self.question.call_id
    }

    /// The tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.question.function_name
    }

    /// What the tool does.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.question.description
    }

    /// The arguments as the model wrote them.
    #[must_use]
    pub fn arguments(&self) -> &str {
        &self.question.arguments
    }

    /// For which calls an answer for good would hold: those with this key. By default the tool's name.
    #[must_use]
    pub fn key(&self) -> &str {
        self.question.key.as_ref().unwrap_or(&self.question.function_name)
    }

    /// Whether it is about a function or a child agent.
    #[must_use]
    pub fn call_type(&self) -> CallType {
        self.question.call_type
    }

    /// The agent that calls, with its chain from the root and its depth.
    #[must_use]
    pub fn agent(&self) -> &AgentScope {
        &self.agent
    }

    /// The thread of the agent that calls.
    #[must_use]
    pub fn thread(&self) -> &ThreadKey {
        &self.thread
    }

    pub(crate) fn question(&self) -> &Arc<PermissionRequested> {
        &self.question
    }

    /// When it was asked.
    #[must_use]
    pub fn created_at(&self) -> Timestamp {
        self.created_at
    }
}

/// The permission policy of an agent and all its descendants. The default is [`Permissions::ask`].
#[derive(Clone)]
pub struct Permissions {
    policy: Arc<dyn PermissionPolicy>,
    timeout: Duration,
    durable: bool,
    overrides: BTreeMap<Arc<str>, PermissionOverride>,
}

impl Default for Permissions {
    fn default() -> Self {
        Self::ask()
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut permissions = f.debug_struct("Permissions");
        permissions
            .field("timeout", &self.timeout)
            .field("durable", &self.durable)
            .field("overrides", &self.overrides)
            .finish_non_exhaustive()
    }
}

impl Permissions {
    /// Calls that need permission are asked about; who has taken the run's requests can answer. Nobody there: denied.
    #[must_use]
    pub fn ask() -> Self {
        Self::from_policy(Rule(|call| if call.requires_permission { Ruling::Ask } else { Ruling::Allow }))
    }

    /// Calls that need permission are asked about, and `handler` answers.
    ///
    /// ```
    /// # use hpd_agent::permission::*;
    /// let permissions = Permissions::ask_with(|request| async move {
    ///     if request.tool() == "summarizer" {
    ///         PermissionDecision::allow().always()
    ///     } else {
    ///         PermissionDecision::deny("Only summaries are allowed.")
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn ask_with<F, A>(handler: F) -> Self
    where
        F: Fn(PermissionRequest) -> A + Send + Sync + 'static,
        A: Future<Output = PermissionDecision> + Send + 'static,
    {
        Self::from_policy(Handler(handler))
    }

    /// Every call may run.
    #[must_use]
    pub fn allow_all() -> Self {
        Self::from_policy(Rule(|_| Ruling::Allow))
    }

    /// No call that needs permission may run.
    #[must_use]
    pub fn deny_all() -> Self {
        Self::from_policy(Rule(|call| match call.requires_permission {
            true => Ruling::Deny { reason: format!("The tool `{}` is not allowed here.", call.tool) },
            false => Ruling::Allow,
        }))
    }

    /// A policy of your own.
    #[must_use]
    pub fn from_policy(policy: impl PermissionPolicy) -> Self {
        Self { policy: Arc::new(policy), timeout: DEFAULT_ANSWER_TIMEOUT, durable: false, overrides: BTreeMap::new() }
    }

    /// A question that nobody answers now waits in the journal until somebody does, over restarts, instead of being
    /// denied: because nobody can be asked, or because the time is over. The run ends with
    /// [`RunError::AwaitingPermission`](crate::agent::RunError::AwaitingPermission) when all that can be done without an
    /// answer is done.
    ///
    /// [`Agent::runtime_state`](crate::agent::Agent::runtime_state) lists what waits,
    /// [`Agent::respond`](crate::agent::Agent::respond) answers, and
    /// [`Thread::resume`](crate::agent::Thread::resume) goes on.
    ///
    /// ```
    /// use hpd_agent::{prelude::*, testing::{Reply, ScriptedChatClient}};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let publish = DynamicFunction::new("publish", "Publishes the page.").requires_permission();
    /// let site = DynamicHarness::new("site").with_function(publish, |_, _| Box::pin(async { Ok("published") }));
    /// # let client = ScriptedChatClient::replies([
    /// #     Reply::tool_call("publish", serde_json::json!({})), Reply::text("It is online."),
    /// # ]);
    /// let agent = Agent::builder()
    ///     .with_chat_client(client)
    ///     .with_dynamic_harness(site)
    ///     .with_permissions(Permissions::ask().durable())
    ///     .build()
    ///     .await?;
    /// let thread = agent.thread("user-42", "main");
    /// let Err(RunError::AwaitingPermission { request, .. }) = thread.run("Publish it.").await else { panic!() };
    ///
    /// // Later, perhaps in another process over the same store.
    /// let state = agent.runtime_state(thread.key()?).await?;
    /// assert_eq!(state.pending_requests[0].id(), request.id());
    /// agent.respond(request.id(), Some(request.thread()), PermissionDecision::allow()).await?;
    /// assert_eq!(thread.resume().await?.text(), "It is online.");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// How long somebody who is asked may take; then the call is denied, or waits if this is
    /// [durable](Self::durable). Default: five minutes.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Calls of this tool need permission, whatever its declaration says.
    #[must_use]
    pub fn require(mut self, tool: impl Into<Arc<str>>) -> Self {
        self.overrides.insert(tool.into(), PermissionOverride::Require);
        self
    }

    /// Calls of this tool need no permission, whatever its declaration says. A run that
    /// [requires](crate::declare::AgentRunConfig::with_permission_required) it wins.
    ///
    /// ```
    /// # use hpd_agent::permission::Permissions;
    /// let permissions = Permissions::ask().disable("summarizer").require("read_file");
    /// ```
    #[must_use]
    pub fn disable(mut self, tool: impl Into<Arc<str>>) -> Self {
        self.overrides.insert(tool.into(), PermissionOverride::Disable);
        self
    }

    pub(crate) fn permission_override(&self, tool: &str) -> Option<PermissionOverride> {
        self.overrides.get(tool).copied()
    }

    pub(crate) fn policy(&self) -> &dyn PermissionPolicy {
        &*self.policy
    }

    pub(crate) fn is_durable(&self) -> bool {
        self.durable
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }
}

struct Rule(fn(&ToolCallView<'_>) -> Ruling);

impl PermissionPolicy for Rule {
    fn rule(&self, call: &ToolCallView<'_>) -> Ruling {
        (self.0)(call)
    }
}

struct Handler<F>(F);

impl<F, A> PermissionPolicy for Handler<F>
where
    F: Fn(PermissionRequest) -> A + Send + Sync + 'static,
    A: Future<Output = PermissionDecision> + Send + 'static,
{
    fn rule(&self, call: &ToolCallView<'_>) -> Ruling {
        if call.requires_permission { Ruling::Ask } else { Ruling::Allow }
    }

    fn answer(&self, request: PermissionRequest) -> BoxFuture<'_, Option<PermissionDecision>> {
        let answer = (self.0)(request);
        Box::pin(async move { Some(answer.await) })
    }
}
