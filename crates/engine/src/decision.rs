//! The result of a decision, in every family.

use jiff::Timestamp;

use crate::{Action, Reason};

/// What a policy wants at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<Cause, Memory, Recorded> {
    /// What is to be done. Nothing is listed that is so already.
    pub actions: Vec<Action>,
    /// Why: what won.
    pub reasons: Vec<Reason<Cause>>,
    /// When time alone could next change the decision, if ever: always later than the instant it
    /// was made for, never later than the true next change, and not needlessly early. It holds when
    /// there is nothing to do; when there is, the outcomes decide (see [`crate::turn`]).
    pub wake_at: Option<Timestamp>,
    /// What is remembered if nothing has to be done; otherwise the outcomes settle it.
    pub memory: Memory,
    /// What has happened by deciding alone, whatever becomes of the actions.
    pub recorded: Vec<Recorded>,
}
