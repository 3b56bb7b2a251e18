//! The remaining steps of an evaluation, and the remaining size of compiled expressions.

use std::cell::Cell;

use crate::failure::Failure;
use crate::source::{CompileError, MOST_BYTES};

/// The most expressions of a placement.
pub const MOST_EXPRESSIONS: usize = 100;
/// The most bytes of the expressions of a placement, all together.
pub const MOST_BYTES_IN_ALL: usize = 64 * 1024;

/// The maximum number of steps for the evaluation of all expressions of one placement over one object. A step is an
/// operation, an item of a list that is gone through, or some letters of a text. This is far more than the selection of
/// a cluster needs, and takes some milliseconds.
pub const MOST_STEPS: usize = 100_000;

/// The most steps to compile the patterns that are written in the expressions of one placement. That
/// is done once, and not for each object.
pub(crate) const MOST_STEPS_OF_PATTERNS: usize = 400_000;

/// The steps of a failure that does not affect the result, because another part decides it. Its message is made anyway.
const STEPS_OF_FAILURE: usize = 8;

/// The steps that are left to the expressions that are evaluated with it. All expressions of a placement over one
/// object share one, so that many of them take no longer than one.
#[derive(Debug)]
pub struct Meter {
    /// One more than are left; 0 once there were too few.
    left: Cell<usize>,
}

impl Meter {
    /// All steps are left.
    #[must_use]
    pub fn new() -> Meter {
        Meter::with(MOST_STEPS)
    }

    /// A meter with this number of steps, and never more than one object may take.
    #[must_use]
    pub fn with(steps: usize) -> Meter {
        Meter::from_steps(steps.min(MOST_STEPS))
    }

    fn from_steps(steps: usize) -> Meter {
        Meter { left: Cell::new(steps.saturating_add(1)) }
    }

    /// The remaining steps.
    #[must_use]
    pub fn remaining_steps(&self) -> usize {
        self.left.get().saturating_sub(1)
    }

    /// Spends this number of steps. If fewer are left, none is left after that, and every later call fails.
    pub(crate) fn spend(&self, steps: usize) -> Result<(), Failure> {
        let remaining = self.left.get().saturating_sub(steps);
        self.left.set(remaining);
        if remaining == 0 { Err(Failure::TooManySteps) } else { Ok(()) }
    }

    /// The steps to go through a text.
    pub(crate) fn spend_on(&self, text: &str) -> Result<(), Failure> {
        self.spend(text.len() / 16)
    }

    /// The steps of a failure that is passed over, unless it is that there are none.
    pub(crate) fn pass_over(&self, failure: Failure) -> Result<Failure, Failure> {
        match failure {
            Failure::TooManySteps => Err(Failure::TooManySteps),
            failure => self.spend(STEPS_OF_FAILURE).map(|()| failure),
        }
    }
}

impl Default for Meter {
    fn default() -> Meter {
        Meter::new()
    }
}

/// The allowance of the expressions of one placement when they are compiled: their number, their total length, and the
/// steps to compute their constants and to compile their patterns.
#[derive(Debug)]
pub struct Allowance {
    expressions: usize,
    bytes: usize,
    /// The steps that each object takes.
    pub(crate) steps: usize,
    /// For what is constant.
    pub(crate) constants: Meter,
    /// For the patterns that are written.
    pub(crate) patterns: Meter,
}

impl Allowance {
    /// The allowance of a placement.
    #[must_use]
    pub fn new() -> Allowance {
        let (expressions, bytes) = (MOST_EXPRESSIONS, MOST_BYTES_IN_ALL);
        let (constants, patterns) = (Meter::new(), Meter::from_steps(MOST_STEPS_OF_PATTERNS));
        Allowance { expressions, bytes, steps: 0, constants, patterns }
    }

    /// Takes one more expression.
    pub(crate) fn take(&mut self, text: &str) -> Result<(), CompileError> {
        let Some(expressions) = self.expressions.checked_sub(1) else {
            let message = format!("a placement has at most {MOST_EXPRESSIONS} expressions");
            return Err(CompileError::new(message).too_much());
        };
        // A text that is too long for one expression is refused for that reason, so it counts only up to the limit.
        let Some(bytes) = self.bytes.checked_sub(text.len().min(MOST_BYTES)) else {
            let message = format!(
                "the expressions of a placement have at most {MOST_BYTES_IN_ALL} bytes in all"
            );
            return Err(CompileError::new(message).too_much());
        };
        (self.expressions, self.bytes) = (expressions, bytes);
        Ok(())
    }
}

impl Default for Allowance {
    fn default() -> Allowance {
        Allowance::new()
    }
}
