//! A checked `MetricsProducer` with a schedule.
//!
//! Reading and checking are up to `almanac-api`; which behavior wins at an instant is up to the decision.

use almanac_calendar::{Windows, Zone};

/// A schedule that publishes a number: behaviors, and the value that applies when none is open.
#[derive(Clone, Debug)]
pub struct ScheduledCapacity {
    /// The time zone of every behavior.
    pub zone: Zone,
    /// The value when no behavior is open. At most `i32::MAX`, as everywhere in the API.
    pub default_value: u32,
    /// In the order of the spec. May be empty: then the default always applies.
    pub behaviors: Box<[Behavior]>,
}

/// One behavior: a value that applies while its windows are open.
#[derive(Clone, Debug)]
pub struct Behavior {
    /// The windows in which it is open.
    pub windows: Windows,
    /// The value while it is open. At most `i32::MAX`.
    pub value: u32,
    /// Higher wins; a behavior written without one has 0. Equal priorities: the earlier in the
    /// spec wins, so the position in [`ScheduledCapacity::behaviors`] is part of the meaning.
    pub priority: i32,
}
