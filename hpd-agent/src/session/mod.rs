//! Sessions and threads: the incremental fold of a journal, forks, and reading a thread from a store.

mod load;
mod state;

pub(crate) use self::{
    load::load,
    state::{OpenStep, Phase, ThreadState},
};
pub use self::load::SessionError;
