//! Permission for one call: policy, remembered choices, and asking whoever can be asked.

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;
use tokio::sync::Mutex;

use super::{
    RunError,
    blueprint::{Tool, ToolKind},
    lane::{Lane, LaneState},
    tools::{CANCELLED, panic_message},
};
use crate::{
    declare::{ApprovalPolicy, PermissionOverride},
    event::{
        Event, EventBody, PermissionAnswered, PermissionChoice, PermissionOutcome, PermissionRemembered,
        PermissionRequested, ThreadHeader, ThreadKind, Visibility,
    },
    id::{RequestId, ThreadId, ThreadKey, Timestamp},
    message::{ToolCall, ToolOutput},
    permission::{Answer, PermissionDecision, PermissionRequest, Ruling, SessionMemory, ToolCallView},
    store::{Append, CommitError, Expected, SessionStore, ThreadQuery},
};

/// The thread in which a session keeps what holds for all its threads.
const SESSION_THREAD: &str = "$session";

/// What a question for permission came to.
pub(crate) enum Permit {
    Granted,
    /// What the model is told.
    Refused(ToolOutput),
}

fn refused(text: impl Into<Arc<str>>) -> Permit {
    Permit::Refused(ToolOutput::error(text))
}

impl Lane {
    /// Whether a call may run. `turn` lets the questions of one message be asked one after the other.
    pub(crate) async fn permit(&self, tool: &Tool, call: &ToolCall, turn: &Mutex<()>) -> Result<Permit, RunError> {
        let name = tool.name().as_str();
        if self.is_denied_above(name) {
            return Ok(refused(format!("The tool `{name}` was denied to an agent above this one. Do without it.")));
        }
        let requires_permission = self.requires_permission(tool);
        let sub_agent = match &tool.kind {
            ToolKind::Function(_) => None,
            ToolKind::SubAgent(sub_agent) => Some(sub_agent.view()),
        };
        let view = ToolCallView {
            tool: name,
            description: tool.spec.description(),
            arguments: &call.arguments,
            call_type: tool.call_type(),
            requires_permission,
            sub_agent,
            agent: &self.source.agent,
        };
        let ruling = std::panic::catch_unwind(AssertUnwindSafe(|| self.agent.permissions.policy().rule(&view)));
        let remembered = self.remembered(name);
        match (ruling, remembered) {
            (Ok(Ruling::Deny { reason }), _) => return Ok(refused(reason)),
            (Ok(Ruling::Allow), None) => return Ok(Permit::Granted),
            // What was denied for good stays denied, whatever the rule says about this call or this agent.
            (Ok(Ruling::Allow | Ruling::Ask), Some(permit)) => return Ok(permit),
            (Ok(Ruling::Ask), None) if self.approves_all() => return Ok(Permit::Granted),
            (Ok(Ruling::Ask), None) => {}
            (Err(panic), _) => return Ok(refused(self.policy_panicked(name, &*panic))),
        }
        let _turn = turn.lock().await;
        if self.tree.cancellation.is_cancelled() {
            return Ok(refused(CANCELLED));
        }
        // The question before this one may have answered it for good.
        match self.remembered(name) {
            Some(permit) => Ok(permit),
            // Rare and large: it shall not make every waiting child larger.
            None => Box::pin(self.ask(tool, call)).await,
        }
    }

    /// Whether a call of the tool needs permission: what this run says, else what the builder says, else what its
    /// declaration says.
    pub(crate) fn requires_permission(&self, tool: &Tool) -> bool {
        let of_run = self.run_config.as_ref().and_then(|run| run.permission_override(tool.name().as_str()));
        let of_builder = || self.agent.permissions.permission_override(tool.name().as_str());
        match of_run.or_else(of_builder) {
            Some(PermissionOverride::Require) => true,
            Some(PermissionOverride::Disable) => false,
            None => match &tool.kind {
                ToolKind::Function(function) => function.requires_permission,
                ToolKind::SubAgent(_) => true,
            },
        }
    }

    fn approves_all(&self) -> bool {
        self.run_config.as_ref().is_some_and(|run| run.approval() == ApprovalPolicy::AutoApprove)
    }

    /// Whether an agent above this one has been denied the tool for good, perhaps while this one was running.
    fn is_denied_above(&self, tool: &str) -> bool {
        let parents = std::iter::successors(self.parent.as_deref(), |lane| lane.parent.as_deref());
        let mut others = parents.filter(|lane| !Arc::ptr_eq(&lane.memory, &self.memory));
        others.any(|lane| lane.memory.choice(tool) == PermissionChoice::DenyAlways)
    }

    /// A policy that panics denies: permission fails closed, and the journal goes on.
    fn policy_panicked(&self, tool: &str, panic: &(dyn Any + Send)) -> String {
        let message = panic_message(panic);
        tracing::error!(tool, message, agent = %self.source.agent.agent_name, "the permission policy panicked");
        format!("Permission to use `{tool}` was denied: whoever decides about it failed. Do without it.")
    }

    fn remembered(&self, tool: &str) -> Option<Permit> {
        match self.memory.choice(tool) {
            PermissionChoice::Ask => None,
            PermissionChoice::AllowAlways => Some(Permit::Granted),
            PermissionChoice::DenyAlways => {
                Some(refused(format!("The tool `{tool}` is denied for the rest of this session. Do without it.")))
            }
        }
    }

    async fn ask(&self, tool: &Tool, call: &ToolCall) -> Result<Permit, RunError> {
        let now = Timestamp::now();
        let question = Arc::new(PermissionRequested {
            permission_id: RequestId::generate(),
            call_id: call.id,
            function_name: Arc::clone(&call.name),
            description: tool.spec.description().into(),
            arguments: Arc::clone(&call.arguments),
            call_type: tool.call_type(),
        });
        let id = question.permission_id;
        let request =
            PermissionRequest::new(Arc::clone(&question), Arc::clone(&self.source.agent), self.key.clone(), now);
        let broker = &self.tree.broker;
        // Whoever sees the event can answer at once.
        let by_subscriber = broker.open(&request, self.path());
        {
            let mut state = self.lock().await;
            state.record(&self.source, now, EventBody::PermissionRequest(question));
            if let Err(error) = self.flush(&mut state).await {
                broker.close(id, PermissionOutcome::Cancelled);
                return Err(error);
            }
        }
        broker.announce(&request);
        let permissions = &self.agent.permissions;
        let asked = async {
            tokio::select! {
                biased;
                answer = by_subscriber => answer.map_or(Answer::Cancelled, Answer::Decided),
                answer = self.somebody(request) => answer,
            }
        };
        // Not only a policy panics: so does a timer in a runtime without time.
        let asked = AssertUnwindSafe(async { tokio::time::timeout(permissions.timeout(), asked).await });
        let answer = tokio::select! {
            biased;
            () = self.tree.cancellation.wait() => Answer::Cancelled,
            answer = asked.catch_unwind() => match answer {
                Ok(answer) => answer.unwrap_or(Answer::TimedOut),
                Err(panic) => {
                    self.policy_panicked(tool.name().as_str(), &*panic);
                    Answer::Decided(PermissionDecision::deny("Whoever decides about it failed."))
                }
            },
        };
        self.answered(tool, id, answer).await
    }

    /// The policy's own answer; if it has none, waits for as long as somebody has the run's requests.
    async fn somebody(&self, request: PermissionRequest) -> Answer {
        match self.agent.permissions.policy().answer(request).await {
            Some(decision) => Answer::Decided(decision),
            None => {
                self.tree.broker.abandoned().await;
                Answer::NobodyToAsk
            }
        }
    }

    async fn answered(&self, tool: &Tool, id: RequestId, answer: Answer) -> Result<Permit, RunError> {
        let name = tool.name().as_str();
        let (outcome, decision, text): (_, Option<PermissionDecision>, Arc<str>) = match answer {
            Answer::Decided(decision) if decision.is_approved() => {
                (PermissionOutcome::Approved, Some(decision), Arc::from(""))
            }
            Answer::Decided(decision) => {
                let text = match decision.reason() {
                    Some(reason) => format!("Permission to use `{name}` was denied: {reason}"),
                    None => format!("Permission to use `{name}` was denied."),
                };
                (PermissionOutcome::Denied, Some(decision), text.into())
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
                tracing::warn!(tool = name, agent = %self.source.agent.agent_name, "{text}");
                (PermissionOutcome::NobodyToAsk, None, text.into())
            }
        };
        self.tree.broker.close(id, outcome);
        let approved = outcome == PermissionOutcome::Approved;
        let choice = decision.as_ref().map(PermissionDecision::choice).unwrap_or_default();
        let reason = match &decision {
            Some(decision) => decision.shared_reason(),
            None => Some(Arc::clone(&text)),
        };
        let function_name: Arc<str> = tool.name().shared();
        let answered = PermissionAnswered {
            permission_id: id,
            function_name: Arc::clone(&function_name),
            approved,
            choice,
            outcome,
            reason,
        };
        let mut state = self.lock().await;
        state.record(&self.source, Timestamp::now(), EventBody::PermissionResponse(Arc::new(answered)));
        if choice == PermissionChoice::Ask {
            self.flush(&mut state).await?;
        } else {
            self.remember(&mut state, function_name, choice).await?;
        }
        drop(state);
        Ok(if approved { Permit::Granted } else { refused(text) })
    }

    /// Commits an answer together with the choice that holds for the session from now on.
    async fn remember(
        &self,
        state: &mut LaneState,
        function_name: Arc<str>,
        choice: PermissionChoice,
    ) -> Result<(), RunError> {
        let remembered = PermissionRemembered { function_name: Arc::clone(&function_name), choice };
        let event = Arc::new(Event::new(Arc::clone(&self.source), EventBody::PermissionRemembered(remembered)));
        let key = session_thread(&self.key);
        let existing = Append::new(key.clone(), Expected::Any, vec![Arc::clone(&event)]);
        if self.memory.is_stored() {
            self.flush_with(state, existing).await?;
        } else {
            let agent = self.source.agent.agent_id.clone();
            let header = ThreadHeader {
                thread_kind: ThreadKind::Session,
                visibility: Visibility::Hidden,
                ..ThreadHeader::conversation(key, agent)
            };
            match self.flush_with(state, Append::create(Arc::new(header), vec![event])).await {
                // Another process of the same session was faster.
                Err(RunError::Commit(CommitError::Exists { .. })) => self.flush_with(state, existing).await?,
                other => other?,
            }
            self.memory.set_stored();
        }
        self.memory.remember(function_name, choice);
        Ok(())
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
) -> Result<(), RunError> {
    let key = session_thread(of);
    if store.threads(ThreadQuery::key(key.clone())).await?.is_empty() {
        return Ok(());
    }
    let records = store.read(key, None, 1, usize::MAX).await?;
    memory.restore(records.iter().filter_map(|record| match record.event.body() {
        EventBody::PermissionRemembered(remembered) => Some((Arc::clone(&remembered.function_name), remembered.choice)),
        _ => None,
    }));
    Ok(())
}
