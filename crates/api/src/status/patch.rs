//! The body of a request that replaces a status completely.
//!
//! A merge patch leaves alone what it does not name. So that nothing old stays, every field that is
//! absent is named and null. Lists are replaced as a whole, so nothing inside them needs that.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::objects::{CronFederatedHPAStatus, MetricsProducerStatus};

/// A status that can replace another one.
pub trait Status: Serialize {
    /// All fields it can have; for each that is a map itself, the fields of that.
    const FIELDS: &'static [(&'static str, &'static [&'static str])];
}

impl Status for CronFederatedHPAStatus {
    const FIELDS: &'static [(&'static str, &'static [&'static str])] = &[
        ("observedGeneration", &[]),
        ("nextExecutionTime", &[]),
        ("lastExecutionTime", &[]),
        ("executionHistories", &[]),
        ("conditions", &[]),
    ];
}

impl Status for MetricsProducerStatus {
    const FIELDS: &'static [(&'static str, &'static [&'static str])] = &[
        ("observedGeneration", &[]),
        ("scheduledCapacity", &["currentValue", "nextValueTime", "nextValue", "behaviorIndex"]),
        ("conditions", &[]),
    ];
}

/// The merge patch after which the object has exactly this status: `{"status": {…}}`. A precondition
/// (`metadata.resourceVersion`) is for the sender to add.
pub fn replacing_patch<S: Status>(status: &S) -> Result<Value, serde_json::Error> {
    let mut status = serde_json::to_value(status)?;
    if let Value::Object(fields) = &mut status {
        for (name, inner) in S::FIELDS {
            if let Value::Object(fields) = name_in(fields, name) {
                for name in *inner {
                    name_in(fields, name);
                }
            }
        }
    }
    Ok(json!({ "status": status }))
}

/// The field of this name; null is put where there is none.
fn name_in<'a>(fields: &'a mut Map<String, Value>, name: &str) -> &'a mut Value {
    fields.entry(name).or_insert(Value::Null)
}
