//! The value that an autoscaler requests while another writer contends with it, and without an answer.

use almanac_engine::metric_scaling::SampleProblem;
use almanac_engine::{Field, Inactive, Requested, Value, arrive};

use crate::support::monday;
use crate::support::scaling::{Scaling, by_one_query};

const UNUSABLE: SampleProblem = SampleProblem::SeveralSamples { count: 2 };

fn requested(scaling: &Scaling, at: &str) -> Result<Requested, Inactive> {
    let place = (&scaling.target, Field::Replicas);
    let request = scaling.world.request(&scaling.name, place, monday(at)).unwrap();
    let (since, applied) = (request.since, request.applied);
    request.value.map(|value| Requested { value, since, applied })
}

#[test]
fn a_contested_value_is_still_requested() {
    let mut scaling = by_one_query(5).answered("q", 8.0).turned("09:00");
    scaling.set(5);
    assert_eq!(scaling.turn(monday("09:00:01")), 5, "it waits");
    let value = requested(&scaling, "09:00:02").map(|it| it.value);
    assert_eq!(value, Ok(Value::Number(8)));
}

#[test]
fn without_a_sample_the_last_set_value_is_requested() {
    let mut scaling = by_one_query(5).answered("q", 8.0).turned("09:00");
    scaling.sample("q", Err(UNUSABLE));
    let at = Some(monday("09:00"));
    let expected = Requested { value: Value::Number(8), since: at, applied: at };
    assert_eq!(requested(&scaling, "09:30"), Ok(expected));
}

#[test]
fn an_autoscaler_that_never_had_a_sample_requests_nothing() {
    let mut scaling = by_one_query(5);
    scaling.sample("q", Err(UNUSABLE));
    assert_eq!(requested(&scaling, "09:30"), Err(Inactive::NoAnswer));
}

#[test]
fn the_start_of_the_first_recommendation_of_a_run_is_unknown() {
    let mut scaling = by_one_query(5).answered("q", 8.0);
    arrive(&mut scaling.world, &scaling.name, monday("09:00"));
    let expected = Requested { value: Value::Number(8), since: None, applied: None };
    assert_eq!(requested(&scaling, "09:00"), Ok(expected));
}
