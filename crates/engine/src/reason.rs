//! The reasons for a decision, in a form that all families share.
//!
//! A reason is a small value without text. It refers to rules by their position and is rendered later, against the
//! input of the decision. Normally only the winner is recorded. The whole chain, with the losers and their reasons,
//! is recorded on request, by the same code.

use jiff::Timestamp;

/// The verdict on one rule of a policy, and its cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reason<Cause> {
    /// The rule, by its position in the policy; `None` for the policy as a whole.
    pub rule: Option<u32>,
    /// The verdict.
    pub verdict: Verdict,
    /// The cause.
    pub cause: Cause,
    /// The instant from which the verdict applies.
    pub since: Option<Timestamp>,
    /// The end of the verdict, if time alone ends it.
    pub until: Option<Timestamp>,
}

impl<Cause> Reason<Cause> {
    /// The same reason without its instants.
    #[must_use]
    pub(crate) fn without_span(self) -> Self {
        Self { since: None, until: None, ..self }
    }
}

/// The part a rule has in a decision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// The rule decides.
    Won,
    /// The rule would decide, but another one does.
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
    /// Records what won.
    fn won(&mut self, reason: Reason<Cause>);

    /// Records what did not win, if that was requested.
    fn other(&mut self, reason: impl FnOnce() -> Reason<Cause>);
}

/// Keeps what won.
pub(crate) struct Winners<Cause>(pub(crate) Vec<Reason<Cause>>);

impl<Cause> Reasons<Cause> for Winners<Cause> {
    fn won(&mut self, reason: Reason<Cause>) {
        self.0.push(reason);
    }

    fn other(&mut self, _: impl FnOnce() -> Reason<Cause>) {}
}

/// Keeps the whole chain.
pub(crate) struct WholeChain<Cause>(pub(crate) Vec<Reason<Cause>>);

impl<Cause> Reasons<Cause> for WholeChain<Cause> {
    fn won(&mut self, reason: Reason<Cause>) {
        self.0.push(reason);
    }

    fn other(&mut self, reason: impl FnOnce() -> Reason<Cause>) {
        self.0.push(reason());
    }
}
