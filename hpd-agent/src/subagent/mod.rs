//! Subagents: what a call of a subagent tool asks for, what its child is, and what the parent is told of it. Plain
//! functions; the driver performs what they say.

mod call;
mod child;
mod clients;
mod inherit;
mod result;
mod task;

pub(crate) use self::{
    call::SubAgentCall,
    child::{ChildIdentity, availability_error},
    clients::{Said, clients},
    inherit::{child_denials, child_run_config, inherited_options, inherits_chat},
    result::{completed, failed},
    task::forked_system,
};
