//! What waits for an answer, running or in the journals, and answering it.

use std::sync::Arc;

use super::{
    Agent, RunError, RuntimeState,
    answer::{Resolution, SessionRecord, load_memory},
};
use crate::{
    event::{Event, EventBody, EventSource, PermissionOutcome},
    id::{RequestId, ThreadKey},
    permission::{Answer, PermissionDecision, PermissionRequest, RespondOutcome, SessionMemory},
    session::{Question, SessionError, ThreadState, load},
    store::{Append, Batch, CommitError, Expected},
};

/// How often an answer is tried again that met another writer, or whose commit has an unknown outcome.
const ATTEMPTS: usize = 3;

/// How many records of a journal are read at once.
const PAGE: usize = 1_000;

impl Agent {
    /// What works on a thread now, and which questions of it and its descendants wait for an answer: those of what runs
    /// in this process, and those that wait in the journals ([`Permissions::durable`]), whichever process asked.
    ///
    /// [`Permissions::durable`]: crate::permission::Permissions::durable
    ///
    /// # Errors
    ///
    /// [`RunError::Session`] if a journal can't be read. A thread that does not exist has nothing that waits.
    pub async fn runtime_state(&self, thread: &ThreadKey) -> Result<RuntimeState, RunError> {
        let mut state = RuntimeState {
            active_execution: None,
            pending_requests: Vec::new(),
            queued_runs: self.inner().queued(thread),
        };
        for tree in self.inner().trees() {
            state.active_execution = state.active_execution.or_else(|| tree.execution(thread));
            state.pending_requests.extend(tree.broker.pending(thread));
        }
        // What runs with permissions that are not durable has nothing in the journals.
        if state.active_execution.is_none() || self.inner().permissions.is_durable() {
            for request in self.parked(thread).await? {
                if state.pending_requests.iter().all(|pending| pending.id() != request.id()) {
                    state.pending_requests.push(request);
                }
            }
        }
        state.pending_requests.sort_by_key(PermissionRequest::created_at);
        Ok(state)
    }

    /// Answers a question at any depth: of what runs, or one that waits in the journal of `thread`, the thread that
    /// asked. Without a thread, only what runs in this process is asked for; with another one than the question's, the
    /// answer is refused. When this returns [`RespondOutcome::Accepted`] for a question in a journal, the answer is
    /// committed there.
    ///
    /// # Errors
    ///
    /// [`RunError::ThreadBusy`] if the question waits in the journal and the rest of its turn still runs, or runs again:
    /// try later. [`RunError::Session`] or [`RunError::Commit`] if the store fails.
    pub async fn respond(
        &self,
        id: RequestId,
        thread: Option<&ThreadKey>,
        decision: PermissionDecision,
    ) -> Result<RespondOutcome, RunError> {
        for _ in 0..ATTEMPTS {
            let live = self.respond_live(id, thread, &decision);
            let unknown = matches!(live, RespondOutcome::NotFound | RespondOutcome::RuntimeUnavailable);
            let Some(thread) = thread.filter(|_| unknown) else { return Ok(live) };
            match self.respond_in_journal(id, thread, &decision).await {
                // Somebody else has answered, or goes on with the thread.
                Err(RunError::Commit(CommitError::Conflict { .. } | CommitError::Exists { .. })) => {}
                other => return other,
            }
        }
        Err(thread.map_or(RunError::Cancelled, |thread| RunError::ThreadBusy { thread: thread.clone() }))
    }

    fn respond_live(&self, id: RequestId, thread: Option<&ThreadKey>, decision: &PermissionDecision) -> RespondOutcome {
        let trees = self.inner().trees();
        let mut best = if trees.is_empty() { RespondOutcome::RuntimeUnavailable } else { RespondOutcome::NotFound };
        for tree in trees {
            match tree.broker.respond(id, thread, decision.clone()) {
                RespondOutcome::NotFound => {}
                outcome => best = outcome,
            }
        }
        best
    }

    async fn respond_in_journal(
        &self,
        id: RequestId,
        thread: &ThreadKey,
        decision: &PermissionDecision,
    ) -> Result<RespondOutcome, RunError> {
        let state = match load(&*self.inner().store, thread).await {
            Ok(state) => state,
            Err(SessionError::NotFound { .. }) => return Ok(RespondOutcome::NotFound),
            Err(error) => return Err(error.into()),
        };
        match state.open.as_ref().and_then(|open| open.question_of_id(id)) {
            Some(question) => match &question.answer {
                Some(answer) => Ok(resolved(answer.outcome)),
                None if state.suspended.is_some() => self.journal_answer(&state, question, decision).await,
                None if self.inner().trees().iter().any(|tree| tree.execution(thread).is_some()) => {
                    Err(RunError::ThreadBusy { thread: thread.clone() })
                }
                None => Ok(RespondOutcome::ExecutionEnded),
            },
            None => match self.outcome_in_journal(id, thread).await? {
                RespondOutcome::NotFound if self.parked(thread).await?.iter().any(|request| request.id() == id) => {
                    Ok(RespondOutcome::TargetMismatch)
                }
                outcome => Ok(outcome),
            },
        }
    }

    /// What became of a question of an earlier message.
    async fn outcome_in_journal(&self, id: RequestId, thread: &ThreadKey) -> Result<RespondOutcome, RunError> {
        let mut found = RespondOutcome::NotFound;
        let mut next = 1;
        loop {
            let records = self.inner().store.read(thread.clone(), None, next, PAGE).await?;
            let Some(last) = records.last() else { return Ok(found) };
            next = last.sequence + 1;
            for record in &records {
                match record.event.body() {
                    EventBody::PermissionRequest(asked) if asked.permission_id == id => {
                        found = RespondOutcome::ExecutionEnded;
                    }
                    EventBody::PermissionResponse(answer) if answer.permission_id == id => {
                        return Ok(resolved(answer.outcome));
                    }
                    _ => {}
                }
            }
        }
    }

    async fn journal_answer(
        &self,
        state: &ThreadState,
        question: &Question,
        decision: &PermissionDecision,
    ) -> Result<RespondOutcome, RunError> {
        let (inner, thread) = (self.inner(), &state.header.key);
        let memory = match inner.memory(&thread.session_id) {
            Some(memory) => memory,
            None => {
                let memory = Arc::new(SessionMemory::default());
                load_memory(&*inner.store, thread, &memory).await?;
                memory
            }
        };
        let learning = memory.learning().await;
        let answer = Answer::Decided(decision.clone());
        let Resolution { answered, remembered, .. } =
            Resolution::new(inner.permissions.policy(), &memory, &question.request(thread), answer);
        let source = EventSource { execution: None, ..EventSource::root(Arc::clone(&question.agent)) };
        let source = Arc::new(source);
        let event = Arc::new(Event::new(Arc::clone(&source), EventBody::PermissionResponse(Arc::new(answered))));
        let mut appends = vec![Append::new(thread.clone(), Expected::Exactly(state.len), vec![event])];
        if !remembered.is_empty() {
            let record = SessionRecord::new(thread, &source, &remembered);
            let is_stored = memory.is_stored();
            appends.push(if is_stored { record.append() } else { record.create(source.agent.agent_id.clone()) });
        }
        self.commit(Batch::new(appends), &memory).await?;
        if !remembered.is_empty() {
            memory.set_stored();
            remembered.iter().for_each(|body| memory.take_in(body));
        }
        drop(learning);
        Ok(RespondOutcome::Accepted)
    }

    async fn commit(&self, batch: Batch, memory: &SessionMemory) -> Result<(), CommitError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.inner().store.commit(batch.clone()).await {
                Err(CommitError::Unknown(error)) if attempts < ATTEMPTS => {
                    tracing::warn!(%error, "submitting a commit again");
                }
                // Another process of the same session was faster to remember something.
                Err(error @ CommitError::Exists { .. }) => {
                    memory.set_stored();
                    return Err(error);
                }
                other => return other.map(|_| ()),
            }
        }
    }

    /// The questions of a thread and its descendants that wait in the journals.
    async fn parked(&self, thread: &ThreadKey) -> Result<Vec<PermissionRequest>, RunError> {
        let mut requests = Vec::new();
        let mut threads = vec![thread.clone()];
        while let Some(key) = threads.pop() {
            let state = match load(&*self.inner().store, &key).await {
                Ok(state) => state,
                Err(SessionError::NotFound { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            let Some(open) = &state.open else { continue };
            threads.extend(open.unfinished().map(|child| child.child()));
            if state.suspended.is_some() {
                requests.extend(open.pending().map(|question| question.request(&key)));
            }
        }
        Ok(requests)
    }
}

/// What a late answer is told.
fn resolved(outcome: PermissionOutcome) -> RespondOutcome {
    match outcome {
        PermissionOutcome::TimedOut => RespondOutcome::TimedOut,
        PermissionOutcome::Cancelled => RespondOutcome::Cancelled,
        PermissionOutcome::Approved | PermissionOutcome::Denied | PermissionOutcome::NobodyToAsk => {
            RespondOutcome::AlreadyResolved
        }
    }
}
