//! The result of a decision, in every family.

use jiff::Timestamp;

use crate::{Action, Reason};

/// The decision of a policy at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<Cause, Memory, Recorded> {
    /// The actions. Values that are already set need none.
    pub actions: Vec<Action>,
    /// The reasons: normally only the winner.
    pub reasons: Vec<Reason<Cause>>,
    /// The next instant at which time alone could change the decision, if any: always later than the instant of the
    /// decision, never later than the true next change, and not needlessly early. It applies if there are no actions.
    /// Otherwise the outcomes determine it (see [`crate::turn`]).
    pub wake_at: Option<Timestamp>,
    /// The memory if no action is required; otherwise the outcomes settle it.
    pub memory: Memory,
    /// The records of the decision alone, independent of the outcomes.
    pub recorded: Vec<Recorded>,
}
