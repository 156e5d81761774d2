use std::sync::Arc;

use crate::{
    chat::{ChatOptions, ToolChoice},
    declare::{AgentConfig, AgentRunConfig, ClientFamily, ClientInheritance, SubAgentRunConfig, ToolFilter},
};

/// What a child's run is told: what it takes over of its parent's run, and over it what its declaration says. `None`:
/// nothing.
pub(crate) fn child_run_config(
    parent: Option<&AgentRunConfig>,
    declared: &SubAgentRunConfig,
) -> Option<Arc<AgentRunConfig>> {
    let inherited = parent.map(|run| run.of_groups(declared.groups())).unwrap_or_default();
    let run = inherited.overlaid_with(declared.overrides());
    (run != AgentRunConfig::default()).then(|| Arc::new(run))
}

/// What a child may not have whatever it declares: what holds for its parent, and what its parent's run denies.
/// `remembered`: what the parent was denied for good in a session that the child does not share.
pub(crate) fn child_denials(
    inherited: &Arc<ToolFilter>,
    parent: Option<&AgentRunConfig>,
    remembered: Vec<Arc<str>>,
) -> Arc<ToolFilter> {
    let of_run = parent.map(|run| run.tool_filter().denials()).filter(|denials| !denials.is_open());
    if of_run.is_none() && remembered.is_empty() {
        return Arc::clone(inherited);
    }
    let all = (**inherited).clone().and(of_run.unwrap_or_default()).and(ToolFilter::deny(remembered));
    Arc::new(all)
}

/// Whether a child has its parent's model and the options that hold for it.
pub(crate) fn inherits_chat(declared: &SubAgentRunConfig, child: &AgentConfig) -> bool {
    let says_something = child.chat().is_some() || *declared.overrides().chat() != ChatOptions::default();
    takes_over(declared.clients().of(ClientFamily::Chat), says_something)
}

/// Whether a child takes over what its parent has of a family of clients. `says_something`: the child's configuration or
/// its declaration says anything of the family.
pub(super) fn takes_over(how: ClientInheritance, says_something: bool) -> bool {
    match how {
        ClientInheritance::InheritResolved => true,
        ClientInheritance::UseOwn => false,
        ClientInheritance::FallbackToParent => !says_something,
    }
}

/// The options of a child that has its parent's: the child's are put over them.
pub(crate) fn inherited_options(parent: &ChatOptions, child: &Arc<ChatOptions>) -> Arc<ChatOptions> {
    if *parent == ChatOptions::default() {
        return Arc::clone(child);
    }
    // What the parent's own turn must do with tools says nothing about the child's.
    let inherited = ChatOptions { tool_choice: ToolChoice::Auto, ..parent.clone() };
    Arc::new(inherited.overlaid_with(child))
}
