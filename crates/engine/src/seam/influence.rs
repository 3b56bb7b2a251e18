//! The limit on consecutive decisions of policies that influence each other.

use jiff::SignedDuration;

/// Policies can influence each other without end, so the number of immediate decisions of a policy is limited.
#[derive(Clone, Copy, Debug)]
pub struct InfluenceLimit {
    /// The maximum number of consecutive writes that immediately follow other writes.
    pub at_once: u32,
    /// The maximum delay between consecutive writes. A longer delay ends the sequence.
    pub max_delay: SignedDuration,
    /// The delay after its last write until a policy at the limit decides again; `None` means at its own next turn.
    pub interval: Option<SignedDuration>,
}

impl InfluenceLimit {
    /// The default limit: a few writes at one instant.
    pub const DEFAULT: Self = Self { at_once: 4, max_delay: SignedDuration::ZERO, interval: None };
}
