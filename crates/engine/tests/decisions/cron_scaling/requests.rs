//! The value that rules request for a field, or the reason that they request none.

use almanac_engine::{Field, Inactive, Requested, Value};
use jiff::Timestamp;

use crate::support::cron::{Scaling, bounds, hourly, rule};
use crate::support::monday;

fn requested(scaling: &Scaling, field: Field, at: &str) -> Result<Requested, Inactive> {
    let target = scaling.target();
    let request = scaling.world.request(&scaling.name(), (target.identity(), field), monday(at));
    let request = request.unwrap();
    let (since, applied) = (request.since, request.applied);
    request.value.map(|value| Requested { value, since, applied })
}

fn fired(value: u32, since: Timestamp, applied: Timestamp) -> Requested {
    let (since, applied) = (Some(since), Some(applied));
    Requested { value: Value::Number(value), since, applied }
}

#[test]
fn a_rule_requests_its_value_since_its_last_firing() {
    let scaling = hourly().turned("09:03:02");
    let expected = fired(5, monday("09:03"), monday("09:03:02"));
    assert_eq!(requested(&scaling, Field::Replicas, "09:30"), Ok(expected));
}

#[test]
fn a_rule_requests_nothing_for_a_firing_before_its_first_turn() {
    let scaling = Scaling::of_workload(1, &[rule("r", "3 * * * *", 5)]).turned("09:30");
    assert_eq!(requested(&scaling, Field::Replicas, "09:40"), Err(Inactive::NotFired));
}

#[test]
fn an_edited_rule_requests_nothing_before_it_has_fired_again() {
    let mut scaling = hourly().turned("09:03");
    scaling.edit(&[rule("r", "3 * * * *", 7)]);
    let scaling = scaling.turned("09:30");
    assert_eq!(requested(&scaling, Field::Replicas, "09:40"), Err(Inactive::NotFired));
    let scaling = scaling.turned("10:03");
    let expected = fired(7, monday("10:03"), monday("10:03"));
    assert_eq!(requested(&scaling, Field::Replicas, "10:30"), Ok(expected));
}

#[test]
fn a_suspended_rule_requests_nothing() {
    let mut scaling = hourly().turned("09:03");
    scaling.edit(&[rule("r", "3 * * * *", 5).suspended()]);
    assert_eq!(requested(&scaling, Field::Replicas, "09:40"), Err(Inactive::Suspended));
}

#[test]
fn a_bound_that_was_moved_for_the_other_bound_is_not_requested() {
    let rules = [bounds("r", "3 * * * *", Some(6), None)];
    let scaling = Scaling::of_autoscaler(2, 4, &rules).turned("09:00").turned("09:03");
    let expected = fired(6, monday("09:03"), monday("09:03"));
    assert_eq!(requested(&scaling, Field::MinReplicas, "09:30"), Ok(expected));
    assert_eq!(requested(&scaling, Field::MaxReplicas, "09:30"), Err(Inactive::NotNamed));
}
