//! How many steps an evaluation may still take.

use std::cell::Cell;

use crate::failure::Failure;

/// How many steps the evaluation of one expression over one object takes at most. A step is an operation, an item of
/// a list that is gone through, or some letters of a text: far more than anybody needs who selects a cluster, and
/// some milliseconds.
pub const MOST_STEPS: usize = 100_000;

/// Counts down.
pub(crate) struct Meter {
    left: Cell<usize>,
}

impl Meter {
    pub(crate) fn new() -> Meter {
        Meter { left: Cell::new(MOST_STEPS) }
    }

    /// Takes so many steps, unless there are too few left.
    pub(crate) fn spend(&self, steps: usize) -> Result<(), Failure> {
        let left = self.left.get().checked_sub(steps).ok_or(Failure::TooManySteps)?;
        self.left.set(left);
        Ok(())
    }

    /// The steps to go through a text.
    pub(crate) fn spend_on(&self, text: &str) -> Result<(), Failure> {
        self.spend(text.len() / 16)
    }
}
