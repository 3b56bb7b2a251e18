//! A list of violated requirements, each as a sentence with the check that reported the violation.

use std::fmt;
use std::panic::Location;

/// The requirements that a decision violates; empty if the decision meets all requirements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations(Vec<Violation>);

/// A sentence, and the location of the check.
type Violation = (String, &'static Location<'static>);

impl Violations {
    /// Records `sentence` unless the requirement `holds`.
    #[track_caller]
    pub(crate) fn unless(&mut self, holds: bool, sentence: impl FnOnce() -> String) {
        if !holds {
            self.0.push((sentence(), Location::caller()));
        }
    }

    /// Whether no requirement is violated.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fails the test if any requirement is violated.
    ///
    /// # Panics
    ///
    /// If any requirement is violated. The message lists all violations.
    pub fn stop(&self) {
        assert!(self.is_empty(), "the decision breaks a rule:\n{self}");
    }
}

impl fmt::Display for Violations {
    /// A line for each violation, such as `- wakes at …, which is over at … (checker/metric_scaling.rs:21)`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(sentence, check)| {
            let file = check.file().rsplit('/').next().unwrap_or_default();
            writeln!(formatter, "- {sentence} ({file}:{})", check.line())
        })
    }
}
