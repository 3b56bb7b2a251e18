//! Histories in a status, without the parts that differ between runs.

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};

/// The history of a rule. Its fingerprint and the last handled time are not for users. The times of execution are
/// omitted after a check that none is before its schedule.
pub(crate) fn history(status: &Value, rule: &str) -> Result<Value> {
    let all = status["executionHistories"].as_array().context("no histories")?;
    let entry = all.iter().find(|entry| entry["ruleName"] == rule);
    let mut entry = entry.with_context(|| format!("no history of {rule}: {status}"))?.clone();
    let fields = entry.as_object_mut().context("an entry has fields")?;
    fields.remove("fingerprint");
    fields.remove("lastHandledTime");
    fields.remove("ruleName");
    for list in ["successfulExecutions", "failedExecutions"] {
        for execution in fields.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let [scheduled, executed] = ["scheduleTime", "executionTime"].map(|field| {
                execution[field].as_str().context("no time")?.parse::<Timestamp>().context("odd")
            });
            let (scheduled, executed) = (scheduled?, executed?);
            ensure!(executed >= scheduled, "executed at {executed}, before {scheduled}");
            let fields = execution.as_object_mut().context("an execution has fields")?;
            fields.remove("executionTime");
        }
    }
    Ok(entry)
}

/// The rules with a history, in the order of the status.
pub(crate) fn rules_of(status: &Value) -> Vec<&str> {
    let all = status["executionHistories"].as_array().into_iter().flatten();
    all.filter_map(|entry| entry["ruleName"].as_str()).collect()
}

/// The history of a rule that has fired once, successfully.
pub(crate) fn fired_once(at: &str, applied: &Value, next: &str) -> Value {
    let mut execution = applied.clone();
    execution["scheduleTime"] = json!(at);
    json!({"nextExecutionTime": next, "successfulExecutions": [execution]})
}

/// Whether the status is about the current spec.
pub(crate) fn is_settled(object: &Value) -> bool {
    object["status"]["observedGeneration"] == object["metadata"]["generation"]
}
