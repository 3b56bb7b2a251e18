//! The patch that replaces the status of a `CronFederatedHPA` completely.
//!
//! A merge patch does not change the fields that it does not name. So that nothing old stays, every field that is
//! absent is named and null. Lists are replaced as a whole, so nothing inside them needs that.

use serde_json::Value;

use crate::objects::CronFederatedHPAStatus;

/// All fields there are.
const FIELDS: [&str; 5] = [
    "observedGeneration",
    "nextExecutionTime",
    "lastExecutionTime",
    "executionHistories",
    "conditions",
];

/// The merge patch after which the object has exactly this status.
pub fn replacing_patch(status: &CronFederatedHPAStatus) -> Result<Value, serde_json::Error> {
    let mut status = serde_json::to_value(status)?;
    if let Value::Object(fields) = &mut status {
        for name in FIELDS {
            fields.entry(name).or_insert(Value::Null);
        }
    }
    Ok(status)
}
