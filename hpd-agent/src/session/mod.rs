//! Sessions and threads: the incremental fold of a journal, forks, reading a thread from a store, and the graph of a
//! session's threads.

mod graph;
mod load;
mod state;
mod survey;

pub use self::{
    graph::{ChildStatus, ForkGroup, RuntimeChild, ThreadGraph, ThreadSummary},
    load::SessionError,
};
pub(crate) use self::{
    load::load,
    state::{Phase, Question, ThreadState},
    survey::{Runtime, survey},
};
