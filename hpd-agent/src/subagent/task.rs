//! How the model of a forked child is told what its task is.
//!
//! Such a child sees its parent's conversation and then one user message, the input as the parent gave it. Neither its
//! journal nor its messages say more than that. What the roles cannot say is said behind the child's own instructions.

use std::sync::Arc;

const FORKED: &str = "# Your task\n\n\
    Another agent has delegated a task to you. The conversation begins with the one of that agent, which you are shown \
    for context: its answers are not yours, and what it was asked there is not for you to do. The task is the message \
    of the user that comes after it, in the words of that agent; in your first turn it is the last message of the \
    user. Do that task and answer it; do not go on with the conversation before it.";

/// The system prompt of an agent that works on the thread of a forked child.
pub(crate) fn forked_system(own: &str) -> Arc<str> {
    match own.is_empty() {
        true => FORKED.into(),
        false => [own, "\n\n", FORKED].concat().into(),
    }
}
