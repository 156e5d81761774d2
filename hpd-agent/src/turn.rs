//! The turn as a pure state machine: it looks at the fold of a thread and says what must happen next. No I/O, no
//! clock, no randomness; a restart is the same code.

use crate::{
    message::StopReason,
    session::{Phase, ThreadState},
};

/// What must happen next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Ask the model.
    CallModel,
    /// Answer the open calls.
    RunTools,
    /// The turn has ended.
    Finish(Finish),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The model has answered.
    Answered(StopReason),
    /// The model has called tools until the limit.
    IterationLimit(u32),
    /// There was nothing to do.
    Nothing,
}

/// Says what must happen next on a thread whose turn may take `max_iterations` model calls.
pub(crate) fn next(state: &ThreadState, max_iterations: u32) -> Step {
    match &state.phase {
        Phase::Idle => Step::Finish(Finish::Nothing),
        Phase::AwaitingTools => Step::RunTools,
        Phase::Answered(stop) => Step::Finish(Finish::Answered(stop.clone())),
        Phase::AwaitingModel if state.iteration >= max_iterations => {
            Step::Finish(Finish::IterationLimit(max_iterations))
        }
        Phase::AwaitingModel => Step::CallModel,
    }
}
