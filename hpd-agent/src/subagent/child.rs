use std::{fmt::Write as _, sync::Arc};

use serde_json::{Map, Value};

use crate::{
    declare::SubAgentAvailability,
    event::{
        ForkPoint, InvocationMode, ResolvedContext, SubAgentInvocation, SubAgentOrigin, ThreadHeader, ThreadKind,
        Visibility,
    },
    id::{AgentId, CallId, InvocationId, SessionId, ThreadId, ThreadKey, Timestamp, ToolName},
};

/// What a tool says about all its children.
#[derive(Debug)]
pub(crate) struct ChildIdentity {
    pub(crate) name: ToolName,
    pub(crate) agent_id: AgentId,
    pub(crate) source_kind: &'static str,
    pub(crate) metadata: Arc<Map<String, Value>>,
    /// `subagent/<name>/`: how the ids of threads and sessions begin.
    prefix: Box<str>,
}

impl ChildIdentity {
    pub(crate) fn new(
        name: ToolName,
        agent_id: AgentId,
        source_kind: &'static str,
        metadata: Map<String, Value>,
    ) -> Self {
        let prefix = format!("subagent/{}/", crate::id::slug(name.as_str())).into();
        Self { name, agent_id, source_kind, metadata: Arc::new(metadata), prefix }
    }

    /// A delegation to a new child of `parent`.
    pub(crate) fn invocation(
        &self,
        call: CallId,
        parent: &ThreadKey,
        context: ResolvedContext,
        mode: InvocationMode,
    ) -> SubAgentInvocation {
        let invocation_id = InvocationId::generate();
        let mut id = String::with_capacity(self.prefix.len() + 12);
        id.push_str(&self.prefix);
        // Writing to a string cannot fail. The first 12 of 32 digits.
        let _ = write!(id, "{:012x}", invocation_id.as_u128() >> 80);
        let child_session_id = match context {
            ResolvedContext::Isolated => SessionId::trusted(&*id),
            ResolvedContext::Fork | ResolvedContext::Fresh => parent.session_id.clone(),
        };
        SubAgentInvocation {
            invocation_id,
            parent_tool_call_id: call,
            child_agent_id: self.agent_id.clone(),
            child_session_id,
            child_thread_id: ThreadId::trusted(id),
            role_name: self.name.clone(),
            context_policy: context,
            mode,
        }
    }

    /// The header of the child's thread: hidden, with the metadata that links it to its parent.
    pub(crate) fn header(
        &self,
        invocation: &SubAgentInvocation,
        parent: &ThreadKey,
        forked_from: Option<ForkPoint>,
        created_at: Timestamp,
    ) -> ThreadHeader {
        ThreadHeader {
            key: invocation.child(),
            created_at,
            default_agent_id: self.agent_id.clone(),
            thread_kind: ThreadKind::SubAgent,
            visibility: Visibility::Hidden,
            origin: Some(SubAgentOrigin {
                parent_session_id: parent.session_id.clone(),
                parent_thread_id: parent.thread_id.clone(),
                parent_tool_call_id: invocation.parent_tool_call_id,
                invocation_id: invocation.invocation_id,
                sub_agent_name: self.name.clone(),
                sub_agent_source_kind: self.source_kind.into(),
                context_policy: invocation.context_policy,
            }),
            forked_from,
            thread_metadata: Arc::clone(&self.metadata),
        }
    }
}

/// Why an agent at `depth` may not call the tool, if so. `ceiling` is the depth of the deepest child in the tree.
pub(crate) fn availability_error(
    tool: &str,
    availability: SubAgentAvailability,
    depth: u32,
    ceiling: u32,
) -> Option<String> {
    if !availability.allows_invocation_from(depth) {
        return Some(match availability.deepest_child() {
            Some(deepest) => format!(
                "The subagent `{tool}` may only create children through depth {deepest}; this agent is at depth \
                 {depth}. Do the task yourself."
            ),
            None => format!("The subagent `{tool}` is not available from agent depth {depth}. Do the task yourself."),
        });
    }
    (depth >= ceiling).then(|| {
        format!(
            "The subagent `{tool}` would exceed MaxSubAgentDepth ({ceiling}); this agent is at depth {depth}. Do the \
             task yourself."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ceiling_holds_whatever_the_availability_says() {
        let any = SubAgentAvailability::ANY_ALLOWED_DEPTH;
        assert!(availability_error("t", any, 3, 4).is_none());
        assert!(availability_error("t", any, 4, 4).unwrap().contains("MaxSubAgentDepth (4)"));
        assert!(availability_error("t", any, 0, 0).is_some());
        let two = SubAgentAvailability::through_depth(2);
        assert!(availability_error("t", two, 1, 4).is_none());
        assert!(availability_error("t", two, 2, 4).unwrap().contains("through depth 2"));
    }

    #[test]
    fn an_isolated_child_has_a_session_of_its_own() {
        let identity = ChildIdentity::new(
            ToolName::new("Code_Reviewer").unwrap(),
            AgentId::new("r").unwrap(),
            "SuppliedAgentConfiguration",
            Map::new(),
        );
        let parent = ThreadKey::new("s", "main").unwrap();
        let call = CallId::new(crate::id::MessageId::generate(), 0);
        for (context, own_session) in
            [(ResolvedContext::Fork, false), (ResolvedContext::Fresh, false), (ResolvedContext::Isolated, true)]
        {
            let invocation = identity.invocation(call, &parent, context, InvocationMode::Synchronous);
            assert_eq!(invocation.child_session_id != parent.session_id, own_session);
            let id = invocation.child_thread_id.as_str();
            let hex = id.strip_prefix("subagent/code-reviewer/").unwrap();
            assert!(invocation.invocation_id.to_string().starts_with(hex) && hex.len() == 12, "{id}");
        }
    }
}
