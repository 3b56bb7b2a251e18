//! The start of a run of policies, for one family.

use jiff::{SignedDuration, Timestamp};

use crate::{Field, Identity, PolicyName, Value};

/// The start of connected policies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beginning {
    /// The first instant of the run.
    pub from: Timestamp,
    /// The instant of the world's current state; `None` when its past is replayed instead.
    pub state_at: Option<Timestamp>,
    /// Whether the past is replayed because the known state is later.
    pub is_behind: bool,
}

/// The start of a run.
#[derive(Clone, Debug)]
pub struct RunStart<R> {
    /// The first turn of each policy. If a turn is before the requested start, the run starts at that turn.
    pub first_turns: Vec<(PolicyName, Timestamp)>,
    /// The policies that start with the values that others have set before the first instant, see [`crate::arrive`].
    pub arriving: Vec<PolicyName>,
    /// The last known writer of each field before the first turn.
    pub prior_writes: Vec<PriorWrite<R>>,
    /// Whether the past was replayed, with the reason.
    pub replayed: Replayed,
}

/// The last write of a field before the first turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PriorWrite<R> {
    /// The object.
    pub target: Identity,
    /// The field.
    pub field: Field,
    /// The written value. A different field manager may have changed it since.
    pub value: Value,
    /// The policy that set it.
    pub policy: PolicyName,
    /// The reason for the write.
    pub reason: R,
    /// The instant of the cause, such as a firing; `None` if it is too long ago to be known.
    pub since: Option<Timestamp>,
    /// The instant of the write: after `since`, if a firing was late.
    pub applied: Option<Timestamp>,
}

/// Whether the past was replayed, with the reason.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Replayed {
    /// Some policies with an unknown past were assumed to have been in force before.
    pub as_if_in_force: bool,
    /// Some policies are known only in a state later than the start.
    pub predates_state: bool,
}

impl Beginning {
    /// The instant just before the start of the run, so that a change at the start counts as a change.
    pub(crate) fn moment_before(self) -> Timestamp {
        self.from.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MIN)
    }
}

// A derived implementation would require `Default` of the reason.
impl<R> Default for RunStart<R> {
    fn default() -> Self {
        let (first_turns, arriving, prior_writes) = (Vec::new(), Vec::new(), Vec::new());
        Self { first_turns, arriving, prior_writes, replayed: Replayed::default() }
    }
}

impl<R> PriorWrite<R> {
    /// Converts the reason into other terms.
    pub(crate) fn because<S>(self, reason: impl FnOnce(R) -> S) -> PriorWrite<S> {
        let PriorWrite { target, field, value, policy, reason: why, since, applied } = self;
        PriorWrite { target, field, value, policy, reason: reason(why), since, applied }
    }
}
