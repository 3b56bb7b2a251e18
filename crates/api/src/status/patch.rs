//! The patch that replaces the status of a `CronFederatedHPA` completely.
//!
//! A merge patch does not change the fields that it does not name. To remove old values, the patch sets every absent
//! field to null. Lists are replaced as a whole, so their items need no nulls.

use serde_json::Value;

use crate::objects::CronFederatedHPAStatus;

/// All fields of the status.
const FIELDS: [&str; 5] = [
    "observedGeneration",
    "nextExecutionTime",
    "lastExecutionTime",
    "executionHistories",
    "conditions",
];

/// The merge patch that sets the status of an object to exactly this value.
pub fn replacing_patch(status: &CronFederatedHPAStatus) -> Result<Value, serde_json::Error> {
    let mut status = serde_json::to_value(status)?;
    if let Value::Object(fields) = &mut status {
        for name in FIELDS {
            fields.entry(name).or_insert(Value::Null);
        }
    }
    Ok(status)
}
