//! The policies that request a field of an object, and the outcome of each request.
//!
//! A policy requests a value since an instant: a cron rule since its last firing, an autoscaler since its recommendation
//! last changed. Requests explain a value and never write one: a field keeps the value that was written last.

use std::fmt;

use jiff::Timestamp;

use crate::families::{World, of_family};
use crate::seam::PolicyFamily as _;
use crate::{Family, Field, Identity, Inactive, PolicyName, Value};

/// The request of one policy for one field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The requesting policy.
    pub policy: PolicyName,
    /// The requested value, or the reason that the policy requests none.
    pub value: Result<Value, Inactive>,
    /// The instant from which the value is requested; `None` if it is unknown.
    pub since: Option<Timestamp>,
    /// The instant at which the policy set the value; `None` if that is unknown, or if the policy sets the value again
    /// after each change.
    pub applied: Option<Timestamp>,
}

/// A request, and its outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RankedRequest {
    /// The ranked request.
    pub request: Request,
    /// Whether it wins.
    pub outcome: RequestOutcome,
}

/// Whether a request wins, with the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RequestOutcome {
    /// The request wins.
    Won(WinReason),
    /// The winning policy requests the same value.
    Equal {
        /// The winning policy.
        to: PolicyName,
    },
    /// A different policy wins.
    Lost {
        /// The winning policy.
        to: PolicyName,
        /// The reason that the winning policy precedes.
        because: Precedence,
    },
    /// The request would win, but a different field manager has set the field.
    Replaced,
    /// The policy requests no value.
    Inactive(Inactive),
}

/// The reason that a request wins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WinReason {
    /// No other policy requests the field.
    OnlyRequest,
    /// The field has the requested value.
    HasValue,
    /// The request is the latest one, and the current value is unknown.
    Latest,
}

/// The reason that one request precedes a second one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precedence {
    /// The request was applied later.
    Later,
    /// Both requests are of the same instant, and the policy has the later turn.
    LastTurn,
    /// The policy sets the value again after each change.
    SetsAgain,
    /// The request was applied last, regardless of the instant from which the value is requested.
    AppliedLast,
    /// The field has the requested value. The field manager that set the value is unknown.
    HasValue,
}

/// The current value of a field, and the policy that has set it; `None` if no policy has.
#[derive(Clone, Copy, Debug)]
pub struct CurrentValue<'a> {
    /// The value; `None` if it is unknown.
    pub value: Option<&'a Value>,
    /// The policy that has set the value.
    pub by: Option<&'a PolicyName>,
}

/// Ranks the requests of one field, the winner first.
///
/// The policy that has set the current value wins. If that policy is unknown, the last request for the current value
/// wins. If no policy requests the current value, the latest request would win; of several at one instant, the one
/// whose policy has the last turn.
#[must_use]
pub fn rank(mut requests: Vec<Request>, held: CurrentValue<'_>) -> Vec<RankedRequest> {
    let has_value = |it: &Request| held.value.is_some_and(|value| it.value.as_ref() == Ok(value));
    // A firing may have been applied late, after a later firing of a different policy.
    let last_with_value = || {
        let all = requests.iter().filter(|it| has_value(it));
        all.max_by_key(|it| (it.date(), &it.policy)).map(|it| &it.policy)
    };
    let holder = held.by.or_else(last_with_value).cloned();
    let is_held = |it: &Request| holder.as_ref() == Some(&it.policy);
    let order = |it: &Request| {
        let is_active = it.value.is_ok();
        (is_active, is_active && is_held(it), it.date())
    };
    requests.sort_by(|one, other| {
        order(other).cmp(&order(one)).then_with(|| other.policy.cmp(&one.policy))
    });
    let first = requests.first().cloned();
    let win_reason = if requests.len() == 1 {
        WinReason::OnlyRequest
    } else if held.value.is_some() {
        WinReason::HasValue
    } else {
        WinReason::Latest
    };
    let outcome = |request: &Request| {
        if let Err(why) = request.value {
            return RequestOutcome::Inactive(why);
        }
        let Some(first) = first.as_ref().filter(|it| it.policy != request.policy) else {
            let is_replaced = !is_held(request) && held.value.is_some() && !has_value(request);
            return if is_replaced {
                RequestOutcome::Replaced
            } else {
                RequestOutcome::Won(win_reason)
            };
        };
        let to = first.policy.clone();
        if first.value == request.value {
            return RequestOutcome::Equal { to };
        }
        let is_assumed = held.by.is_none() && is_held(first);
        RequestOutcome::Lost { to, because: Precedence::between(first, request, is_assumed) }
    };
    let outcomes: Vec<RequestOutcome> = requests.iter().map(outcome).collect();
    let ranked = requests.into_iter().zip(outcomes);
    ranked.map(|(request, outcome)| RankedRequest { request, outcome }).collect()
}

impl Request {
    /// The instant at which the request was applied; `None` if it is unknown.
    fn date(&self) -> Option<Timestamp> {
        self.applied.or(self.since)
    }

    /// Whether the policy sets the value again after each change.
    fn is_set_again(&self) -> bool {
        self.policy.family.writes_again() && self.applied.is_none()
    }
}

impl Precedence {
    /// The reason that one request precedes a second one. `is_assumed` states whether only the value indicates that the
    /// policy has set the field.
    fn between(first: &Request, other: &Request, is_assumed: bool) -> Precedence {
        let dates = first.date().zip(other.date());
        let is_of_family = first.policy.family == other.policy.family;
        if first.is_set_again() && !is_of_family {
            Precedence::SetsAgain
        } else if dates.is_some_and(|(first, other)| first > other) {
            Precedence::Later
        } else if dates.is_some_and(|(first, other)| first == other) && first.policy > other.policy
        {
            Precedence::LastTurn
        } else if first.is_set_again() {
            Precedence::SetsAgain
        } else if is_assumed {
            Precedence::HasValue
        } else {
            Precedence::AppliedLast
        }
    }

    /// The code in JSON.
    fn code(self) -> &'static str {
        match self {
            Self::Later => "later",
            Self::LastTurn => "last-turn",
            Self::SetsAgain => "sets-again",
            Self::AppliedLast => "applied-last",
            Self::HasValue => "has-value",
        }
    }
}

impl RequestOutcome {
    /// The name in JSON and in text output.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Won(_) => "won",
            Self::Equal { .. } => "equal",
            Self::Lost { .. } | Self::Replaced => "lost",
            Self::Inactive(Inactive::Exempt(_)) => "exempt",
            Self::Inactive(_) => "inactive",
        }
    }

    /// The code of the reason in JSON.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Won(WinReason::OnlyRequest) => "only-request",
            Self::Won(WinReason::HasValue) => "has-value",
            Self::Won(WinReason::Latest) => "latest",
            Self::Equal { .. } => "same-value",
            Self::Lost { because, .. } => because.code(),
            Self::Replaced => "replaced",
            Self::Inactive(why) => why.code(),
        }
    }
}

/// The reason for the outcome.
impl fmt::Display for RequestOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Won(WinReason::OnlyRequest) => {
                formatter.write_str("no other policy requests the field")
            }
            Self::Won(WinReason::HasValue) => formatter.write_str("the field has its value"),
            Self::Won(WinReason::Latest) => {
                formatter.write_str("the request is the latest one; the current value is unknown")
            }
            Self::Equal { to } => write!(formatter, "{to} requests the same value"),
            Self::Lost { to, because } => match because {
                Precedence::Later => write!(formatter, "{to} set the field later"),
                Precedence::LastTurn => {
                    write!(formatter, "{to} has its turn later at the same instant")
                }
                Precedence::SetsAgain => {
                    write!(formatter, "{to} sets its value again after each change")
                }
                Precedence::AppliedLast => write!(formatter, "{to} set the field last"),
                Precedence::HasValue => write!(formatter, "the field has the value of {to}"),
            },
            Self::Replaced => formatter.write_str("another field manager has set the field since"),
            Self::Inactive(why) => why.fmt(formatter),
        }
    }
}

impl Family {
    /// Whether the family's policies set a value again after a different field manager has replaced it.
    #[must_use]
    pub fn writes_again(self) -> bool {
        of_family!(self, F => F::WRITES_AGAIN)
    }
}

impl World {
    /// The request of a policy for a field of an object at an instant; `None` if the policy never sets that field.
    #[must_use]
    pub fn request(
        &self,
        policy: &PolicyName,
        (object, field): (&Identity, Field),
        now: Timestamp,
    ) -> Option<Request> {
        let reference = self.target_of(policy);
        let is_target = reference.as_ref().is_some_and(|it| {
            it.target.identity() == object && Field::for_target(&it.target).contains(&field)
        });
        if !is_target {
            return None;
        }
        let requested = match self.why_exempt(policy) {
            Some(exempt) => Err(Inactive::Exempt(exempt)),
            None => of_family!(policy.family, F => {
                F::request(self.view(), &policy.identity, field, now)
            }),
        };
        Some(match requested {
            Ok(it) => Request {
                policy: policy.clone(),
                value: Ok(it.value),
                since: it.since,
                applied: it.applied,
            },
            Err(why) => {
                Request { policy: policy.clone(), value: Err(why), since: None, applied: None }
            }
        })
    }
}

#[cfg(test)]
mod tests;
