//! A checked `MetricsProducer` with a schedule.
//!
//! Reading and checking are up to `almanac-api`; which behaviour wins at an instant is up to the decision.

use almanac_calendar::{Windows, Zone};

/// A schedule that publishes a number: behaviours, and what holds when none is open.
#[derive(Clone, Debug)]
pub struct ScheduledCapacity {
    /// The zone every behaviour is read in.
    pub zone: Zone,
    /// The value when no behaviour is open. At most `i32::MAX`, as everywhere in the API.
    pub default_value: u32,
    /// In the order of the spec. May be empty: then the default always holds.
    pub behaviours: Box<[Behaviour]>,
}

/// One behaviour: a value that holds while its windows are open.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// When it is open.
    pub windows: Windows,
    /// What it says while it is open. At most `i32::MAX`.
    pub value: u32,
    /// Higher wins; a behaviour written without one has 0. Equal priorities: the earlier in the
    /// spec wins, so the position in [`ScheduledCapacity::behaviours`] is part of the meaning.
    pub priority: i32,
}
