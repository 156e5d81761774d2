//! Turns that wait for permission in the journal: what is left of them, and how they go on.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::{
    RunError,
    answer::{denied, load_memory},
    blueprint::{SubAgentTool, Tool},
    delegate::Begun,
    driver::Ended,
    lane::Lane,
    ledger::Ledger,
    permit::{Permit, Verdict, refused},
    tools::CANCELLED,
};
use crate::{
    event::{EventBody, PermissionAnswered, PermissionChoice, PermissionOutcome, ResolvedContext, SubAgentInvocation},
    id::{ThreadKey, Timestamp},
    message::ToolCall,
    permission::{PermissionRequest, SessionMemory},
    session::{Question, SessionError, load},
    subagent::SubAgentCall,
};

/// How far a call had come when its turn began to wait.
pub(crate) enum Left {
    /// Nothing was done for it.
    Nothing,
    /// It was asked about.
    Question(Box<Question>),
    /// Its child waits.
    Child(Arc<SubAgentInvocation>),
}

impl Question {
    /// The question as it reaches who can answer it.
    pub(crate) fn request(&self, thread: &ThreadKey) -> PermissionRequest {
        PermissionRequest::new(Arc::clone(&self.asked), Arc::clone(&self.agent), thread.clone(), self.at)
    }
}

impl Lane {
    /// How far a call had come before this execution.
    pub(crate) async fn left(&self, call: &ToolCall) -> Left {
        let state = self.lock().await;
        let Some(open) = &state.thread.open else { return Left::Nothing };
        match (open.unfinished_child(call.id), open.question(call.id)) {
            (Some(child), _) => Left::Child(Arc::clone(child)),
            (None, Some(question)) => Left::Question(Box::new(question.clone())),
            (None, None) => Left::Nothing,
        }
    }

    /// Whether a call may run that was asked about before this execution. Denials hold whatever was answered.
    pub(crate) async fn permit_again(
        &self,
        tool: &Tool,
        call: &ToolCall,
        question: &Question,
        turn: &Mutex<()>,
    ) -> Result<Permit, RunError> {
        let decided = match (self.verdict(tool, call), &question.answer) {
            (_, Some(answer)) if !answer.approved => {
                return Ok(refused(denied(tool.name().as_str(), answer.reason.as_deref())));
            }
            (Verdict::Decided(refusal @ Permit::Refused(_)), Some(_)) => return Ok(refusal),
            (_, Some(_)) => return Ok(Permit::Granted),
            (Verdict::Decided(permit), None) => permit,
            (Verdict::Ask(_), None) => {
                let _turn = turn.lock().await;
                if self.tree.cancellation.is_cancelled() {
                    return Ok(refused(CANCELLED));
                }
                match self.verdict(tool, call) {
                    Verdict::Decided(permit) => permit,
                    Verdict::Ask(_) => return self.wait_for(&question.request(&self.key), None).await,
                }
            }
        };
        // Something else than an answer has decided it.
        let approved = matches!(decided, Permit::Granted);
        let answered = PermissionAnswered {
            permission_id: question.asked.permission_id,
            function_name: Arc::clone(&question.asked.function_name),
            approved,
            choice: PermissionChoice::Ask,
            outcome: if approved { PermissionOutcome::Approved } else { PermissionOutcome::Denied },
            reason: None,
        };
        let mut state = self.lock().await;
        state.record(&self.source, Timestamp::now(), EventBody::PermissionResponse(Arc::new(answered)));
        self.flush(&mut state).await?;
        Ok(decided)
    }

    /// Lets a question wait in the journal.
    pub(crate) fn park(&self, request: PermissionRequest) -> RunError {
        let thread = self.path().into_iter().next().unwrap_or_else(|| self.key.clone());
        RunError::AwaitingPermission { thread, request: Box::new(request) }
    }

    /// Goes on with a child that waited, and records the result of `call` when it has ended.
    pub(crate) async fn resume_child(
        self: &Arc<Self>,
        tool: &SubAgentTool,
        call: &ToolCall,
        invocation: Arc<SubAgentInvocation>,
    ) -> Result<(), RunError> {
        let store = &*self.agent.store;
        let thread = match load(store, &invocation.child()).await {
            Ok(thread) => thread,
            // Somebody has deleted its session.
            Err(error @ SessionError::NotFound { .. }) => {
                return self
                    .record_child_end(call, invocation, None, Ended::without_execution(Err(error.into())))
                    .await;
            }
            Err(error) => return Err(error.into()),
        };
        if thread.suspended.is_none() {
            // It went on in its own conversation.
            let agent = self.source.agent.agent_name.to_string();
            let answer = thread.last_text.ok_or(RunError::NoAnswer { agent });
            return self.record_child_end(call, invocation, None, Ended::without_execution(answer)).await;
        }
        let before = thread.last_agent.as_ref().map(|(_, settings)| Arc::clone(&settings.denials));
        let at = self.resolve(tool, &invocation.child()).await.map_err(|source| RunError::Agent { source })?;
        let mut child = self.child_lane((tool, at), &invocation, thread, false)?;
        if let Some(before) = before.filter(|before| !before.is_open()) {
            child.denials = Arc::new((*before).clone().and((*child.denials).clone()));
        }
        if invocation.context_policy == ResolvedContext::Isolated {
            let memory = Arc::new(SessionMemory::default());
            load_memory(store, &child.key, &memory).await?;
            child.memory = memory;
        }
        let child = Arc::new(child);
        {
            let mut state = child.lock().await;
            child.record_execution(&mut state, Timestamp::now())?;
            child.began();
            if let Err(error) = child.flush(&mut state).await {
                child.ended();
                return Err(error);
            }
        }
        // What the call said is still what it says.
        let asked = SubAgentCall::parse(&call.arguments, tool.context, tool.mode);
        let requested = asked.map(|asked| asked.requested).unwrap_or_default();
        let begun = Begun { child: Arc::clone(&child), requested };
        let _living = self.ledger.as_ref().map(Ledger::resume_child);
        self.await_child(child.drive_nested(None), call, invocation, begun).await
    }
}
