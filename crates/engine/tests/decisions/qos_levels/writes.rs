//! Writes that fail, and their records.

use std::sync::Arc;

use almanac_engine::{Field, Outcome, Value};
use almanac_fixtures::levels::{config_map, level_policy};

use crate::support::levels::{Cluster, FIRST, recorded};
use crate::support::monday;

fn cluster() -> Cluster {
    Cluster::new([level_policy("p", "09:00", "10:00", "a=b", -1)])
        .with("one", "a=b", Some("1"))
        .with("two", "a=b", None)
}

#[test]
fn each_write_that_fails_once_is_wanted_again() {
    let failures = [
        Outcome::Conflict,
        Outcome::Refused(Arc::from("no")),
        Outcome::Withdrawn,
        Outcome::Unknown(Arc::from("lost")),
    ];
    for failure in failures {
        let mut cluster = cluster();
        for (time, shown) in
            [("09:00", ["-1 1 p -1", "-1 '' p -1"]), ("10:00", ["1 - - -", "- - - -"])]
        {
            let mut first = true;
            let turn = cluster.turn_of(&config_map(FIRST), monday(time), |world, action| {
                if std::mem::take(&mut first) { failure.clone() } else { world.apply(action) }
            });
            let turn = turn.unwrap();
            assert_eq!((turn.recorded.len(), turn.effects.len()), (1, 1), "{failure:?}");
            let again = cluster.turn(time);
            assert_eq!(again.done.len(), 1);
            assert_eq!(recorded(&again).len(), 1, "{failure:?}");
            assert_eq!([cluster.shows("one"), cluster.shows("two")], shown);
        }
    }
}

#[test]
fn a_write_with_a_lost_response_is_not_repeated() {
    let mut cluster = cluster();
    cluster.turn_of(&config_map(FIRST), monday("09:00"), |world, action| {
        world.apply(action);
        Outcome::Unknown(Arc::from("lost"))
    });
    let turn = cluster.turn("09:00");
    assert!(turn.done.is_empty());
    let levels: Vec<(&str, &Field, &Value)> =
        turn.effects.iter().map(|it| (it.target.name(), &it.field, &it.value)).collect();
    let level = Value::text("-1");
    assert_eq!(levels, [("one", &Field::QosLevel, &level), ("two", &Field::QosLevel, &level)]);
}

#[test]
fn a_pod_whose_level_is_removed_has_none_and_not_an_unknown_one() {
    let mut cluster = cluster();
    cluster.turn("09:00");
    let turn = cluster.turn("10:00");
    let values: Vec<&Value> = turn.effects.iter().map(|effect| &effect.value).collect();
    assert_eq!(values, [&Value::text("1"), &Value::Nothing]);
    let pod = almanac_fixtures::levels::pod_name("two");
    assert_eq!(Field::QosLevel.read(&cluster.world, &pod), Some(Value::Nothing));
}
