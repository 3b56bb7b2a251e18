//! The result of a decision, in every family.

use jiff::Timestamp;

use crate::{Action, Reason};

/// The decision of a policy at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<Cause, Memory, Recorded> {
    /// The actions. A value that is already set requires no action.
    pub actions: Vec<Action>,
    /// The reasons: normally only the winner.
    pub reasons: Vec<Reason<Cause>>,
    /// The next instant at which time alone could change the decision: always later than the instant of the decision,
    /// never later than the true next change, and not needlessly early. `None` if time alone changes nothing. The
    /// instant applies if no action is required. Otherwise the outcomes determine the next turn (see [`crate::turn`]).
    pub wake_at: Option<Timestamp>,
    /// The policy state if no action is required. Otherwise the outcomes determine it.
    pub memory: Memory,
    /// The records of the decision alone, independent of the outcomes.
    pub recorded: Vec<Recorded>,
}
