//! How often policies of a family are decided in a row because of each other.

use jiff::SignedDuration;

/// Policies can influence each other without end, so a policy is decided at once a limited number of times.
#[derive(Clone, Copy, Debug)]
pub struct InfluenceLimit {
    /// How many writes in a row follow others at once.
    pub at_once: u32,
    /// A row of writes ends after a longer pause.
    pub longest_pause: SignedDuration,
    /// How long after its last write a policy is decided that has reached the limit; `None` for at its own next turn.
    pub interval: Option<SignedDuration>,
}

impl InfluenceLimit {
    /// A few times at one instant.
    pub const DEFAULT: Self =
        Self { at_once: 4, longest_pause: SignedDuration::ZERO, interval: None };
}
