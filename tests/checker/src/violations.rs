//! A list of what does not hold, each in a sentence.

use std::fmt;

/// What does not hold of a decision; empty when everything does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations(Vec<String>);

impl Violations {
    /// Notes `sentence` unless it holds.
    pub(crate) fn unless(&mut self, holds: bool, sentence: impl FnOnce() -> String) {
        if !holds {
            self.0.push(sentence());
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
    /// When anything does not hold, with all of it in the message.
    pub fn stop(&self) {
        assert!(self.is_empty(), "the decision breaks a rule:\n{self}");
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|sentence| writeln!(formatter, "- {sentence}"))
    }
}
