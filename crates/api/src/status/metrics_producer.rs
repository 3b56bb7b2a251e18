//! The status of a `MetricsProducer`: the published value, and whether it is published.

use almanac_engine::scheduled_capacity::{Change, PublishedNumber};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::Value;

use super::conditions::{ConditionReason, ConditionState, ConditionType, errors, listed};
use crate::finding::{Code, Finding};
use crate::lenient;
use crate::objects::{MetricsProducerStatus, Observed, ScheduledCapacityStatus};

/// Reads the readable part of the last published value: `None` without a number. A next number without its time is
/// ignored.
#[must_use]
pub fn read(status: &Value) -> Option<PublishedNumber> {
    let capacity = &status["scheduledCapacity"];
    let value = lenient::count(&capacity["currentValue"])?;
    let at = lenient::instant(&capacity["nextValueTime"]);
    let next = at.zip(lenient::count(&capacity["nextValue"]));
    Some(PublishedNumber {
        value,
        winner: lenient::count(&capacity["behaviorIndex"]),
        next: next.map(|(at, value)| Change { at, value }),
    })
}

/// Writes the status. `published` is `None` while no number is published; then the status has no number.
#[must_use]
pub fn write(
    published: Option<&PublishedNumber>,
    conditions: Vec<Condition>,
    observed_generation: Option<i64>,
) -> MetricsProducerStatus {
    let capacity = |published: &PublishedNumber| ScheduledCapacityStatus {
        current_value: Some(lenient::number(published.value)),
        next_value_time: published.next.map(|next| lenient::time(next.at)),
        next_value: published.next.map(|next| lenient::number(next.value)),
        behavior_index: published.winner.map(lenient::number),
    };
    MetricsProducerStatus {
        observed: Observed { observed_generation, conditions },
        scheduled_capacity: published.map(capacity),
    }
}

/// Returns whether an object with these findings is active and ready. The object is both or neither, because a schedule
/// is applied as a whole.
#[must_use]
pub fn condition_states(findings: &[Finding]) -> [ConditionState; 2] {
    let unsupported = || listed(findings.iter().filter(|it| it.code == Code::Unsupported));
    let (holds, reason, message) = if let Some(message) = errors(findings) {
        (false, ConditionReason::ScheduleInvalid, message)
    } else if let Some(message) = unsupported() {
        (false, ConditionReason::Unsupported, message)
    } else {
        (true, ConditionReason::Scheduled, "the schedule is published".to_owned())
    };
    [ConditionType::Active, ConditionType::Ready].map(|about| ConditionState {
        about,
        holds,
        reason,
        message: message.clone(),
    })
}
