//! Which policies request a field of an object, and why each of them wins or loses.
//!
//! A policy requests a value since an instant: a cron rule since its last firing, an autoscaler since its recommendation
//! last changed. Requests explain a value and never write one: a field keeps the value that was written last.

use std::fmt;

use jiff::Timestamp;

use crate::families::{World, of_family};
use crate::seam::PolicyFamily as _;
use crate::{Exempt, Family, Field, Identity, PolicyName, Value};

/// The request of one policy for one field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The policy.
    pub policy: PolicyName,
    /// The requested value; `None` while the policy requests none.
    pub value: Option<Value>,
    /// Since when it is requested, if that is known.
    pub since: Option<Timestamp>,
    /// Why the policy is not applied, if it or its target is exempt.
    pub exempt: Option<Exempt>,
}

/// A request, and whether it wins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RankedRequest {
    /// The request.
    pub request: Request,
    /// Whether it wins.
    pub outcome: RequestOutcome,
}

/// Whether a request wins, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RequestOutcome {
    /// The field has its value.
    Won {
        /// Whether it is the only request.
        is_only: bool,
    },
    /// The policy that wins requests the same value.
    Equal {
        /// That policy.
        to: PolicyName,
    },
    /// Another policy wins.
    Lost {
        /// That policy.
        to: PolicyName,
        /// Why that one wins.
        because: Precedence,
    },
    /// It would win, but another field manager has set the field.
    Replaced,
    /// The policy requests no value.
    Inactive,
    /// The policy is not applied.
    Exempt(Exempt),
}

/// Why one request precedes another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precedence {
    /// It is the later one.
    Later,
    /// Both are of the same instant, and its policy has its turn after the other one.
    LastTurn,
    /// Its policy sets the value again after each change.
    SetsAgain,
    /// It was applied last, however long ago it was requested.
    AppliedLast,
}

/// The current value of a field, and the policy that has set it, if one has.
#[derive(Clone, Copy, Debug)]
pub struct CurrentValue<'a> {
    /// The value, if it is known.
    pub value: Option<&'a Value>,
    /// The policy.
    pub by: Option<&'a PolicyName>,
}

/// Ranks the requests of one field, the winner first.
///
/// The policy that has set the current value wins. If none of them has, the latest request would win; of several at one
/// instant, the one whose policy has its turn last.
#[must_use]
pub fn rank(mut requests: Vec<Request>, held: CurrentValue<'_>) -> Vec<RankedRequest> {
    let is_held = |it: &Request| held.by == Some(&it.policy);
    let order = |it: &Request| {
        let is_active = it.exempt.is_none() && it.value.is_some();
        (is_active, is_active && is_held(it), it.since)
    };
    requests.sort_by(|one, other| {
        order(other).cmp(&order(one)).then_with(|| other.policy.cmp(&one.policy))
    });
    let first = requests.first().cloned();
    let is_only = requests.len() == 1;
    let outcome = |request: &Request| {
        if let Some(exempt) = request.exempt {
            return RequestOutcome::Exempt(exempt);
        }
        let Some(first) = first.as_ref().filter(|_| request.value.is_some()) else {
            return RequestOutcome::Inactive;
        };
        if first.policy != request.policy {
            let to = first.policy.clone();
            if first.value == request.value {
                return RequestOutcome::Equal { to };
            }
            return RequestOutcome::Lost { to, because: Precedence::between(first, request) };
        }
        let is_replaced = !is_held(request) && held.value != request.value.as_ref();
        if is_replaced { RequestOutcome::Replaced } else { RequestOutcome::Won { is_only } }
    };
    let outcomes: Vec<RequestOutcome> = requests.iter().map(outcome).collect();
    let ranked = requests.into_iter().zip(outcomes);
    ranked.map(|(request, outcome)| RankedRequest { request, outcome }).collect()
}

impl Precedence {
    /// Why a request precedes another one.
    fn between(first: &Request, other: &Request) -> Precedence {
        let dates = first.since.zip(other.since);
        if dates.is_some_and(|(first, other)| first > other) {
            Precedence::Later
        } else if dates.is_some_and(|(first, other)| first == other) && first.policy > other.policy
        {
            Precedence::LastTurn
        } else if first.policy.family.writes_again() {
            Precedence::SetsAgain
        } else {
            Precedence::AppliedLast
        }
    }
}

impl RequestOutcome {
    /// As it is written in JSON and in text.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Won { .. } => "won",
            Self::Equal { .. } => "equal",
            Self::Lost { .. } | Self::Replaced => "lost",
            Self::Inactive => "inactive",
            Self::Exempt(_) => "exempt",
        }
    }
}

/// Why it won or lost.
impl fmt::Display for RequestOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Won { is_only: true } => {
                formatter.write_str("no other policy requests the field")
            }
            Self::Won { is_only: false } => formatter.write_str("the field has its value"),
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
            },
            Self::Replaced => formatter.write_str("another field manager has set the field since"),
            Self::Inactive => formatter.write_str("it requests no value"),
            Self::Exempt(exempt) => exempt.fmt(formatter),
        }
    }
}

impl Family {
    /// Whether its policies set a value again that another field manager has replaced.
    #[must_use]
    pub fn writes_again(self) -> bool {
        of_family!(self, F => F::WRITES_AGAIN)
    }
}

impl World {
    /// The request of a policy for a field of an object at an instant; `None` if it never sets that field.
    #[must_use]
    pub fn request(
        &self,
        policy: &PolicyName,
        (object, field): (&Identity, Field),
        now: Timestamp,
    ) -> Option<Request> {
        let reference = self.target_of(policy);
        let is_target = reference.as_ref().is_some_and(|it| {
            it.target.identity() == object && Field::of_target(&it.target).contains(&field)
        });
        if !is_target {
            return None;
        }
        let exempt = self.why_exempt(policy);
        let requested = of_family!(policy.family, F => {
            F::request(self.view(), &policy.identity, field, now)
        });
        let (value, since) = requested.filter(|_| exempt.is_none()).unzip();
        Some(Request { policy: policy.clone(), value, since: since.flatten(), exempt })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Exemption;

    const CRON: Family = Family::CronScaling;
    const METRIC: Family = Family::MetricScaling;

    fn name(family: Family, name: &str) -> PolicyName {
        PolicyName::new(family, Identity::new("group", "Kind", "default", name))
    }

    /// A request since a number of seconds after the epoch.
    fn request(family: Family, policy: &str, value: u32, since: i64) -> Request {
        let since = Timestamp::from_second(since).ok();
        Request { policy: name(family, policy), value: Some(value.into()), since, exempt: None }
    }

    /// The name, the outcome and the reason of each request, in order.
    fn ranked(requests: &[Request], value: u32, by: Option<&PolicyName>) -> Vec<String> {
        let value = Value::Number(value);
        let ranked = rank(requests.to_vec(), CurrentValue { value: Some(&value), by });
        let line = |it: &RankedRequest| {
            let RankedRequest { request, outcome } = it;
            format!("{} {}: {outcome}", request.policy.identity.name(), outcome.name())
        };
        ranked.iter().map(line).collect()
    }

    #[test]
    fn a_single_request_wins() {
        let only = request(CRON, "a", 5, 1);
        assert_eq!(
            ranked(&[only], 5, Some(&name(CRON, "a"))),
            ["a won: no other policy requests the field"]
        );
    }

    #[test]
    fn the_later_request_wins() {
        let both = [request(CRON, "a", 5, 9), request(CRON, "b", 3, 1)];
        assert_eq!(
            ranked(&both, 5, Some(&name(CRON, "a"))),
            ["a won: the field has its value", "b lost: Kind.group default/a set the field later"]
        );
    }

    #[test]
    fn at_one_instant_the_last_turn_wins() {
        let both = [request(CRON, "a", 5, 1), request(CRON, "b", 3, 1)];
        let expected = [
            "b won: the field has its value",
            "a lost: Kind.group default/b has its turn later at the same instant",
        ];
        assert_eq!(ranked(&both, 3, Some(&name(CRON, "b"))), expected);
        assert_eq!(ranked(&both, 3, None), expected, "nothing is known of who set it");
    }

    #[test]
    fn an_autoscaler_that_sets_its_value_again_precedes_a_later_firing() {
        let both = [request(CRON, "a", 5, 9), request(METRIC, "b", 3, 1)];
        assert_eq!(
            ranked(&both, 3, Some(&name(METRIC, "b"))),
            [
                "b won: the field has its value",
                "a lost: Kind.group default/b sets its value again after each change"
            ]
        );
    }

    #[test]
    fn a_request_for_the_same_value_is_equal() {
        let both = [request(CRON, "a", 5, 9), request(CRON, "b", 5, 1)];
        assert_eq!(
            ranked(&both, 5, Some(&name(CRON, "a"))),
            [
                "a won: the field has its value",
                "b equal: Kind.group default/a requests the same value"
            ]
        );
    }

    #[test]
    fn the_latest_request_loses_to_another_field_manager() {
        let both = [request(CRON, "a", 5, 9), request(CRON, "b", 3, 1)];
        assert_eq!(
            ranked(&both, 7, None),
            [
                "a lost: another field manager has set the field since",
                "b lost: Kind.group default/a set the field later"
            ]
        );
    }

    #[test]
    fn a_policy_that_is_exempt_or_requests_nothing_comes_last() {
        let exempt = Some(Exempt::Policy(Exemption::Marked));
        let requests = [
            Request { exempt, value: None, since: None, ..request(CRON, "a", 5, 9) },
            Request { value: None, since: None, ..request(CRON, "b", 5, 9) },
            request(CRON, "c", 3, 1),
        ];
        assert_eq!(
            ranked(&requests, 3, Some(&name(CRON, "c"))),
            [
                "c won: the field has its value",
                "b inactive: it requests no value",
                "a exempt: the object is marked with almanac.dev/ignore"
            ]
        );
    }
}
