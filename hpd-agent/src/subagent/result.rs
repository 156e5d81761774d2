use std::sync::Arc;

use crate::{
    event::SubAgentInvocation,
    message::{DelegationReceipt, ResultMetadata, StopReason, SubAgentResult, SubAgentStatus, ToolOutput},
};

/// What the parent is told of a child that answered: its text.
pub(crate) fn completed(
    invocation: &SubAgentInvocation,
    receipt: Option<DelegationReceipt>,
    text: Arc<str>,
    stop: &StopReason,
) -> (ToolOutput, ResultMetadata) {
    let receipt = receipt.map(|receipt| DelegationReceipt { stop_reason: Some(stop.clone()), ..receipt });
    let mut metadata = metadata(invocation, receipt, SubAgentStatus::Completed, None);
    if *stop != StopReason::EndTurn
        && let Ok(reason) = serde_json::to_value(stop)
    {
        // A cut answer is an answer, but nobody should have to guess that it was cut.
        metadata.extra.insert("stopReason".to_owned(), reason);
    }
    (ToolOutput::new(text), metadata)
}

/// What the parent is told of a child that failed: why, and what it had said before.
pub(crate) fn failed(
    invocation: &SubAgentInvocation,
    receipt: Option<DelegationReceipt>,
    code: &'static str,
    error: &str,
    last_text: Option<&str>,
) -> (ToolOutput, ResultMetadata) {
    let mut text = format!("The subagent `{}` failed: {error}", invocation.role_name);
    if !text.ends_with('.') {
        text.push('.');
    }
    if let Some(last) = last_text {
        text.push_str("\nWhat it had said before:\n");
        text.push_str(last);
    }
    (ToolOutput::error(text), metadata(invocation, receipt, SubAgentStatus::Failed, Some(code)))
}

fn metadata(
    invocation: &SubAgentInvocation,
    receipt: Option<DelegationReceipt>,
    status: SubAgentStatus,
    code: Option<&'static str>,
) -> ResultMetadata {
    ResultMetadata {
        sub_agent: Some(Box::new(SubAgentResult {
            status,
            thread: invocation.child(),
            name: invocation.role_name.clone(),
            invocation_id: invocation.invocation_id,
            error_type: code.map(Into::into),
            receipt: receipt.map(Arc::new),
        })),
        extra: serde_json::Map::new(),
    }
}
