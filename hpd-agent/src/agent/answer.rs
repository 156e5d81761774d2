//! What an answer to a question for permission comes to: its record, what the model is told, and what the session
//! remembers of it in a hidden thread of its own.

use std::{any::Any, collections::HashSet, panic::AssertUnwindSafe, sync::Arc};

use serde_json::{Map, Value};

use super::{
    RunError,
    lane::{Lane, LaneState},
    tools::panic_message,
};
use crate::{
    event::{
        Event, EventBody, EventSource, PermissionAnswered, PermissionChoice, PermissionOutcome, PermissionRemembered,
        PermissionStateChanged, ThreadHeader, ThreadKind, Visibility,
    },
    id::{AgentId, ThreadId, ThreadKey},
    permission::{Answer, PermissionDecision, PermissionPolicy, PermissionRequest, SessionMemory},
    store::{Append, CommitError, Expected, SessionStore, StoreError, ThreadQuery},
};

/// The thread in which a session keeps what holds for all its threads.
const SESSION_THREAD: &str = "$session";

/// What an answer comes to.
pub(crate) struct Resolution {
    /// For the journal of the thread that asked.
    pub(crate) answered: PermissionAnswered,
    /// For the model, if the call may not run.
    pub(crate) text: Arc<str>,
    /// For the session's own thread.
    pub(crate) remembered: Vec<EventBody>,
}

impl Resolution {
    /// `memory` is locked for learning by the caller, until what this returns is committed.
    pub(crate) fn new(
        policy: &dyn PermissionPolicy,
        memory: &SessionMemory,
        request: &PermissionRequest,
        answer: Answer,
    ) -> Self {
        let (answer, learned) = match answer {
            Answer::Decided(decision) => {
                let (decision, learned) = learn(policy, memory, request, decision);
                (Answer::Decided(decision), learned)
            }
            other => (other, None),
        };
        let name = request.tool();
        let (outcome, decision, text): (_, Option<PermissionDecision>, Arc<str>) = match answer {
            Answer::Decided(decision) if decision.is_approved() => {
                (PermissionOutcome::Approved, Some(decision), Arc::from(""))
            }
            Answer::Decided(decision) => {
                let text = denied(name, decision.reason());
                (PermissionOutcome::Denied, Some(decision), text)
            }
            Answer::TimedOut => (
                PermissionOutcome::TimedOut,
                None,
                format!("Permission to use `{name}` was not given in time, so it was denied.").into(),
            ),
            Answer::Cancelled => {
                (PermissionOutcome::Cancelled, None, format!("The run was cancelled before `{name}` ran.").into())
            }
            Answer::NobodyToAsk => {
                let text = format!(
                    "Permission to use `{name}` was denied: nobody can be asked. The application can let somebody \
                     answer with `.with_permissions(Permissions::ask_with(…))`, or allow it with \
                     `.with_permissions(Permissions::allow_all())`."
                );
                tracing::warn!(tool = name, agent = %request.agent().agent_name, "{text}");
                (PermissionOutcome::NobodyToAsk, None, text.into())
            }
        };
        let choice = decision.as_ref().map(PermissionDecision::choice).unwrap_or_default();
        let reason = match &decision {
            Some(decision) => decision.shared_reason(),
            None => Some(Arc::clone(&text)),
        };
        let question = request.question();
        let function_name = Arc::clone(&question.function_name);
        let answered = PermissionAnswered {
            permission_id: request.id(),
            function_name: Arc::clone(&function_name),
            approved: outcome == PermissionOutcome::Approved,
            choice,
            outcome,
            reason,
        };
        let chosen = (choice != PermissionChoice::Ask).then(|| {
            EventBody::PermissionRemembered(PermissionRemembered { function_name, key: question.key.clone(), choice })
        });
        Self { answered, text, remembered: chosen.into_iter().chain(learned).collect() }
    }
}

/// What the model is told of a call that was denied.
pub(crate) fn denied(tool: &str, reason: Option<&str>) -> Arc<str> {
    match reason {
        Some(reason) => format!("Permission to use `{tool}` was denied: {reason}").into(),
        None => format!("Permission to use `{tool}` was denied.").into(),
    }
}

/// Lets the policy take its lesson from an answer. If it panics, permission fails closed.
fn learn(
    policy: &dyn PermissionPolicy,
    memory: &SessionMemory,
    request: &PermissionRequest,
    decision: PermissionDecision,
) -> (PermissionDecision, Option<EventBody>) {
    let before = memory.state();
    let mut after = (*before).clone();
    let learned = AssertUnwindSafe(|| policy.learn(request, &decision, &mut after));
    match std::panic::catch_unwind(learned) {
        Ok(()) => {
            let entries = changes(&before, after);
            let changed = PermissionStateChanged { entries: Arc::new(entries) };
            let changed = (!changed.entries.is_empty()).then_some(EventBody::PermissionStateChanged(changed));
            (decision, changed)
        }
        Err(panic) => {
            policy_panicked(request.tool(), &request.agent().agent_name, &*panic);
            (if decision.is_approved() { policy_failed() } else { decision }, None)
        }
    }
}

/// The entries in which two states differ; `null` for those that only the first one has.
fn changes(before: &Map<String, Value>, after: Map<String, Value>) -> Map<String, Value> {
    let gone = before.keys().filter(|name| !after.contains_key(*name)).map(|name| (name.clone(), Value::Null));
    let mut changes: Map<String, Value> = gone.collect();
    let differs = |name: &String, value: &Value| before.get(name).unwrap_or(&Value::Null) != value;
    changes.extend(after.into_iter().filter(|(name, value)| differs(name, value)));
    changes
}

/// The answer of a policy that panicked: permission fails closed, and the journal goes on.
pub(crate) fn policy_failed() -> PermissionDecision {
    PermissionDecision::deny("Whoever decides about it failed.")
}

pub(crate) fn policy_panicked(tool: &str, agent: &str, panic: &(dyn Any + Send)) {
    let message = panic_message(panic);
    tracing::error!(tool, message, agent, "the permission policy panicked");
}

impl Lane {
    /// Commits what has been recorded here together with what the session remembers from now on.
    pub(crate) async fn remember(&self, state: &mut LaneState, remembered: Vec<EventBody>) -> Result<(), RunError> {
        if remembered.is_empty() {
            return self.flush(state).await;
        }
        let record = SessionRecord::new(&self.key, &self.source, &remembered);
        if self.memory.is_stored() {
            self.flush_with(state, record.append()).await?;
        } else {
            let create = record.create(self.source.agent.agent_id.clone());
            match self.flush_with(state, create).await {
                // Another process of the same session was faster.
                Err(RunError::Commit(CommitError::Exists { .. })) => self.flush_with(state, record.append()).await?,
                other => other?,
            }
            self.memory.set_stored();
        }
        for body in &remembered {
            self.memory.take_in(body);
        }
        Ok(())
    }
}

/// What a session is to remember, as events of its own thread.
pub(crate) struct SessionRecord {
    key: ThreadKey,
    events: Vec<Arc<Event>>,
}

impl SessionRecord {
    /// `of`: a thread of the session.
    pub(crate) fn new(of: &ThreadKey, source: &Arc<EventSource>, remembered: &[EventBody]) -> Self {
        let event = |body: &EventBody| Arc::new(Event::new(Arc::clone(source), body.clone()));
        Self { key: session_thread(of), events: remembered.iter().map(event).collect() }
    }

    /// If the session has such a thread.
    pub(crate) fn append(&self) -> Append {
        Append::new(self.key.clone(), Expected::Any, self.events.clone())
    }

    /// If it has none.
    pub(crate) fn create(&self, agent: AgentId) -> Append {
        let header = ThreadHeader {
            thread_kind: ThreadKind::Session,
            visibility: Visibility::Hidden,
            ..ThreadHeader::conversation(self.key.clone(), agent)
        };
        Append::create(Arc::new(header), self.events.clone())
    }
}

fn session_thread(of: &ThreadKey) -> ThreadKey {
    ThreadKey::of(of.session_id.clone(), ThreadId::trusted(SESSION_THREAD))
}

/// Reads what a session remembers from its own thread.
pub(crate) async fn load_memory(
    store: &dyn SessionStore,
    of: &ThreadKey,
    memory: &SessionMemory,
) -> Result<(), StoreError> {
    let key = session_thread(of);
    if store.threads(ThreadQuery::key(key.clone())).await?.is_empty() {
        return Ok(());
    }
    let records = store.read(key, None, 1, usize::MAX).await?;
    memory.restore(records.iter().map(|record| record.event.body()));
    Ok(())
}

/// Reads what the sessions above a child's thread remember, if there are any besides its own: what they were denied for
/// good holds for the child, also when it is continued for itself.
pub(crate) async fn load_above(
    store: &dyn SessionStore,
    thread: &ThreadHeader,
) -> Result<Vec<Arc<SessionMemory>>, StoreError> {
    let mut above = Vec::new();
    let mut seen = HashSet::from([thread.key.session_id.clone()]);
    let mut origin = thread.origin.clone();
    let mut threads = HashSet::new();
    while let Some(of) = origin.take() {
        let parent = ThreadKey::of(of.parent_session_id, of.parent_thread_id);
        if !threads.insert(parent.clone()) {
            break;
        }
        if seen.insert(parent.session_id.clone()) {
            let memory = Arc::new(SessionMemory::default());
            load_memory(store, &parent, &memory).await?;
            above.push(memory);
        }
        let header = store.threads(ThreadQuery::key(parent)).await?.into_iter().next().map(|thread| thread.header);
        origin = header.and_then(|header| header.origin.clone());
    }
    Ok(above)
}
