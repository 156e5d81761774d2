//! Where journals and definitions are kept.
//!
//! A [`SessionStore`] keeps threads, each an append-only log of events. Everything else that the runtime knows about a
//! conversation is a fold over these logs. An [`AgentStore`] keeps the definitions of agents. Both are traits; the
//! [`memory`] module implements them for one process.

mod agent;
pub mod memory;
mod session;

pub use self::{
    agent::{AgentQuery, AgentRecord, AgentStore, AgentStoreError, ExpectedVersion},
    session::{
        Append, Batch, CommitError, Committed, Expected, Fence, LeaseError, OutboxCursor, OutboxEntry, OutboxQuery,
        Position, Record, SessionStore, StoreError, ThreadQuery, ThreadRecord,
    },
};
