//! Requests of one field in every order: which one wins, and why the others lose.

use super::*;
use crate::{Exempt, Exemption};

const CRON: Family = Family::CronScaling;
const METRIC: Family = Family::MetricScaling;
const UNKNOWN: CurrentValue<'_> = CurrentValue { value: None, by: None };

fn name(family: Family, name: &str) -> PolicyName {
    PolicyName::new(family, Identity::new("group", "Kind", "default", name))
}

/// Creates a request since a number of seconds after the epoch.
fn request(family: Family, policy: &str, value: u32, since: i64) -> Request {
    let since = Timestamp::from_second(since).ok();
    Request { policy: name(family, policy), value: Ok(value.into()), since, applied: None }
}

/// Marks a request as applied a number of seconds after the epoch.
fn applied(request: Request, at: i64) -> Request {
    Request { applied: Timestamp::from_second(at).ok(), ..request }
}

/// The name, the outcome and the reason of each request, in order.
fn ranked(requests: &[Request], value: u32, by: Option<&PolicyName>) -> Vec<String> {
    ranked_by(requests, CurrentValue { value: Some(&Value::Number(value)), by })
}

fn ranked_by(requests: &[Request], held: CurrentValue<'_>) -> Vec<String> {
    let ranked = rank(requests.to_vec(), held);
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
    assert_eq!(ranked(&both, 3, None), expected, "the policy that set the value is unknown");
    let unknown = ranked_by(&both, UNKNOWN);
    assert_eq!(
        unknown[0], "b won: the request is the latest one; the current value is unknown",
        "the value is unknown"
    );
    assert_eq!(unknown[1], expected[1]);
}

#[test]
fn a_firing_that_was_applied_late_wins_if_the_field_has_its_value() {
    let both = [applied(request(CRON, "a", 5, 0), 4), applied(request(CRON, "b", 3, 2), 2)];
    let expected =
        ["a won: the field has its value", "b lost: Kind.group default/a set the field later"];
    assert_eq!(ranked(&both, 5, None), expected);
    let unknown = ranked_by(&both, UNKNOWN);
    assert_eq!(
        unknown[0], "a won: the request is the latest one; the current value is unknown",
        "the value is unknown"
    );
    assert_eq!(unknown[1], expected[1]);
}

#[test]
fn the_last_of_several_requests_for_the_current_value_wins() {
    let all = [request(CRON, "a", 5, 1), request(CRON, "b", 5, 2), request(CRON, "c", 3, 9)];
    let expected = [
        "b won: the field has its value",
        "c lost: the field has the value of Kind.group default/b",
        "a equal: Kind.group default/b requests the same value",
    ];
    assert_eq!(ranked(&all, 5, None), expected);
}

#[test]
fn an_autoscaler_without_a_sample_does_not_set_its_value_again() {
    let both = [request(CRON, "a", 5, 1), applied(request(METRIC, "b", 3, 9), 9)];
    let expected =
        ["b won: the field has its value", "a lost: Kind.group default/b set the field later"];
    assert_eq!(ranked(&both, 3, None), expected);
}

#[test]
fn an_autoscaler_sets_its_value_again_whenever_a_rule_has_fired() {
    for fired in [1, 9] {
        let both = [request(CRON, "a", 5, fired), request(METRIC, "b", 3, 5)];
        assert_eq!(
            ranked(&both, 3, Some(&name(METRIC, "b"))),
            [
                "b won: the field has its value",
                "a lost: Kind.group default/b sets its value again after each change"
            ]
        );
    }
}

#[test]
fn a_request_for_the_same_value_is_equal() {
    let both = [request(CRON, "a", 5, 9), request(CRON, "b", 5, 1)];
    assert_eq!(
        ranked(&both, 5, Some(&name(CRON, "a"))),
        ["a won: the field has its value", "b equal: Kind.group default/a requests the same value"]
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
    let without =
        |policy: &str, why| Request { value: Err(why), since: None, ..request(CRON, policy, 5, 9) };
    let requests = [
        without("a", Inactive::Exempt(Exempt::Policy(Exemption::Marked))),
        without("b", Inactive::Suspended),
        request(CRON, "c", 3, 1),
    ];
    assert_eq!(
        ranked(&requests, 3, Some(&name(CRON, "c"))),
        [
            "c won: the field has its value",
            "b inactive: all rules that name the field are suspended",
            "a exempt: the object is marked with almanac.dev/ignore"
        ]
    );
}
