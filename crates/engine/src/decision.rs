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
    /// When time alone could next change the decision, if ever: always later than the instant it
    /// was made for, never later than the true next change, and not needlessly early. It holds when
    /// there is nothing to do; when there is, the outcomes decide (see [`crate::turn`]).
    pub wake_at: Option<Timestamp>,
    /// The memory if no action is required; otherwise the outcomes settle it.
    pub memory: Memory,
    /// The records of the decision alone, independent of the outcomes.
    pub recorded: Vec<Recorded>,
}
