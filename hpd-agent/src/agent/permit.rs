//! Permission for one call: policy, remembered choices, and asking whoever can be asked.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use futures_util::FutureExt as _;
use tokio::sync::Mutex;

use super::{
    RunError,
    answer::{Resolution, policy_failed, policy_panicked},
    blueprint::{Tool, ToolKind},
    lane::Lane,
    model::elapsed,
    park::Left,
    tools::CANCELLED,
};
use crate::{
    declare::{ApprovalPolicy, PermissionOverride},
    event::{EventBody, PermissionChoice, PermissionOutcome, PermissionRequested},
    id::{RequestId, Timestamp},
    message::{ToolCall, ToolOutput},
    permission::{Answer, PermissionRequest, Ruling, ToolCallView},
};

/// What a question for permission came to.
pub(crate) enum Permit {
    Granted,
    /// What the model is told.
    Refused(ToolOutput),
}

pub(crate) fn refused(text: impl Into<Arc<str>>) -> Permit {
    Permit::Refused(ToolOutput::error(text))
}

/// What is known of a call before anybody is asked.
pub(crate) enum Verdict {
    Decided(Permit),
    /// Somebody has to be asked. An answer for good holds for this key; `None`: for the tool.
    Ask(Option<Arc<str>>),
}

impl Lane {
    /// Whether a call may run. `turn` lets the questions of one message be asked one after the other.
    pub(crate) async fn permit(
        &self,
        tool: &Tool,
        call: &ToolCall,
        left: Left,
        turn: &Mutex<()>,
    ) -> Result<Permit, RunError> {
        if let Left::Question(question) = left {
            return Box::pin(self.permit_again(tool, call, &question, turn)).await;
        }
        if let Verdict::Decided(permit) = self.verdict(tool, call) {
            return Ok(permit);
        }
        let _turn = turn.lock().await;
        if self.tree.cancellation.is_cancelled() {
            return Ok(refused(CANCELLED));
        }
        // The answer to the question before this one may have decided it.
        match self.verdict(tool, call) {
            Verdict::Decided(permit) => Ok(permit),
            // Rare and large: it shall not make every waiting child larger.
            Verdict::Ask(key) => Box::pin(self.ask(tool, call, key)).await,
        }
    }

    /// What the policy and earlier answers say. Whoever denies wins.
    pub(crate) fn verdict(&self, tool: &Tool, call: &ToolCall) -> Verdict {
        let name = tool.name().as_str();
        let state = self.memory.state();
        let view = ToolCallView {
            tool: name,
            description: tool.spec.description(),
            arguments: &call.arguments,
            call_type: tool.call_type(),
            requires_permission: self.requires_permission(tool),
            sub_agent: match &tool.kind {
                ToolKind::Function(_) => None,
                ToolKind::SubAgent(sub_agent) => Some(sub_agent.view()),
            },
            agent: &self.source.agent,
            state: &state,
        };
        let policy = self.agent.permissions.policy();
        let (ruling, key) = match catch_unwind(AssertUnwindSafe(|| (policy.rule(&view), policy.key(&view)))) {
            Ok(said) => said,
            Err(panic) => {
                policy_panicked(name, &self.source.agent.agent_name, &*panic);
                let text =
                    format!("Permission to use `{name}` was denied: whoever decides about it failed. Do without it.");
                return Verdict::Decided(refused(text));
            }
        };
        if self.is_denied_above(name, &key) {
            let what = described(name, &key);
            return Verdict::Decided(refused(format!("{what} was denied to an agent above this one. Do without it.")));
        }
        match (ruling, self.memory.choice(name, &key)) {
            (Ruling::Deny { reason }, _) => Verdict::Decided(refused(reason)),
            // What was denied for good stays denied, whatever the rule says about this call or this agent.
            (_, PermissionChoice::DenyAlways) => {
                let what = described(name, &key);
                Verdict::Decided(refused(format!("{what} is denied for the rest of this session. Do without it.")))
            }
            (Ruling::Allow, _) | (_, PermissionChoice::AllowAlways) => Verdict::Decided(Permit::Granted),
            (Ruling::Ask, PermissionChoice::Ask) if self.approves_all() => Verdict::Decided(Permit::Granted),
            (Ruling::Ask, PermissionChoice::Ask) => Verdict::Ask((key != name).then(|| Arc::from(key))),
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

    /// Whether an agent above this one has been denied such calls for good, perhaps while this one was running.
    fn is_denied_above(&self, tool: &str, key: &str) -> bool {
        let parents = std::iter::successors(self.parent.as_deref(), |lane| lane.parent.as_deref());
        let running = parents.map(|lane| &lane.memory).filter(|memory| !Arc::ptr_eq(memory, &self.memory));
        let mut above = running.chain(self.tree.above.get().into_iter().flatten());
        above.any(|memory| memory.choice(tool, key) == PermissionChoice::DenyAlways)
    }

    async fn ask(&self, tool: &Tool, call: &ToolCall, key: Option<Arc<str>>) -> Result<Permit, RunError> {
        let now = Timestamp::now();
        let question = Arc::new(PermissionRequested {
            permission_id: RequestId::generate(),
            call_id: call.id,
            function_name: Arc::clone(&call.name),
            description: tool.spec.description().into(),
            arguments: Arc::clone(&call.arguments),
            call_type: tool.call_type(),
            key,
        });
        let agent = Arc::clone(&self.source.agent);
        let request = PermissionRequest::new(Arc::clone(&question), agent, self.key.clone(), now);
        self.wait_for(&request, Some(EventBody::PermissionRequest(question))).await
    }

    /// Asks whoever can answer, and waits. `record`: a question that is not in the journal yet.
    pub(crate) async fn wait_for(
        &self,
        request: &PermissionRequest,
        record: Option<EventBody>,
    ) -> Result<Permit, RunError> {
        let (broker, permissions) = (&self.tree.broker, &self.agent.permissions);
        // Whoever sees the event can answer at once.
        let mut by_subscriber = broker.open(request, self.path());
        if let Some(record) = record {
            let mut state = self.lock().await;
            state.record(&self.source, request.created_at(), record);
            if let Err(error) = self.flush(&mut state).await {
                broker.close(request, PermissionOutcome::Cancelled);
                return Err(error);
            }
        }
        broker.announce(request);
        let asked = async {
            tokio::select! {
                biased;
                answer = &mut by_subscriber => answer.map_or(Answer::Cancelled, Answer::Decided),
                answer = self.somebody(request.clone()) => answer,
            }
        };
        // Not only a policy panics: so does a timer in a runtime without time.
        let asked = AssertUnwindSafe(async { tokio::time::timeout(permissions.timeout(), asked).await });
        let answer = tokio::select! {
            biased;
            () = self.tree.cancellation.wait() => Answer::Cancelled,
            // The run ends with the next step, and with it the question.
            _ = elapsed(self.time_is_over()) => Answer::Cancelled,
            answer = asked.catch_unwind() => match answer {
                Ok(answer) => answer.unwrap_or(Answer::TimedOut),
                Err(panic) => {
                    policy_panicked(request.tool(), &self.source.agent.agent_name, &*panic);
                    Answer::Decided(policy_failed())
                }
            },
        };
        if !matches!(answer, Answer::NobodyToAsk | Answer::TimedOut) {
            return self.answered(request, answer).await;
        }
        broker.withdraw(request.id());
        match by_subscriber.try_recv() {
            // Somebody was told at the last moment that the answer counts.
            Ok(decision) => self.answered(request, Answer::Decided(decision)).await,
            Err(_) if permissions.is_durable() => Err(self.park(request.clone())),
            Err(_) => self.answered(request, answer).await,
        }
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

    async fn answered(&self, request: &PermissionRequest, answer: Answer) -> Result<Permit, RunError> {
        // From what the policy knows until it is committed what it learns, nobody else teaches it.
        let learning = self.memory.learning().await;
        let Resolution { answered, text, remembered } =
            Resolution::new(self.agent.permissions.policy(), &self.memory, request, answer);
        self.tree.broker.close(request, answered.outcome);
        let approved = answered.approved;
        let mut state = self.lock().await;
        state.record(&self.source, Timestamp::now(), EventBody::PermissionResponse(Arc::new(answered)));
        self.remember(&mut state, remembered).await?;
        drop(state);
        drop(learning);
        Ok(if approved { Permit::Granted } else { refused(text) })
    }
}

/// The calls that share an answer for good, for the model.
fn described(tool: &str, key: &str) -> String {
    if tool == key { format!("The tool `{tool}`") } else { format!("This use of the tool `{tool}` (`{key}`)") }
}
