//! The policy state of an autoscaler, in its status.
//!
//! Times are written in whole seconds, rounded up. Rounding extends a recommendation a little, and delays a change a
//! little. So a restarted process scales no sooner than a process without a restart.

use std::sync::Arc;

use almanac_engine::metric_scaling::{
    Direction, LastScale, MAX_RECOMMENDATIONS, MAX_SCALE_EVENTS, Memory, Recommendation, ScaleEvent,
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

use crate::lenient;
use crate::objects::{
    HorizontalAutoscalerStatus, Recommendation as WrittenRecommendation,
    ScaleEvent as WrittenScaleEvent,
};

/// Reads the policy state; `None` for an object without a status. If any recommendation is mangled, all are treated as
/// lost. A mangled change is skipped.
#[must_use]
pub fn read(status: &Value) -> Option<Memory> {
    status.as_object().filter(|fields| !fields.is_empty())?;
    let list = |name: &str| status[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let recommendations = list("recommendations").iter().map(|it| {
        let (since, replicas) = (lenient::instant(&it["time"])?, lenient::count(&it["replicas"])?);
        Some(Recommendation { since, replicas })
    });
    let recommendations: Option<Vec<_>> = recommendations.take(MAX_RECOMMENDATIONS).collect();
    let recommendations = recommendations.filter(|all| all.is_sorted_by_key(|it| it.since));
    let recommendations = recommendations.unwrap_or_default();
    let scale_events = list("scaleEvents").iter().filter_map(|it| {
        let change = i32::try_from(it["change"].as_i64()?).ok().filter(|change| *change != 0)?;
        let direction = if change > 0 { Direction::Up } else { Direction::Down };
        let (at, change) = (lenient::instant(&it["time"])?, change.unsigned_abs());
        Some(ScaleEvent { at, direction, change })
    });
    let mut scale_events: Vec<_> = scale_events.take(MAX_SCALE_EVENTS).collect();
    scale_events.sort_by_key(|event| event.at);
    let set = lenient::count(&status["desiredReplicas"]);
    let last_scale = lenient::instant(&status["lastScaleTime"]).zip(set);
    let last_scale = last_scale.map(|(at, replicas)| LastScale { at, replicas, again: 0 });
    // An autoscaler without any past recommendation has lost nothing.
    let has_done_something = !status["recommendations"].is_null() || last_scale.is_some();
    Some(Memory {
        is_lost: recommendations.is_empty() && (has_done_something || !scale_events.is_empty()),
        recommendations,
        scale_events,
        last_scale,
        contest: None,
        failure: None,
        target: status["target"].as_str().map(Arc::from),
        written_with: set,
    })
}

/// Writes the policy state into a status, next to its other fields.
pub(super) fn write(memory: &Memory, status: &mut HorizontalAutoscalerStatus) {
    let recommendations = memory.recommendations.iter().map(|it| WrittenRecommendation {
        time: rounded_up(it.since),
        replicas: lenient::number(it.replicas),
    });
    status.recommendations = recommendations.collect();
    let events = memory.scale_events.iter().map(|it| {
        let change = lenient::number(it.change);
        let change = if it.direction == Direction::Up { change } else { -change };
        WrittenScaleEvent { time: rounded_up(it.at), change }
    });
    status.scale_events = events.collect();
    status.target = memory.target.as_ref().map(ToString::to_string);
    status.last_scale_time = memory.last_scale.map(|last| rounded_up(last.at));
    status.desired_replicas = memory.last_scale.map(|last| lenient::number(last.replicas));
}

fn rounded_up(at: Timestamp) -> Time {
    let whole = lenient::whole_second(at);
    let next = || whole.checked_add(SignedDuration::from_secs(1)).unwrap_or(whole);
    Time(if whole == at { whole } else { next() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn full_memory() -> Memory {
        Memory {
            recommendations: vec![
                Recommendation { since: at("2026-01-05T09:00:00Z"), replicas: 8 },
                Recommendation { since: at("2026-01-05T09:04:00Z"), replicas: 3 },
            ],
            is_lost: false,
            scale_events: vec![
                ScaleEvent { at: at("2026-01-05T09:00:00Z"), direction: Direction::Up, change: 5 },
                ScaleEvent {
                    at: at("2026-01-05T09:03:00Z"),
                    direction: Direction::Down,
                    change: 1,
                },
            ],
            last_scale: Some(LastScale { at: at("2026-01-05T09:03:00Z"), replicas: 7, again: 0 }),
            contest: None,
            failure: None,
            target: Some(Arc::from("Deployment.apps default/shop")),
            written_with: Some(7),
        }
    }

    fn written(memory: &Memory) -> Value {
        let mut status = HorizontalAutoscalerStatus::default();
        write(memory, &mut status);
        serde_json::to_value(status).unwrap()
    }

    #[test]
    fn a_written_policy_state_reads_back() {
        assert_eq!(read(&written(&full_memory())), Some(full_memory()));
    }

    #[test]
    fn times_are_rounded_up_so_that_nothing_is_scaled_sooner_after_a_restart() {
        let mut memory = full_memory();
        memory.recommendations[1].since = at("2026-01-05T09:04:00.000000001Z");
        memory.scale_events[1].at = at("2026-01-05T09:03:00.5Z");
        let read = read(&written(&memory)).unwrap();
        assert_eq!(read.recommendations[1].since, at("2026-01-05T09:04:01Z"));
        assert_eq!(read.scale_events[1].at, at("2026-01-05T09:03:01Z"));
        assert_eq!(written(&read), written(&memory));
    }

    #[test]
    fn an_object_without_a_status_is_new_and_one_with_a_mangled_status_has_lost_its_memory() {
        for empty in [Value::Null, json!({}), json!("text")] {
            assert_eq!(read(&empty), None, "{empty}");
        }
        let mut reversed = written(&full_memory());
        reversed["recommendations"].as_array_mut().unwrap().reverse();
        let mut mangled = written(&full_memory());
        mangled["recommendations"][0]["replicas"] = json!("many");
        mangled["scaleEvents"][0]["change"] = json!(0);
        let fresh = read(&json!({ "conditions": [] })).unwrap();
        assert!(!fresh.is_lost, "nothing was recommended");
        for (status, events) in [(reversed, 2), (mangled, 1)] {
            let memory = read(&status).unwrap();
            assert!(memory.is_lost && memory.recommendations.is_empty(), "{status}");
            assert_eq!(memory.scale_events.len(), events, "{status}");
        }
    }
}
