//! The remaining steps of an evaluation, and the remaining size of compiled expressions.

use std::cell::Cell;

use crate::failure::Failure;
use crate::source::{CompileError, MAX_BYTES};

/// The maximum number of expressions of a placement.
pub const MAX_EXPRESSIONS: usize = 100;
/// The maximum total bytes of the expressions of a placement.
pub const MAX_TOTAL_BYTES: usize = 64 * 1024;

/// The maximum number of steps for the evaluation of all expressions of one placement over one object. A step is an
/// operation, an iterated item of a list, or some characters of a string. This is far more than the selection of
/// a cluster needs, and takes some milliseconds.
pub const MAX_STEPS: usize = 100_000;

/// The maximum number of steps to compile the literal patterns in the expressions of one placement. That
/// work is done once, and not for each object.
pub(crate) const MAX_PATTERN_STEPS: usize = 400_000;

/// The steps of a failure that does not affect the result, because another part decides it. Its message is created
/// anyway.
const STEPS_OF_FAILURE: usize = 8;

/// The remaining steps of the expressions that are evaluated with the meter. All expressions of a placement over one
/// object share a meter, so that many expressions take no longer than one.
#[derive(Debug)]
pub struct Meter {
    /// The remaining steps plus one; 0 after a failed attempt to spend steps.
    left: Cell<usize>,
}

impl Meter {
    /// A meter with all steps.
    #[must_use]
    pub fn new() -> Meter {
        Meter::with(MAX_STEPS)
    }

    /// A meter with this number of steps, at most the maximum for one object.
    #[must_use]
    pub fn with(steps: usize) -> Meter {
        Meter::from_steps(steps.min(MAX_STEPS))
    }

    fn from_steps(steps: usize) -> Meter {
        Meter { left: Cell::new(steps.saturating_add(1)) }
    }

    /// The remaining steps.
    #[must_use]
    pub fn remaining_steps(&self) -> usize {
        self.left.get().saturating_sub(1)
    }

    /// Spends this number of steps. If fewer remain, this call and every later call fail.
    pub(crate) fn spend(&self, steps: usize) -> Result<(), Failure> {
        let remaining = self.left.get().saturating_sub(steps);
        self.left.set(remaining);
        if remaining == 0 { Err(Failure::TooManySteps) } else { Ok(()) }
    }

    /// Spends the steps to read a string.
    pub(crate) fn spend_on(&self, text: &str) -> Result<(), Failure> {
        self.spend(text.len() / 16)
    }

    /// Spends the steps of an ignored failure. Fails if the failure is that no steps remain.
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
    /// The steps for each object.
    pub(crate) steps: usize,
    /// The remaining steps to compute constants.
    pub(crate) constants: Meter,
    /// The remaining steps to compile literal patterns.
    pub(crate) patterns: Meter,
}

impl Allowance {
    /// The allowance of a placement.
    #[must_use]
    pub fn new() -> Allowance {
        let (expressions, bytes) = (MAX_EXPRESSIONS, MAX_TOTAL_BYTES);
        let (constants, patterns) = (Meter::new(), Meter::from_steps(MAX_PATTERN_STEPS));
        Allowance { expressions, bytes, steps: 0, constants, patterns }
    }

    /// Adds an expression to the allowance.
    pub(crate) fn take(&mut self, text: &str) -> Result<(), CompileError> {
        let Some(expressions) = self.expressions.checked_sub(1) else {
            let message = format!("a placement has at most {MAX_EXPRESSIONS} expressions");
            return Err(CompileError::new(message).too_much());
        };
        // A source that is too long for one expression is rejected for that reason, so it counts only up to the limit.
        let Some(bytes) = self.bytes.checked_sub(text.len().min(MAX_BYTES)) else {
            let message = format!(
                "the expressions of a placement have at most {MAX_TOTAL_BYTES} bytes in all"
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
