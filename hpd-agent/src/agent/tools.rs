//! Answering the calls of one message: a rolling pool, with exclusive functions as barriers.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};
use smallvec::SmallVec;
use tokio::sync::Mutex;

use super::{
    RunError,
    blueprint::{FunctionTool, Tool, ToolKind},
    lane::Lane,
    ledger::{Ledger, Reached},
    model::elapsed,
    park::Left,
    permit::Permit,
};
use crate::{
    declare::{Arguments, BudgetLimit, FunctionContext, FunctionHost, ToolError},
    event::{EventBody, ToolCallResult, ToolExecutionStarted},
    future::BoxFuture,
    id::{MessageId, Timestamp},
    message::{Message, ResultMetadata, ToolCall, ToolOutput, ToolResult},
    subagent::{SubAgentCall, availability_error},
};

/// How many names a sentence about an unknown tool lists.
const LISTED_TOOLS: usize = 20;

/// What the model is told of a call that was not run because the run was cancelled.
pub(crate) const CANCELLED: &str = "The run was cancelled before this call had a result.";

/// What the model would be told of a call for which no time was left.
const LATE: &str = "The time of the run was over before this call had a result.";

impl Lane {
    /// Answers all open calls of the last message. Results are committed as they come.
    pub(crate) async fn run_tools(self: &Arc<Self>) -> Result<(), RunError> {
        let (message, answered) = {
            let state = self.lock().await;
            let Some(open) = &state.thread.open else { return Ok(()) };
            (Arc::clone(&open.message), open.answered())
        };
        let open = message.calls().zip(answered).filter(|(_, answered)| !answered).map(|(call, _)| call);
        let open: SmallVec<[&ToolCall; 2]> = open.collect();
        let turn = Mutex::new(());
        let result = match open.as_slice() {
            [only] => self.answer(only, &turn).await,
            open => Box::pin(self.run_pool(open, &turn)).await,
        };
        match result {
            // Who asked the run to stop does not want it to wait.
            Err(RunError::AwaitingPermission { .. }) if self.tree.cancellation.is_cancelled() => {
                Err(RunError::Cancelled)
            }
            result => result,
        }
    }

    async fn run_pool(self: &Arc<Self>, open: &[&ToolCall], turn: &Mutex<()>) -> Result<(), RunError> {
        let blueprint = self.blueprint()?;
        let limit = self.run_config.as_ref().and_then(|run| run.max_parallel_tool_calls());
        let limit = limit.unwrap_or_else(|| blueprint.config.max_parallel_tool_calls());
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(1);
        let mut running = FuturesUnordered::new();
        let mut result = Ok(());
        for &call in open {
            if result.as_ref().is_err_and(|error| !matches!(error, RunError::AwaitingPermission { .. })) {
                // Nothing more can be journaled, so nothing more may have effects.
                break;
            }
            let exclusive = blueprint
                .tools
                .get(&call.name)
                .is_some_and(|tool| matches!(&tool.kind, ToolKind::Function(function) if function.exclusive));
            let room = if exclusive { 1 } else { limit };
            while running.len() >= room {
                result = both(result, running.next().await.unwrap_or(Ok(())));
            }
            running.push(self.answer(call, turn));
            if exclusive {
                while let Some(answered) = running.next().await {
                    result = both(result, answered);
                }
            }
        }
        while let Some(answered) = running.next().await {
            result = both(result, answered);
        }
        result
    }

    /// Answers one call.
    async fn answer(self: &Arc<Self>, call: &ToolCall, turn: &Mutex<()>) -> Result<(), RunError> {
        let output = self.perform(call, turn).await?;
        if let Some(output) = output {
            self.commit_result(call, output, ResultMetadata::default()).await?;
        }
        Ok(())
    }

    /// Records a result, and commits it unless it is the last one: then the next request is committed with it at once.
    pub(crate) async fn commit_result(
        &self,
        call: &ToolCall,
        output: ToolOutput,
        metadata: ResultMetadata,
    ) -> Result<(), RunError> {
        let mut state = self.lock().await;
        let now = Timestamp::now();
        // It may have waited for permission before this execution, and be refused or cancelled now.
        self.give_up(&mut state, now, Some(call.id), "The call was not gone on with.");
        state.record(&self.source, now, result_event(call, output, metadata));
        if state.thread.open.is_some() { self.flush(&mut state).await } else { Ok(()) }
    }

    /// Does what a call asks for. `None`: the result is recorded already.
    async fn perform(self: &Arc<Self>, call: &ToolCall, turn: &Mutex<()>) -> Result<Option<ToolOutput>, RunError> {
        if self.tree.cancellation.is_cancelled() {
            return Ok(Some(ToolOutput::error(CANCELLED)));
        }
        let blueprint = self.blueprint()?;
        let Some(tool) = blueprint.tools.get(&call.name) else {
            return Ok(Some(ToolOutput::error(self.unknown_tool(&call.name)?)));
        };
        if let Some(refusal) = self.filtered_out(&call.name) {
            return Ok(Some(ToolOutput::error(refusal)));
        }
        let left = self.left(call).await;
        match &tool.kind {
            ToolKind::Function(function) => {
                if self.requires_permission(tool) {
                    // Nobody should be asked about a call that can't run.
                    if let Err(error) = Arguments::parse_any(&call.arguments) {
                        return Ok(Some(error.into()));
                    }
                }
                if let Permit::Refused(output) = self.permit(tool, call, left, turn).await? {
                    return Ok(Some(output));
                }
                self.call_function(tool, function, call).await.map(Some)
            }
            ToolKind::SubAgent(sub_agent) => {
                if let Left::Child(child) = left {
                    return Box::pin(self.resume_child(sub_agent, call, child)).await.map(|()| None);
                }
                let name = tool.name().as_str();
                if let Some(error) = availability_error(name, sub_agent.availability, self.depth(), self.ceiling) {
                    return Ok(Some(ToolOutput::error(error)));
                }
                let asked = match SubAgentCall::parse(&call.arguments, sub_agent.context, sub_agent.mode) {
                    Ok(asked) => asked,
                    Err(refusal) => return Ok(Some(refusal.into_output(name, &self.key))),
                };
                if let Err(reached) = self.ledger.as_ref().map_or(Ok(()), |ledger| ledger.has_room()) {
                    return Ok(Some(ToolOutput::error(no_room(name, reached))));
                }
                if let Permit::Refused(output) = self.permit(tool, call, left, turn).await? {
                    return Ok(Some(output));
                }
                let _living = match self.ledger.as_ref().map(Ledger::begin_child).transpose() {
                    Ok(living) => living,
                    Err(reached) => return Ok(Some(ToolOutput::error(no_room(name, reached)))),
                };
                self.delegate(sub_agent, call, asked).await.map(|()| None)
            }
        }
    }

    /// Resolves when the run is cancelled and nothing is being committed: a function that is dropped then does not take
    /// a commit of its own with it.
    async fn cancelled_between_commits(&self) {
        self.tree.cancellation.wait().await;
        drop(self.lock().await);
    }

    /// The same for a run that has no time left.
    async fn late_between_commits(&self, time: Option<BoxFuture<'static, Reached>>) {
        elapsed(time).await;
        drop(self.lock().await);
    }

    fn unknown_tool(&self, name: &str) -> Result<String, RunError> {
        let visible = self.visible_tools(self.blueprint()?);
        let names: Vec<String> = visible.iter().take(LISTED_TOOLS).map(|spec| format!("`{}`", spec.name())).collect();
        Ok(match names.len() {
            0 => format!("There is no tool `{name}`; this agent has no tools. Answer without one."),
            listed if listed < visible.len() => {
                format!("There is no tool `{name}`. Some of the tools are: {}.", names.join(", "))
            }
            _ => format!("There is no tool `{name}`. The tools are: {}.", names.join(", ")),
        })
    }

    async fn call_function(
        self: &Arc<Self>,
        tool: &Tool,
        function: &FunctionTool,
        call: &ToolCall,
    ) -> Result<ToolOutput, RunError> {
        {
            let mut state = self.lock().await;
            let started = ToolExecutionStarted { call_id: call.id, name: tool.name().shared() };
            state.record(&self.source, Timestamp::now(), EventBody::ToolExecutionStarted(started));
            self.flush(&mut state).await?;
        }
        let context = FunctionContext::new(
            call.id,
            tool.name().shared(),
            Arc::clone(&self.source.agent),
            self.key.clone(),
            self.tree.cancellation.clone(),
            Arc::clone(self) as Arc<dyn FunctionHost>,
        );
        let arguments = tool.spec.schema().without_nulls(&call.arguments);
        let running = async {
            match function.harness.call(function.index, &arguments, &context) {
                Some(running) => running.await,
                None => Err(ToolError::new(format!("The tool `{}` cannot be called.", tool.name()))),
            }
        };
        let time_is_over = self.time_is_over();
        tokio::select! {
            biased;
            outcome = AssertUnwindSafe(running).catch_unwind() => Ok(match outcome {
                Ok(Ok(output)) => output,
                Ok(Err(error)) => error.into(),
                Err(panic) => {
                    let message = panic_message(&*panic);
                    tracing::error!(tool = %tool.name(), message, "a function panicked");
                    ToolOutput::error(format!("The tool `{}` failed: it panicked.", tool.name()))
                }
            }),
            () = self.cancelled_between_commits() => Ok(ToolOutput::error(CANCELLED)),
            () = self.late_between_commits(time_is_over) => Ok(ToolOutput::error(LATE)),
        }
    }
}

/// What the model is told of a child for which the budget has no room.
pub(crate) fn no_room(tool: &str, reached: Reached) -> String {
    let Reached { limit, allowed } = reached;
    let advice = match limit {
        BudgetLimit::LiveChildren => "Wait for the others, or do the task yourself.",
        _ => "Do the task yourself.",
    };
    format!("The subagent `{tool}` was not started: the budget of this run allows {}. {advice}", limit.of(allowed))
}

/// What two calls of a message came to. A question that waits does not hide an error.
fn both(first: Result<(), RunError>, second: Result<(), RunError>) -> Result<(), RunError> {
    match (first, second) {
        (Ok(()) | Err(RunError::AwaitingPermission { .. }), Err(error)) => Err(error),
        (first, _) => first,
    }
}

/// What a panic said, if it said anything.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// The event by which a call has its result.
pub(crate) fn result_event(call: &ToolCall, output: ToolOutput, metadata: ResultMetadata) -> EventBody {
    let result = ToolResult::new(call.id, Arc::clone(&call.name), output).with_metadata(metadata);
    let message = Arc::new(Message::tool(MessageId::generate(), result));
    EventBody::ToolCallResult(ToolCallResult { message })
}
