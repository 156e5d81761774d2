use std::sync::Arc;

use smallvec::SmallVec;

use crate::{
    event::{
        AgentScope, Event, EventBody, ExecutionOutcome, ExecutionSettings, ForkPoint, PermissionAnswered,
        PermissionRequested, SubAgentInvocation, ThreadHeader, TurnTaken,
    },
    history::History,
    id::{CallId, MessageId, RequestId, Timestamp, TurnId},
    message::{Message, StopReason, ToolCall},
};

/// Everything that the runtime knows about a thread: the fold of its events, one at a time, never a scan.
#[derive(Debug, Clone)]
pub(crate) struct ThreadState {
    pub(crate) header: Arc<ThreadHeader>,
    /// The current generation, from 1.
    pub(crate) generation: u64,
    /// How many records the current generation has.
    pub(crate) len: u64,
    /// What the model is shown. A tool call in it is followed by its result: an assistant message with calls that are
    /// still open is the last message, and its results are kept in `open` until all are there.
    pub(crate) history: History,
    /// The calls that have no results yet.
    pub(crate) open: Option<Box<OpenStep>>,
    pub(crate) phase: Phase,
    pub(crate) turn: Option<TurnId>,
    /// How many model calls the turn has had.
    pub(crate) iteration: u32,
    /// The last assistant message with text in the current execution.
    pub(crate) last_text: Option<Arc<Message>>,
    /// The agent that worked on the thread last, and its settings.
    pub(crate) last_agent: Option<(Arc<AgentScope>, Arc<ExecutionSettings>)>,
    /// What the turn had taken when it began to wait for an answer to a question for permission; `None`: it does not wait.
    pub(crate) suspended: Option<Arc<TurnTaken>>,
    /// What the conversation that the thread began with hashes to; `None`: it began empty.
    pub(crate) seed: Option<u64>,
}

/// What has to happen next on a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing: it waits for an input.
    Idle,
    /// The model has to be asked.
    AwaitingModel,
    /// Tools have to be run.
    AwaitingTools,
    /// The model has answered.
    Answered(StopReason),
}

/// An assistant message whose calls are not all answered.
#[derive(Debug, Clone)]
pub(crate) struct OpenStep {
    pub(crate) message: Arc<Message>,
    /// The number of its record.
    pub(crate) sequence: u64,
    /// The history before the message.
    before: History,
    /// What a child forked at this message sees, once somebody asked.
    fork: std::sync::OnceLock<History>,
    results: SmallVec<[Option<Arc<Message>>; 1]>,
    /// What was asked about its calls.
    questions: Vec<Question>,
    /// The children that its calls have begun.
    children: SmallVec<[Arc<SubAgentInvocation>; 1]>,
}

/// A question for permission, as the thread's journal has it.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) asked: Arc<PermissionRequested>,
    /// Who asked.
    pub(crate) agent: Arc<AgentScope>,
    pub(crate) at: Timestamp,
    pub(crate) answer: Option<Arc<PermissionAnswered>>,
}

impl OpenStep {
    fn is_answered(&self, call: CallId) -> bool {
        slot_of(call, self.message.id()).and_then(|at| self.results.get(at)).is_some_and(Option::is_some)
    }

    /// What was asked about a call last.
    pub(crate) fn question(&self, call: CallId) -> Option<&Question> {
        self.questions.iter().rev().find(|question| question.asked.call_id == call)
    }

    /// The question of this id, answered or not.
    pub(crate) fn question_of_id(&self, id: RequestId) -> Option<&Question> {
        self.questions.iter().find(|question| question.asked.permission_id == id)
    }

    /// What was asked and not answered.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &Question> {
        self.questions.iter().filter(|question| question.answer.is_none())
    }

    /// The children whose calls have no results.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = &Arc<SubAgentInvocation>> {
        self.children.iter().filter(|child| !self.is_answered(child.parent_tool_call_id))
    }

    /// The child that a call without a result has begun.
    pub(crate) fn unfinished_child(&self, call: CallId) -> Option<&Arc<SubAgentInvocation>> {
        self.unfinished().find(|child| child.parent_tool_call_id == call)
    }

    /// The calls without results, in order.
    pub(crate) fn unanswered(&self) -> impl Iterator<Item = &ToolCall> {
        self.message.calls().zip(&self.results).filter(|(_, result)| result.is_none()).map(|(call, _)| call)
    }

    /// Whether each call has its result, in order.
    pub(crate) fn answered(&self) -> SmallVec<[bool; 8]> {
        self.results.iter().map(Option::is_some).collect()
    }

    /// What a child that is forked at this message sees: all before it, and its text without any of its calls.
    fn fork_history(&self) -> &History {
        self.fork.get_or_init(|| {
            let mut history = self.before.clone();
            if let Some(text) = self.message.text_only() {
                history.push(Arc::new(text));
            }
            history
        })
    }
}

impl ThreadState {
    /// A thread without events that begins with `history`.
    pub(crate) fn new(header: Arc<ThreadHeader>, history: History) -> Self {
        let seed = (!history.is_empty()).then(|| history.hash());
        Self {
            header,
            generation: 1,
            len: 0,
            history,
            open: None,
            phase: Phase::Idle,
            turn: None,
            iteration: 0,
            last_text: None,
            last_agent: None,
            suspended: None,
            seed,
        }
    }

    /// What a fork at the current head sees.
    pub(crate) fn fork_history(&self) -> History {
        self.open.as_ref().map_or_else(|| self.history.clone(), |open| open.fork_history().clone())
    }

    /// The point that a fork at the current head starts from: the delegating message if there is one, the last record
    /// otherwise.
    pub(crate) fn fork_point(&self) -> ForkPoint {
        let sequence = self.open.as_ref().map_or(self.len, |open| open.sequence);
        let message = self.open.as_ref().map(|open| &open.message).or_else(|| self.history.last());
        let mut point = ForkPoint::new(self.header.key.clone(), self.generation, sequence);
        point.message_id = message.map(|message| message.id());
        point
    }

    /// Takes in the next event.
    pub(crate) fn apply(&mut self, event: &Event) {
        self.len += 1;
        match event.body() {
            EventBody::ExecutionStarted(started) => {
                // A turn that goes on keeps what it had.
                if self.suspended.take().is_none() {
                    self.last_text = None;
                }
                self.last_agent = Some((Arc::clone(&event.source().agent), Arc::clone(&started.settings)));
            }
            EventBody::ExecutionFinished(finished) if finished.outcome == ExecutionOutcome::Suspended => {
                self.suspended = Some(finished.taken.clone().unwrap_or_default());
            }
            EventBody::ExecutionFinished(_) => self.phase = Phase::Idle,
            EventBody::TurnStarted(started) => {
                self.turn = Some(started.turn_id);
                self.iteration = 0;
                self.history.push(Arc::clone(&started.message));
                self.phase = Phase::AwaitingModel;
            }
            EventBody::TurnFinished(_) => {
                self.turn = None;
                self.phase = Phase::Idle;
            }
            EventBody::ModelRequest(_) => self.iteration += 1,
            EventBody::ModelResponse(response) => self.answer(&response.message, &response.stop_reason),
            EventBody::ToolCallResult(result) => self.tool_result(&result.message),
            EventBody::PermissionRequest(asked) => {
                let question = Question {
                    asked: Arc::clone(asked),
                    agent: Arc::clone(&event.source().agent),
                    at: event.timestamp(),
                    answer: None,
                };
                self.open.iter_mut().for_each(|open| open.questions.push(question.clone()));
            }
            EventBody::PermissionResponse(answer) => {
                let questions = self.open.iter_mut().flat_map(|open| &mut open.questions);
                for question in questions.filter(|question| question.asked.permission_id == answer.permission_id) {
                    question.answer = Some(Arc::clone(answer));
                }
            }
            EventBody::SubAgentInvocationStarted(started) => {
                self.open.iter_mut().for_each(|open| open.children.push(Arc::clone(&started.invocation)));
            }
            _ => {}
        }
    }

    /// Takes back the beginning of a child, the last thing that was taken in.
    pub(crate) fn retract_child(&mut self) {
        self.len -= 1;
        self.open.iter_mut().for_each(|open| drop(open.children.pop()));
    }

    fn answer(&mut self, message: &Arc<Message>, stop: &StopReason) {
        if message.has_text() {
            self.last_text = Some(Arc::clone(message));
        }
        let calls = message.calls().count();
        if calls > 0 {
            let before = self.history.clone();
            let results = std::iter::repeat_n(None, calls).collect();
            self.history.push(Arc::clone(message));
            self.open = Some(Box::new(OpenStep {
                message: Arc::clone(message),
                sequence: self.len,
                before,
                fork: std::sync::OnceLock::new(),
                results,
                questions: Vec::new(),
                children: SmallVec::new(),
            }));
            self.phase = Phase::AwaitingTools;
        } else {
            // Providers refuse empty messages; an empty answer ends the turn all the same.
            if message.has_text() {
                self.history.push(Arc::clone(message));
            }
            self.phase = Phase::Answered(stop.clone());
        }
    }

    fn tool_result(&mut self, message: &Arc<Message>) {
        let Some(open) = &mut self.open else { return };
        for result in message.results() {
            if let Some(slot) = slot_of(result.call_id, open.message.id()).and_then(|at| open.results.get_mut(at)) {
                slot.get_or_insert_with(|| Arc::clone(message));
            }
        }
        if open.results.iter().all(Option::is_some)
            && let Some(open) = self.open.take()
        {
            // Results commit as they finish; the model sees them in call order.
            self.history.extend(open.results.into_iter().flatten());
            self.phase = Phase::AwaitingModel;
        }
    }
}

fn slot_of(call: CallId, message: MessageId) -> Option<usize> {
    (call.message() == message).then(|| usize::try_from(call.index()).ok()).flatten()
}
