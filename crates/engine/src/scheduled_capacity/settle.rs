//! What a schedule remembers: the number it publishes, which its status shows.

use jiff::Timestamp;

use crate::Outcome;

/// What a schedule publishes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Published {
    /// The number.
    pub value: u32,
    /// The behaviour it comes from, by its position; `None` for the default.
    pub winner: Option<u32>,
    /// The next different number, if it comes within [`super::LOOKS_AHEAD`].
    pub next: Option<Change>,
}

/// A number that will be published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// From when on.
    pub at: Timestamp,
    /// The number.
    pub value: u32,
}

/// What is remembered after the decided number was published, or was not.
///
/// It is all decided anew each time, so a failure only means that the old number still stands, and
/// that the next turn wants the same again. Time alone changes nothing about that, so when to try
/// again is up to whoever publishes.
#[must_use]
pub fn settle(
    before: Option<Published>,
    decided: Published,
    outcomes: &[Outcome],
) -> Option<Published> {
    if outcomes.iter().all(Outcome::is_as_wanted) { Some(decided) } else { before }
}
