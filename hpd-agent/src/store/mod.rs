//! Where journals and definitions are kept.
//!
//! A [`SessionStore`] keeps threads, each an append-only log of events. Everything else that the runtime knows about a
//! conversation is a fold over these logs. An [`AgentStore`] keeps the definitions of agents. Both are traits; the
//! [`memory`] module implements them for one process.

mod agent;
mod error;
pub mod memory;
mod session;

pub use self::{
    agent::{AgentQuery, AgentRecord, AgentStore, AgentStoreError, ExpectedVersion},
    error::{CommitError, LeaseError, StoreError},
    session::{
        Append, Batch, Committed, Expected, Fence, OutboxCursor, OutboxEntry, OutboxQuery, Position, Record,
        SessionStore, ThreadQuery, ThreadRecord,
    },
};
