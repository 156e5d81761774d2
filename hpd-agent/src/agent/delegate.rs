//! Delegation: a child on a thread of its own, from its beginning to what its parent is told.

use std::sync::{Arc, OnceLock};

use tokio::sync::Mutex;

use super::{
    RunError,
    blueprint::{Blueprint, Client, SubAgentTool},
    driver::Ended,
    lane::{Lane, LaneState},
    ledger::Ledger,
    resolver::{ResolveError, Resolved},
    tools::result_event,
};
use crate::{
    chat::ChatOptions,
    declare::AgentRunConfig,
    event::{
        EventBody, ResolvedContext, SubAgentInvocation, SubAgentInvocationCancelled, SubAgentInvocationCompleted,
        SubAgentInvocationFailed, SubAgentInvocationStarted, TurnTaken,
    },
    future::BoxFuture,
    history::History,
    id::{MessageId, ThreadKey, Timestamp},
    message::{
        DelegationReceipt, DelegationRights, EffectiveDelegation, Message, Part, Provenance, RequestedDelegation,
        ResultMetadata, Role, ToolCall, ToolOutput,
    },
    session::ThreadState,
    subagent::{SubAgentCall, child_denials, child_run_config, completed, failed, inherited_options, inherits_chat},
};

/// A child that runs, and what its receipt will need.
pub(crate) struct Begun {
    pub(crate) child: Arc<Lane>,
    pub(crate) requested: RequestedDelegation,
}

/// So many agents of a line are polled on one stack.
const NESTED_IN_ONE_TASK: u32 = 8;

impl Lane {
    /// Runs a child as `asked`, waits for its answer and records the result of `call`.
    pub(crate) async fn delegate(
        self: &Arc<Self>,
        tool: &SubAgentTool,
        call: &ToolCall,
        asked: SubAgentCall,
    ) -> Result<(), RunError> {
        let SubAgentCall { input, context, mode, requested } = asked;
        let invocation = Arc::new(tool.identity.invocation(call.id, &self.key, context, mode));
        let at = match self.resolve(tool, &invocation.child()).await {
            Ok(at) => at,
            Err(error) => {
                let text = format!("The subagent `{}` was not started: {}.", tool.identity.name, error);
                let told = ToolOutput::error(text);
                // Rare, and larger than the rest.
                return Box::pin(self.commit_result(call, told, ResultMetadata::default())).await;
            }
        };
        let (child, request) = self.begin_child((tool, at), &invocation, input).await?;
        let begun = Begun { child: Arc::clone(&child), requested };
        self.await_child(child.drive_nested(Some(request)), call, invocation, begun).await
    }

    /// Waits for a child's answer and records the result of `call`. A child that waits for permission lets this thread
    /// wait too.
    pub(crate) async fn await_child(
        &self,
        running: BoxFuture<'static, Ended>,
        call: &ToolCall,
        invocation: Arc<SubAgentInvocation>,
        begun: Begun,
    ) -> Result<(), RunError> {
        let ended = if self.depth() % NESTED_IN_ONE_TASK == NESTED_IN_ONE_TASK - 1 {
            // A stack is finite, and the depth of a tree is the author's choice.
            tokio::spawn(running).await.unwrap_or_else(Ended::panicked)
        } else {
            running.await
        };
        if let Err(error @ RunError::AwaitingPermission { .. }) = ended.outcome {
            return Err(error);
        }
        let (own, below) = ended.usage;
        // Only now: nothing of it has to be kept while the child is waited for.
        let receipt = begun.child.receipt(&invocation, ended.seed, begun.requested)?;
        let receipt = DelegationReceipt { usage: own, subtree_usage: own + below, ..receipt };
        self.record_child_end(call, invocation, Some(receipt), ended).await
    }

    /// Records how a child has ended, and with it the result of `call`. What is recorded is made at once: while a child is
    /// waited for, room is kept for the future of this.
    pub(crate) fn record_child_end(
        &self,
        call: &ToolCall,
        invocation: Arc<SubAgentInvocation>,
        receipt: Option<DelegationReceipt>,
        ended: Ended,
    ) -> impl Future<Output = Result<(), RunError>> {
        let (own, below) = ended.usage;
        let ended = Box::new(child_ended(call, invocation, receipt, ended));
        async move {
            let now = Timestamp::now();
            let mut state = self.lock().await;
            state.usage_below += own + below;
            self.touch();
            let (body, result) = *ended;
            state.record(&self.source, now, body);
            state.record(&self.source, now, result);
            // The last result is committed with the next request.
            if state.thread.open.is_some() { self.flush(&mut state).await } else { Ok(()) }
        }
    }

    /// The agent of a child that is about to work on a thread.
    pub(crate) async fn resolve(&self, tool: &SubAgentTool, thread: &ThreadKey) -> Result<Resolved, ResolveError> {
        let resolver = &self.agent.resolver;
        if !self.forest.get(tool.child).is_some_and(|child| resolver.is_asked(child)) {
            return Ok(Resolved::of(&self.forest, tool.child));
        }
        // Rare and large: it shall not make every waiting child larger.
        let known = Some((&self.forest, tool.child));
        Box::pin(resolver.resolve(&tool.identity.agent_id, thread, known, &*self.agent.agent_store)).await
    }

    /// Makes the child's thread and commits its beginning together with the news of it in this thread.
    async fn begin_child(
        self: &Arc<Self>,
        tool: (&SubAgentTool, Resolved),
        invocation: &Arc<SubAgentInvocation>,
        input: Arc<str>,
    ) -> Result<(Arc<Self>, MessageId), RunError> {
        let mut state = self.lock().await;
        let (child, request) = self.record_child(&mut state, tool, invocation, input)?;
        let mut child_state = child.lock().await;
        child.began();
        if let Err(error) = self.flush_both(&mut state, &child, &mut child_state).await {
            // There is no child: this thread must not say so later.
            state.retract_child();
            child.ended();
            return Err(error);
        }
        drop(child_state);
        Ok((child, request))
    }

    /// What the child gets and may, as far as its beginning says it.
    fn receipt(
        &self,
        invocation: &SubAgentInvocation,
        seed: Option<u64>,
        requested: RequestedDelegation,
    ) -> Result<DelegationReceipt, RunError> {
        let blueprint = self.blueprint()?;
        let how = (invocation.context_policy, invocation.mode);
        let effective = EffectiveDelegation::new(how, Arc::clone(&self.selection), self.max_iterations(blueprint));
        let tools = self.visible_tools(blueprint).iter().map(|tool| tool.name().shared()).collect();
        let rights = DelegationRights::new(tools, Arc::clone(&self.denials), self.ceiling);
        Ok(DelegationReceipt::new(blueprint.agent_id.clone(), seed, requested, (effective, rights)))
    }

    /// Makes a child and records its beginning in both threads, up to its first request.
    pub(crate) fn record_child(
        self: &Arc<Self>,
        state: &mut LaneState,
        (tool, at): (&SubAgentTool, Resolved),
        invocation: &Arc<SubAgentInvocation>,
        input: Arc<str>,
    ) -> Result<(Arc<Self>, MessageId), RunError> {
        let now = Timestamp::now();
        let (history, fork_point) = match invocation.context_policy {
            ResolvedContext::Fork => (state.thread.fork_history(), Some(state.thread.fork_point())),
            ResolvedContext::Fresh | ResolvedContext::Isolated => (History::new(), None),
        };
        let header = Arc::new(tool.identity.header(invocation, &self.key, fork_point, now));
        let child =
            Arc::new(self.child_lane((tool, at), invocation, ThreadState::new(Arc::clone(&header), history), true)?);
        let request = {
            let locked = child.state.try_lock();
            let mut child_state = locked.map_err(|_| RunError::Internal { reason: "a new child is in use" })?;
            child_state.record(&child.source, now, EventBody::ThreadCreated(header));
            let message = Message::of(MessageId::generate(), Role::User, [Part::Text(input)]);
            child.record_start(&mut child_state, now, Arc::new(message.with_provenance(Provenance::Delegation)))?;
            child.record_request(&mut child_state, now)
        };
        let started = SubAgentInvocationStarted { invocation: Arc::clone(invocation) };
        state.record(&self.source, now, EventBody::SubAgentInvocationStarted(started));
        Ok((child, request))
    }

    /// `create`: the first commit creates its thread.
    pub(crate) fn child_lane(
        self: &Arc<Self>,
        (tool, at): (&SubAgentTool, Resolved),
        invocation: &SubAgentInvocation,
        thread: ThreadState,
        create: bool,
    ) -> Result<Self, RunError> {
        let Resolved { forest, index, client: leased, clients: given, lease } = at;
        let blueprint = forest.get(index).ok_or(RunError::Internal { reason: "a subagent's blueprint is missing" })?;
        let identity = &tool.identity;
        let scope = self.source.agent.child(identity.name.shared(), identity.agent_id.clone());
        let declared = &tool.rest().run_config;
        let run_config = child_run_config(self.run_config.as_deref(), declared);
        let parent = inherits_chat(declared, &blueprint.config).then_some(&*self.options);
        let ledger = ledger(run_config.as_deref(), self.ledger.as_ref(), thread.suspended.as_deref());
        let deepest = ledger.as_ref().and_then(|ledger| ledger.max_depth()).unwrap_or(u32::MAX);
        let client = leased.as_ref().unwrap_or(&self.client);
        let (client, options) = child_model(client, parent, blueprint, run_config.as_deref());
        // Choices belong to a session; what an ancestor was denied for good holds for an isolated child all the same.
        let (memory, remembered) = match invocation.context_policy {
            ResolvedContext::Isolated => (Arc::default(), self.memory.denied_tools()),
            ResolvedContext::Fork | ResolvedContext::Fresh => (Arc::clone(&self.memory), Vec::new()),
        };
        let denials = child_denials(&self.denials, self.run_config.as_deref(), remembered);
        Ok(Self {
            agent: Arc::clone(&self.agent),
            tree: Arc::clone(&self.tree),
            forest: Arc::clone(&forest),
            blueprint: index,
            lease,
            system: blueprint.system_for(run_config.as_deref(), thread.header.is_forked_child()),
            key: thread.header.key.clone(),
            generation: thread.generation,
            source: Arc::new(self.source.child(Arc::new(scope))),
            parent: Some(Arc::clone(self)),
            selection: client.0.info().selection(&options),
            client,
            options,
            clients: self.clients_of_child(tool, blueprint, given.as_deref()),
            memory,
            denials,
            ceiling: self.ceiling.min(blueprint.config.max_sub_agent_depth()).min(deepest),
            ledger,
            run_config,
            filtered: OnceLock::new(),
            state: Mutex::new(LaneState::new(thread, create)),
        })
    }
}

/// The client and the options of an agent: its own client, or the one of the agent above it. `inherited`: the options of
/// that agent, if they are taken over.
pub(crate) fn child_model(
    client: &Client,
    inherited: Option<&ChatOptions>,
    child: &Blueprint,
    run: Option<&AgentRunConfig>,
) -> (Client, Arc<ChatOptions>) {
    let (client, options) = match (&child.client, inherited) {
        (Some(own), _) => (own, Arc::clone(&child.options)),
        (None, Some(inherited)) => (client, inherited_options(inherited, &child.options)),
        (None, None) => (client, Arc::clone(&child.options)),
    };
    let said = run.map(AgentRunConfig::chat).filter(|chat| **chat != ChatOptions::default());
    (client.clone(), said.map_or_else(|| Arc::clone(&options), |chat| Arc::new(options.overlaid_with(chat))))
}

/// The account of what a run may take: one of its own, or that of the run above it. `before`: what a turn that goes on
/// had taken.
pub(crate) fn ledger(
    run: Option<&AgentRunConfig>,
    above: Option<&Arc<Ledger>>,
    before: Option<&TurnTaken>,
) -> Option<Arc<Ledger>> {
    match run.and_then(AgentRunConfig::budget) {
        Some(budget) => Some(Ledger::new(budget.clone(), above.cloned(), before.and_then(|taken| taken.spent))),
        None => above.cloned(),
    }
}

/// What is recorded of a child that has ended, and of the call that began it.
fn child_ended(
    call: &ToolCall,
    invocation: Arc<SubAgentInvocation>,
    receipt: Option<DelegationReceipt>,
    ended: Ended,
) -> (EventBody, EventBody) {
    let ((output, metadata), body) = match ended.outcome {
        Ok(answer) => (
            completed(&invocation, receipt, Arc::clone(&answer.text), &answer.stop),
            EventBody::SubAgentInvocationCompleted(SubAgentInvocationCompleted {
                invocation,
                summary: Some(answer.text),
            }),
        ),
        Err(error) => {
            let message = error.to_string();
            let told = failed(&invocation, receipt, error.code(), &message, ended.last_text.as_deref());
            let body = match error {
                RunError::Cancelled => EventBody::SubAgentInvocationCancelled(SubAgentInvocationCancelled {
                    invocation,
                    reason: Some(message.into()),
                }),
                error => EventBody::SubAgentInvocationFailed(SubAgentInvocationFailed {
                    invocation,
                    error_type: error.code().into(),
                    message: message.into(),
                }),
            };
            (told, body)
        }
    };
    (body, result_event(call, output, metadata))
}
