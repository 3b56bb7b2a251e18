//! A list of what does not hold, each in a sentence with the check that found it.

use std::fmt;
use std::panic::Location;

/// The requirements that a decision violates; empty if it meets all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations(Vec<Violation>);

/// A sentence, and the check that found it.
type Violation = (String, &'static Location<'static>);

impl Violations {
    /// Notes `sentence` unless it holds.
    #[track_caller]
    pub(crate) fn unless(&mut self, holds: bool, sentence: impl FnOnce() -> String) {
        if !holds {
            self.0.push((sentence(), Location::caller()));
        }
    }

    /// Whether everything holds.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Stops the test if anything does not hold.
    ///
    /// # Panics
    ///
    /// If anything does not hold, with all of it in the message.
    pub fn stop(&self) {
        assert!(self.is_empty(), "the decision breaks a rule:\n{self}");
    }
}

impl fmt::Display for Violations {
    /// A line each, such as `- wakes at …, which is over at … (checker/metric_scaling.rs:21)`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(sentence, check)| {
            let file = check.file().rsplit('/').next().unwrap_or_default();
            writeln!(formatter, "- {sentence} ({file}:{})", check.line())
        })
    }
}
