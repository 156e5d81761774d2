//! Delegation: a child on a thread of its own, from its beginning to what its parent is told.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::{
    RunError,
    blueprint::{Blueprint, Client, SubAgentTool},
    driver::Ended,
    lane::{Lane, LaneState},
    tools::result_event,
};
use crate::{
    chat::{ChatOptions, ToolChoice},
    event::{
        EventBody, ResolvedContext, SubAgentInvocation, SubAgentInvocationCancelled, SubAgentInvocationCompleted,
        SubAgentInvocationFailed, SubAgentInvocationStarted,
    },
    history::History,
    id::{MessageId, Timestamp},
    message::{Message, Part, Provenance, Role, ToolCall},
    permission::SessionMemory,
    session::ThreadState,
    subagent::{completed, failed},
};

/// So many agents of a line are polled on one stack.
const NESTED_IN_ONE_TASK: u32 = 8;

impl Lane {
    /// Runs a child as `invocation` says, waits for its answer and records the result of `call`.
    pub(crate) async fn delegate(
        self: &Arc<Self>,
        tool: &SubAgentTool,
        call: &ToolCall,
        invocation: Arc<SubAgentInvocation>,
        input: Arc<str>,
    ) -> Result<(), RunError> {
        let (child, request) = self.begin_child(tool, &invocation, input).await?;
        let running = child.drive_nested(request);
        let ended = if self.depth() % NESTED_IN_ONE_TASK == NESTED_IN_ONE_TASK - 1 {
            // A stack is finite, and the depth of a tree is the author's choice.
            tokio::spawn(running).await.unwrap_or_else(Ended::panicked)
        } else {
            running.await
        };
        let (body, result) = child_ended(call, invocation, ended);
        let now = Timestamp::now();
        let mut state = self.lock().await;
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
    ) -> Result<(Arc<Self>, MessageId), RunError> {
        let mut state = self.lock().await;
        let (child, request) = self.record_child(&mut state, tool, invocation, input)?;
        let mut child_state = child.lock().await;
        if let Err(error) = self.flush_both(&mut state, &child, &mut child_state).await {
            // There is no child: this thread must not say so later.
            state.retract();
            return Err(error);
        }
        drop(child_state);
        Ok((child, request))
    }

    /// Makes a child and records its beginning in both threads.
    fn record_child(
        self: &Arc<Self>,
        state: &mut LaneState,
        tool: &SubAgentTool,
        invocation: &Arc<SubAgentInvocation>,
        input: Arc<str>,
    ) -> Result<(Arc<Self>, MessageId), RunError> {
        let now = Timestamp::now();
        let (history, fork_point) = match invocation.context_policy {
            ResolvedContext::Fork => (state.thread.fork_history(), Some(state.thread.fork_point())),
            ResolvedContext::Fresh | ResolvedContext::Isolated => (History::new(), None),
        };
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
        Ok((child, request))
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
        let (client, options) = inherited_model(&self.client, &self.options, blueprint);
        // Choices belong to a session; what an ancestor was denied for good holds for an isolated child all the same.
        let (memory, denials) = match invocation.context_policy {
            ResolvedContext::Isolated => (Arc::default(), denials_with(&self.denials, &self.memory)),
            ResolvedContext::Fork | ResolvedContext::Fresh => (Arc::clone(&self.memory), Arc::clone(&self.denials)),
        };
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
            memory,
            denials,
            ceiling: self.ceiling.min(blueprint.config.max_sub_agent_depth()),
            run_config: self.run_config.as_ref().and_then(|run| run.inherited()).map(Arc::new),
            state: Mutex::new(LaneState::new(thread, true)),
        })
    }
}

/// A child's own client and options, or its parent's with the child's options over them.
pub(crate) fn inherited_model(
    client: &Client,
    options: &Arc<ChatOptions>,
    child: &Blueprint,
) -> (Client, Arc<ChatOptions>) {
    if let Some(own) = &child.client {
        return (own.clone(), Arc::clone(&child.options));
    }
    if **options == ChatOptions::default() {
        return (client.clone(), Arc::clone(&child.options));
    }
    // What the parent's own turn must do with tools says nothing about the child's.
    let inherited = ChatOptions { tool_choice: ToolChoice::Auto, ..(**options).clone() };
    (client.clone(), Arc::new(inherited.overlaid_with(&child.options)))
}

/// What is recorded of a child that has ended, and of the call that began it.
fn child_ended(call: &ToolCall, invocation: Arc<SubAgentInvocation>, ended: Ended) -> (EventBody, EventBody) {
    let ((output, metadata), body) = match ended.outcome {
        Ok(answer) => (
            completed(&invocation, Arc::clone(&answer.text), &answer.stop),
            EventBody::SubAgentInvocationCompleted(SubAgentInvocationCompleted {
                invocation,
                summary: Some(answer.text),
            }),
        ),
        Err(error) => {
            let message = error.to_string();
            let told = failed(&invocation, error.code(), &message, ended.last_text.as_deref());
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

fn denials_with(inherited: &Arc<[Arc<str>]>, memory: &SessionMemory) -> Arc<[Arc<str>]> {
    let denied = memory.denied();
    if denied.is_empty() {
        return Arc::clone(inherited);
    }
    inherited.iter().cloned().chain(denied).collect()
}
