//! Why something was decided, in a form that all families share.
//!
//! A reason is a small value without text. It refers to rules by their position and is rendered later,
//! against the input it was made from. Normally only what won is recorded; the whole chain, including what
//! lost and why, is recorded on request, by the same code.

use jiff::Timestamp;

/// The verdict on one rule of a policy, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reason<Cause> {
    /// The rule, by its position in the policy; `None` for the policy as a whole.
    pub rule: Option<u32>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub cause: Cause,
    /// Since when this holds.
    pub since: Option<Timestamp>,
    /// Until when, if time alone ends it.
    pub until: Option<Timestamp>,
}

impl<Cause> Reason<Cause> {
    /// The same without the instants between which it holds.
    #[must_use]
    pub(crate) fn without_span(self) -> Self {
        Self { since: None, until: None, ..self }
    }
}

/// The part a rule has in a decision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// It decides.
    Won,
    /// It would decide, but another one does.
    Lost,
    /// It is not its time.
    Inactive,
    /// It takes no part at any time.
    Excluded,
    /// It should decide but cannot.
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
