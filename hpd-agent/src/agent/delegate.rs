//! Delegation: a child on a thread of its own, from its beginning to what its parent is told.

use std::sync::{Arc, OnceLock};

use tokio::sync::Mutex;

use super::{
    RunError,
    blueprint::{Blueprint, Client, SubAgentTool},
    driver::Ended,
    lane::{Lane, LaneState},
    ledger::Ledger,
    tools::result_event,
};
use crate::{
    chat::ChatOptions,
    declare::AgentRunConfig,
    event::{
        EventBody, ResolvedContext, SubAgentInvocation, SubAgentInvocationCancelled, SubAgentInvocationCompleted,
        SubAgentInvocationFailed, SubAgentInvocationStarted,
    },
    history::History,
    id::{MessageId, Timestamp},
    message::{
        DelegationReceipt, DelegationRights, EffectiveDelegation, Message, Part, Provenance, RequestedDelegation, Role,
        ToolCall,
    },
    session::ThreadState,
    subagent::{SubAgentCall, child_denials, child_run_config, completed, failed, inherited_options, inherits_chat},
};

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
        let (child, seed, request) = self.begin_child(tool, &invocation, input).await?;
        let running = Arc::clone(&child).drive_nested(request);
        let ended = if self.depth() % NESTED_IN_ONE_TASK == NESTED_IN_ONE_TASK - 1 {
            // A stack is finite, and the depth of a tree is the author's choice.
            tokio::spawn(running).await.unwrap_or_else(Ended::panicked)
        } else {
            running.await
        };
        let (own, below) = ended.usage;
        // Only now: nothing of it has to be kept while the child is waited for.
        let receipt = child.receipt(&invocation, seed, requested)?;
        let receipt = DelegationReceipt { usage: own, subtree_usage: own + below, ..receipt };
        let (body, result) = child_ended(call, invocation, receipt, ended);
        let now = Timestamp::now();
        let mut state = self.lock().await;
        state.usage_below += own + below;
        self.touch();
        state.record(&self.source, now, body);
        state.record(&self.source, now, result);
        // The last result is committed with the next request.
        if state.thread.open.is_some() { self.flush(&mut state).await } else { Ok(()) }
    }

    /// Makes the child's thread and commits its beginning together with the news of it in this thread.
    async fn begin_child(
        self: &Arc<Self>,
        tool: &SubAgentTool,
        invocation: &Arc<SubAgentInvocation>,
        input: Arc<str>,
    ) -> Result<(Arc<Self>, Option<u64>, MessageId), RunError> {
        let mut state = self.lock().await;
        let (child, seed, request) = self.record_child(&mut state, tool, invocation, input)?;
        let mut child_state = child.lock().await;
        if let Err(error) = self.flush_both(&mut state, &child, &mut child_state).await {
            // There is no child: this thread must not say so later.
            state.retract();
            return Err(error);
        }
        drop(child_state);
        Ok((child, seed, request))
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

    /// Makes a child and records its beginning in both threads. Says what the conversation that it was given hashes to,
    /// if it was given one, and its first request.
    pub(crate) fn record_child(
        self: &Arc<Self>,
        state: &mut LaneState,
        tool: &SubAgentTool,
        invocation: &Arc<SubAgentInvocation>,
        input: Arc<str>,
    ) -> Result<(Arc<Self>, Option<u64>, MessageId), RunError> {
        let now = Timestamp::now();
        let (history, fork_point) = match invocation.context_policy {
            ResolvedContext::Fork => (state.thread.fork_history(), Some(state.thread.fork_point())),
            ResolvedContext::Fresh | ResolvedContext::Isolated => (History::new(), None),
        };
        let seed = (!history.is_empty()).then(|| history.hash());
        let header = Arc::new(tool.identity.header(invocation, &self.key, fork_point, now));
        let child = Arc::new(self.child_lane(tool, invocation, ThreadState::new(Arc::clone(&header), history))?);
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
        Ok((child, seed, request))
    }

    fn child_lane(
        self: &Arc<Self>,
        tool: &SubAgentTool,
        invocation: &SubAgentInvocation,
        thread: ThreadState,
    ) -> Result<Self, RunError> {
        let blueprint = self
            .agent
            .blueprint(tool.child)
            .ok_or(RunError::Internal { reason: "a subagent's blueprint is missing" })?;
        let identity = &tool.identity;
        let scope = self.source.agent.child(identity.name.shared(), identity.agent_id.clone());
        let declared = &tool.rest().run_config;
        let run_config = child_run_config(self.run_config.as_deref(), declared);
        let parent = inherits_chat(declared, &blueprint.config).then_some(&*self.options);
        let ledger = ledger(run_config.as_deref(), self.ledger.as_ref());
        let deepest = ledger.as_ref().and_then(|ledger| ledger.max_depth()).unwrap_or(u32::MAX);
        let (client, options) = child_model(&self.client, parent, blueprint, run_config.as_deref());
        // Choices belong to a session; what an ancestor was denied for good holds for an isolated child all the same.
        let (memory, remembered) = match invocation.context_policy {
            ResolvedContext::Isolated => (Arc::default(), self.memory.denied()),
            ResolvedContext::Fork | ResolvedContext::Fresh => (Arc::clone(&self.memory), Vec::new()),
        };
        let denials = child_denials(&self.denials, self.run_config.as_deref(), remembered);
        Ok(Self {
            agent: Arc::clone(&self.agent),
            tree: Arc::clone(&self.tree),
            blueprint: tool.child,
            key: thread.header.key.clone(),
            generation: thread.generation,
            source: Arc::new(self.source.child(Arc::new(scope))),
            parent: Some(Arc::clone(self)),
            selection: client.0.info().selection(&options),
            client,
            options,
            clients: self.clients_of_child(tool, blueprint),
            memory,
            denials,
            ceiling: self.ceiling.min(blueprint.config.max_sub_agent_depth()).min(deepest),
            ledger,
            run_config,
            filtered: OnceLock::new(),
            state: Mutex::new(LaneState::new(thread, true)),
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

/// The account of what a run may take: one of its own, or that of the run above it.
pub(crate) fn ledger(run: Option<&AgentRunConfig>, above: Option<&Arc<Ledger>>) -> Option<Arc<Ledger>> {
    match run.and_then(AgentRunConfig::budget) {
        Some(budget) => Some(Ledger::new(budget.clone(), above.cloned())),
        None => above.cloned(),
    }
}

/// What is recorded of a child that has ended, and of the call that began it.
fn child_ended(
    call: &ToolCall,
    invocation: Arc<SubAgentInvocation>,
    receipt: DelegationReceipt,
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
