//! Events: what happens while agents run.

mod scope;

pub use self::scope::AgentScope;
