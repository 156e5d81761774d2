//! The driver: performs what the turn decides, until the turn has ended.

use std::sync::Arc;

use super::{
    RunError,
    blueprint::Blueprint,
    lane::{Lane, LaneState},
    ledger::Ledger,
    tools::{CANCELLED, result_event},
};
use crate::{
    declare::AgentRunConfig,
    event::{
        ErrorInfo, EventBody, ExecutionBudget, ExecutionFinished, ExecutionOutcome, ExecutionSettings,
        ExecutionStarted, PermissionAnswered, PermissionChoice, PermissionOutcome, RunConfigText,
        SubAgentInvocationCancelled, TurnFinished, TurnStarted, TurnTaken,
    },
    future::BoxFuture,
    id::{CallId, EventId, MessageId, Timestamp, TurnId},
    message::{Message, ResultMetadata, StopReason, ToolCall, ToolOutput, Usage},
    turn::{self, Finish, Step},
};

/// What an agent answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) text: Arc<str>,
    pub(crate) stop: StopReason,
    pub(crate) message: Option<Arc<Message>>,
}

/// How an execution ended. Its journal says so too.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) outcome: Result<Answer, RunError>,
    /// What the agent took, and what its descendants took.
    pub(crate) usage: (Usage, Usage),
    /// What the conversation that its thread began with hashes to.
    pub(crate) seed: Option<u64>,
    /// The last text of an execution that failed.
    pub(crate) last_text: Option<Arc<str>>,
    /// The event that its thread ends with, if it could be journaled.
    pub(crate) last_event: Option<EventId>,
}

impl Ended {
    /// A child for which nothing runs any more: it had this answer, or none.
    pub(crate) fn without_execution(answer: Result<Arc<Message>, RunError>) -> Self {
        let answered = |message: Arc<Message>| Answer {
            text: message.shared_text(),
            stop: StopReason::EndTurn,
            message: Some(message),
        };
        Self { outcome: answer.map(answered), usage: Default::default(), seed: None, last_text: None, last_event: None }
    }

    /// An execution whose task is gone; its journal ends where it was.
    pub(crate) fn panicked(error: tokio::task::JoinError) -> Self {
        Self {
            outcome: Err(RunError::of_task(error)),
            usage: Default::default(),
            seed: None,
            last_text: None,
            last_event: None,
        }
    }
}

/// An execution that goes on. However it ends, its thread is free afterwards.
struct Working<'a>(&'a Lane);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.ended();
    }
}

impl Lane {
    pub(crate) fn max_iterations(&self, blueprint: &Blueprint) -> u32 {
        let of_run = self.run_config.as_ref().and_then(|run| run.max_iterations());
        of_run.unwrap_or_else(|| blueprint.config.max_iterations()).max(1)
    }

    fn settings(&self, blueprint: &Blueprint) -> Arc<ExecutionSettings> {
        let make = || {
            let run_config = self.run_config.as_deref().cloned().unwrap_or_default().resolved(&self.options);
            let run_config =
                (run_config != AgentRunConfig::default()).then(|| RunConfigText::of(&run_config)).flatten();
            Arc::new(ExecutionSettings {
                agent_id: blueprint.agent_id.clone(),
                provider: Arc::clone(&self.selection.provider),
                run_config: run_config.map(Arc::new),
                denials: Arc::clone(&self.denials),
                budget: ExecutionBudget {
                    max_iterations: self.max_iterations(blueprint),
                    max_sub_agent_depth: self.ceiling,
                },
            })
        };
        let special = self.run_config.is_some() || !self.denials.is_open();
        if special || !Arc::ptr_eq(&self.options, &blueprint.options) {
            return make();
        }
        let usual = blueprint.settings.get_or_init(make);
        let same = usual.budget.max_sub_agent_depth == self.ceiling && usual.provider == self.selection.provider;
        if same { Arc::clone(usual) } else { make() }
    }

    /// Records that the agent begins to work on an input.
    pub(crate) fn record_start(
        &self,
        state: &mut LaneState,
        now: Timestamp,
        input: Arc<Message>,
    ) -> Result<(), RunError> {
        let waited = state.thread.suspended.is_some();
        (state.usage, state.usage_below) = Default::default();
        self.record_execution(state, now)?;
        if waited {
            self.give_up(state, now, None, "The conversation went on before permission was given.");
            self.answer_leftovers(state, now, "The conversation went on before this call was permitted and done.");
        } else {
            let why = "The run was interrupted: it is unknown whether this call had any effect.";
            self.answer_leftovers(state, now, why);
        }
        let started = TurnStarted { turn_id: TurnId::generate(), message: input };
        state.record(&self.source, now, EventBody::TurnStarted(started));
        Ok(())
    }

    /// Records that the agent begins to work, or goes on with a turn that waited.
    pub(crate) fn record_execution(&self, state: &mut LaneState, now: Timestamp) -> Result<(), RunError> {
        let settings = self.settings(self.blueprint()?);
        state.record(&self.source, now, EventBody::ExecutionStarted(ExecutionStarted { settings }));
        Ok(())
    }

    /// Runs the turn to its end. The first request is recorded already; `None`: the turn goes on where it waited.
    pub(crate) async fn drive(self: Arc<Self>, first_request: Option<MessageId>) -> Ended {
        let _working = Working(&self);
        let outcome = self.turn(first_request).await;
        self.finish(outcome).await
    }

    /// Says that something works on the thread: before the journal does, so that nobody finds an execution there whose
    /// runtime is not known.
    pub(crate) fn began(&self) {
        if let Some(execution) = self.source.execution {
            self.tree.began(&self.key, execution);
        }
    }

    /// Says that nothing does any more.
    pub(crate) fn ended(&self) {
        if let Some(execution) = self.source.execution {
            self.tree.ended(execution);
            self.agent.freed(&self.key);
        }
    }

    /// The same as a child: the one place where agents nest. The future of a child is part of its parent's.
    pub(crate) fn drive_nested(self: Arc<Self>, first_request: Option<MessageId>) -> BoxFuture<'static, Ended> {
        Box::pin(self.drive(first_request))
    }

    async fn turn(self: &Arc<Self>, mut request: Option<MessageId>) -> Result<StopReason, RunError> {
        let max_iterations = self.max_iterations(self.blueprint()?);
        loop {
            if let Some(request) = request {
                self.ask_model(request).await?;
            }
            request = loop {
                if self.tree.cancellation.is_cancelled() {
                    return Err(RunError::Cancelled);
                }
                self.check_budget()?;
                let step = {
                    let mut state = self.lock().await;
                    let step = turn::next(&state.thread, max_iterations);
                    if step == Step::CallModel {
                        break Some(self.record_request(&mut state, Timestamp::now()));
                    }
                    step
                };
                match step {
                    Step::CallModel => {}
                    // On the heap: an agent without tools, as most children are, shall not be larger for them.
                    Step::RunTools => Box::pin(self.run_tools()).await?,
                    Step::Finish(Finish::Answered(stop)) => return Ok(stop),
                    Step::Finish(Finish::IterationLimit(limit)) => {
                        let agent = self.source.agent.agent_name.to_string();
                        return Err(RunError::IterationLimit { agent, limit });
                    }
                    Step::Finish(Finish::Nothing) => {
                        return Err(RunError::Internal { reason: "a turn ended before it had begun" });
                    }
                }
            };
        }
    }

    /// Journals the end. Never cancelled; every call has a result afterwards, unless the turn waits for permission.
    async fn finish(&self, outcome: Result<StopReason, RunError>) -> Ended {
        let mut state = self.lock().await;
        let last = state.thread.last_text.clone();
        let outcome = outcome.map_err(|error| error.with_partial(last.as_deref()));
        let outcome = outcome.and_then(|stop| match &last {
            Some(message) => Ok(Answer { text: message.shared_text(), stop, message: Some(Arc::clone(message)) }),
            // A root may say nothing; a child that says nothing has not done its task.
            None if self.depth() == 0 => Ok(Answer { text: Arc::from(""), stop, message: None }),
            None => Err(RunError::NoAnswer { agent: self.source.agent.agent_name.to_string() }),
        });
        let (how, error) = match &outcome {
            Ok(_) => (ExecutionOutcome::Succeeded, None),
            Err(RunError::Cancelled) => (ExecutionOutcome::Cancelled, None),
            Err(RunError::AwaitingPermission { .. }) => (ExecutionOutcome::Suspended, None),
            Err(error) => (
                ExecutionOutcome::Failed,
                Some(Arc::new(ErrorInfo { code: error.code().into(), message: error.to_string().into() })),
            ),
        };
        if outcome.as_ref().is_err_and(RunError::is_fatal) {
            let (usage, last_text) = ((state.usage, state.usage_below), last.map(|message| message.shared_text()));
            return Ended { last_text, outcome, usage, seed: state.thread.seed, last_event: None };
        }
        let now = Timestamp::now();
        if how != ExecutionOutcome::Suspended {
            self.give_up(&mut state, now, None, CANCELLED);
            self.answer_leftovers(&mut state, now, CANCELLED);
        }
        if let Some(turn_id) = state.thread.turn.filter(|_| how != ExecutionOutcome::Suspended) {
            let finished = TurnFinished { turn_id, outcome: how };
            state.record(&self.source, now, EventBody::TurnFinished(finished));
        }
        let taken = (how == ExecutionOutcome::Suspended).then(|| Arc::new(self.taken(&state)));
        let finished = ExecutionFinished { outcome: how, error, taken };
        let last_event = state.record(&self.source, now, EventBody::ExecutionFinished(finished));
        let mut committed = self.flush(&mut state).await;
        if committed.as_ref().is_err_and(|error| !error.is_fatal()) {
            // An end is worth a second try: without it the execution would look as if it went on.
            committed = self.flush(&mut state).await;
        }
        let outcome = outcome.and_then(|answer| committed.map(|()| answer));
        let last_text = outcome.is_err().then(|| last.map(|message| message.shared_text())).flatten();
        let (usage, seed) = ((state.usage, state.usage_below), state.thread.seed);
        Ended { outcome, usage, seed, last_text, last_event: Some(last_event) }
    }

    /// What the turn has taken until now.
    fn taken(&self, state: &LaneState) -> TurnTaken {
        TurnTaken {
            usage: state.usage,
            usage_below: state.usage_below,
            spent: self.own_ledger().map(Ledger::spent),
            by_agent: if self.parent.is_none() { self.tree.usage() } else { Vec::new() },
        }
    }

    /// Ends what waits for permission without it, because nobody will go on with it. `call`: only what waits for that one.
    pub(crate) fn give_up(&self, state: &mut LaneState, now: Timestamp, call: Option<CallId>, why: &str) {
        let Some(open) = &state.thread.open else { return };
        let is_meant = |of: CallId| call.is_none_or(|call| call == of);
        let questions = open.pending().filter(|question| is_meant(question.asked.call_id)).map(|question| {
            EventBody::PermissionResponse(Arc::new(PermissionAnswered {
                permission_id: question.asked.permission_id,
                function_name: Arc::clone(&question.asked.function_name),
                approved: false,
                choice: PermissionChoice::Ask,
                outcome: PermissionOutcome::Cancelled,
                reason: Some(why.into()),
            }))
        });
        let children = open.unfinished().filter(|child| is_meant(child.parent_tool_call_id)).map(|invocation| {
            let invocation = Arc::clone(invocation);
            let reason = Some(why.into());
            EventBody::SubAgentInvocationCancelled(SubAgentInvocationCancelled { invocation, reason })
        });
        let ended: Vec<EventBody> = questions.chain(children).collect();
        for body in ended {
            state.record(&self.source, now, body);
        }
    }

    /// Gives every open call a result, so that the conversation can go on.
    fn answer_leftovers(&self, state: &mut LaneState, now: Timestamp, why: &str) {
        let open: Vec<ToolCall> = state.thread.open.iter().flat_map(|open| open.unanswered()).cloned().collect();
        for call in open {
            let output = ToolOutput::error(why);
            state.record(&self.source, now, result_event(&call, output, ResultMetadata::default()));
        }
    }
}
