//! The events of a rule, as words that are the same in forecasts, Events and metrics.

/// An event of a rule, as a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Occurrence {
    /// A cron rule fires.
    Fires,
    /// A cron rule fires and is superseded.
    Superseded,
    /// A cron rule fired too long ago to be applied.
    Missed,
    /// A behavior or a QoS policy starts to apply.
    Opens,
    /// A behavior or a QoS policy ceases to apply, and no other opens in its place.
    Closes,
    /// An autoscaler sets a different number of replicas.
    Scales,
    /// A placement selects different clusters.
    Selects,
    /// A unit of nodes is full, and pods go to later nodes or are pending.
    Overflows,
    /// Pods no longer go to later nodes because a unit of nodes is full.
    Suffices,
}

impl Occurrence {
    /// The verb for the event.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Occurrence::Fires => "fires",
            Occurrence::Superseded => "superseded",
            Occurrence::Missed => "missed",
            Occurrence::Opens => "opens",
            Occurrence::Closes => "closes",
            Occurrence::Scales => "scales",
            Occurrence::Selects => "selects",
            Occurrence::Overflows => "overflows",
            Occurrence::Suffices => "suffices",
        }
    }
}
