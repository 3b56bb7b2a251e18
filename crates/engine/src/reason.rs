//! The reasons for a decision, in a form that all families share.
//!
//! A reason is a small value without strings. It refers to rules by their position and is rendered later, against the
//! input of the decision. Normally only the winner is recorded. The same code records the whole chain, with the losers
//! and their reasons, on request.

use jiff::Timestamp;

/// The verdict on one rule of a policy, and its cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reason<Cause> {
    /// The position of the rule in the policy; `None` for the policy as a whole.
    pub rule: Option<u32>,
    /// The verdict on the rule.
    pub verdict: Verdict,
    /// The cause of the verdict.
    pub cause: Cause,
    /// The instant from which the verdict applies.
    pub since: Option<Timestamp>,
    /// The end of the verdict; `None` if time alone does not end it.
    pub until: Option<Timestamp>,
}

impl<Cause> Reason<Cause> {
    /// The same reason without its instants.
    #[must_use]
    pub(crate) fn without_span(self) -> Self {
        Self { since: None, until: None, ..self }
    }
}

/// The role of a rule in a decision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// The rule decides.
    Won,
    /// The rule would decide, but a different rule does.
    Lost,
    /// The rule does not apply at this time.
    Inactive,
    /// The rule applies at no time.
    Excluded,
    /// The rule should decide but cannot.
    Error,
}

/// A sink for the reasons of a decision.
pub(crate) trait Reasons<Cause> {
    /// Records the winner.
    fn won(&mut self, reason: Reason<Cause>);

    /// Records a rule that did not win, if the whole chain is requested.
    fn other(&mut self, reason: impl FnOnce() -> Reason<Cause>);
}

/// Collects the winner only.
pub(crate) struct Winners<Cause>(pub(crate) Vec<Reason<Cause>>);

impl<Cause> Reasons<Cause> for Winners<Cause> {
    fn won(&mut self, reason: Reason<Cause>) {
        self.0.push(reason);
    }

    fn other(&mut self, _: impl FnOnce() -> Reason<Cause>) {}
}

/// Collects the whole chain.
pub(crate) struct WholeChain<Cause>(pub(crate) Vec<Reason<Cause>>);

impl<Cause> Reasons<Cause> for WholeChain<Cause> {
    fn won(&mut self, reason: Reason<Cause>) {
        self.0.push(reason);
    }

    fn other(&mut self, reason: impl FnOnce() -> Reason<Cause>) {
        self.0.push(reason());
    }
}
