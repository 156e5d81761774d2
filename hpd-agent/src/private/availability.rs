//! What is in scope in `availability = …`, beside what the user has there.

use crate::declare::SubAgentAvailability;

pub const ROOT_ONLY: SubAgentAvailability = SubAgentAvailability::ROOT_ONLY;
pub const ANY_ALLOWED_DEPTH: SubAgentAvailability = SubAgentAvailability::ANY_ALLOWED_DEPTH;

/// See [`SubAgentAvailability::through_depth`].
#[must_use]
pub const fn through_depth(depth: u32) -> SubAgentAvailability {
    SubAgentAvailability::through_depth(depth)
}
