//! A checked `MetricsProducer` with a schedule.
//!
//! `almanac-api` reads and checks it; the decision determines the winner at an instant.

use almanac_calendar::{Windows, Zone};

/// A schedule that publishes a number: behaviors, and the value without an open behavior.
#[derive(Clone, Debug)]
pub struct ScheduledCapacity {
    /// The time zone of every behavior.
    pub zone: Zone,
    /// The value without an open behavior. At most `i32::MAX`, as everywhere in the API.
    pub default_value: u32,
    /// The behaviors in the order of the spec. Without behaviors, the default always applies.
    pub behaviors: Box<[Behavior]>,
}

/// One behavior: a value that applies while its windows are open.
#[derive(Clone, Debug)]
pub struct Behavior {
    /// The windows of the behavior.
    pub windows: Windows,
    /// The value while a window is open. At most `i32::MAX`.
    pub value: u32,
    /// The priority; the default is 0. The highest priority wins. Of equal priorities, the first behavior in the spec
    /// wins, so the position in [`ScheduledCapacity::behaviors`] affects the result.
    pub priority: i32,
}
