//! Sessions and threads: the incremental fold of a journal, forks, and reading a thread from a store.

mod load;
mod state;

pub use self::load::SessionError;
pub(crate) use self::{
    load::load,
    state::{Phase, Question, ThreadState},
};
