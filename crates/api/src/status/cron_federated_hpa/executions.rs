//! Converts single executions between the policy state and the status.

use std::cmp::Ordering;

use almanac_engine::cron_scaling::{
    ANOTHER_WRITER, Applied, DesiredScale, Execution, FiringOutcome, SUPERSEDED, UndoneValue,
};
use jiff::SignedDuration;
use serde_json::Value;

use crate::lenient;
use crate::objects::{FailedExecution, MAX_EXECUTIONS, MAX_MESSAGE, SuccessfulExecution};
use crate::status::other_writer::advice;

/// Reads the executions of one entry, newest first. Only mangled ones are skipped.
pub(super) fn read(entry: &Value) -> Vec<Execution> {
    let mut executions = read_list(&entry["successfulExecutions"], read_applied);
    executions.extend(read_list(&entry["failedExecutions"], read_failure));
    executions.sort_by(newest_first);
    executions
}

fn read_list(list: &Value, read_ending: fn(&Value) -> Option<FiringOutcome>) -> Vec<Execution> {
    let read_one = |execution: &Value| {
        let scheduled = lenient::instant(&execution["scheduleTime"])?;
        let executed = lenient::instant(&execution["executionTime"])?;
        Some(Execution::new(scheduled, executed, read_ending(execution)?))
    };
    let mut executions: Vec<Execution> =
        list.as_array().into_iter().flatten().filter_map(read_one).collect();
    executions.sort_by(newest_first);
    executions.truncate(MAX_EXECUTIONS);
    executions
}

fn read_applied(execution: &Value) -> Option<FiringOutcome> {
    // An absent field differs from a mangled one: half of the applied values would be a wrong record.
    let field = |name: &str| match &execution[name] {
        Value::Null => Some(None),
        value => lenient::count(value).map(Some),
    };
    let replicas = field("appliedReplicas")?;
    let (min, max) = (field("appliedMinReplicas")?, field("appliedMaxReplicas")?);
    if max == Some(0) {
        return None;
    }
    let message = execution["message"].as_str();
    let moved_other = message.is_some_and(|message| !message.starts_with(ANOTHER_WRITER));
    let bounds = || Applied::bounds(min, max, moved_other);
    Some(FiringOutcome::Done(replicas.map_or_else(bounds, Applied::Replicas)))
}

/// The latest success whose message reports that another field manager has replaced its value.
pub(super) fn read_undone(entry: &Value) -> Option<UndoneValue> {
    let successes = entry["successfulExecutions"].as_array()?.iter().filter_map(|execution| {
        let scheduled = lenient::instant(&execution["scheduleTime"])?;
        let message = execution["message"].as_str()?;
        let change = &message[message.find(ANOTHER_WRITER)?..];
        UndoneValue::parse(scheduled, &lenient::cut(change, MAX_MESSAGE))
    });
    successes.max_by_key(|undone| undone.scheduled)
}

/// The failure, with the message as written, which includes the number of attempts.
fn read_failure(execution: &Value) -> Option<FiringOutcome> {
    let message = lenient::cut(execution["message"].as_str()?, MAX_MESSAGE);
    Some(FiringOutcome::Failed { attempts: 0, message: message.into() })
}

fn newest_first(one: &Execution, other: &Execution) -> Ordering {
    let key = |it: &Execution| (it.scheduled(), it.executed());
    key(other).cmp(&key(one))
}

/// The successful executions, newest first. `desired` is the desired scale of the rule, if usable.
pub(super) fn write_successes(
    executions: &[Execution],
    undone: Option<&UndoneValue>,
    desired: Option<DesiredScale>,
    limit: usize,
) -> Vec<SuccessfulExecution> {
    let undone = |execution: &Execution| {
        let undone = undone.filter(|it| it.scheduled == execution.scheduled());
        undone.map(undone_message)
    };
    let write = |execution: &Execution| {
        let FiringOutcome::Done(applied) = execution.ending else { return None };
        let moved = applied.moved_other_bound().then(|| moved_bound_message(applied, desired));
        Some(SuccessfulExecution {
            schedule_time: lenient::time(execution.scheduled()),
            execution_time: lenient::time(execution.executed()),
            applied_replicas: applied.replicas().map(lenient::number),
            applied_max_replicas: applied.max().map(lenient::number),
            applied_min_replicas: applied.min().map(lenient::number),
            message: [moved, undone(execution)]
                .into_iter()
                .flatten()
                .reduce(|moved, undone| format!("{moved}; {undone}")),
        })
    };
    write_list(executions, write, limit)
}

/// The change of another field manager, and the advice about it. A message that was read from a status contains both.
pub(super) fn undone_message(undone: &UndoneValue) -> String {
    let advice = undone.by.as_deref().and_then(|by| advice(by, undone.field));
    let advice = advice.map(|advice| format!("; {advice}")).unwrap_or_default();
    format!("{}{advice}", undone.message)
}

/// The failed executions, newest first.
pub(super) fn write_failures(executions: &[Execution], limit: usize) -> Vec<FailedExecution> {
    let write = |execution: &Execution| {
        Some(FailedExecution {
            schedule_time: lenient::time(execution.scheduled()),
            execution_time: lenient::time(execution.executed()),
            message: lenient::cut(&failure_message(execution)?, MAX_MESSAGE),
        })
    };
    write_list(executions, write, limit)
}

fn write_list<T>(
    executions: &[Execution],
    write: impl Fn(&Execution) -> Option<T>,
    limit: usize,
) -> Vec<T> {
    let mut ordered: Vec<&Execution> = executions.iter().collect();
    ordered.sort_by(|one, other| newest_first(one, other));
    ordered.into_iter().filter_map(write).take(limit.min(MAX_EXECUTIONS)).collect()
}

fn failure_message(execution: &Execution) -> Option<String> {
    Some(match &execution.ending {
        FiringOutcome::Done(_) => return None,
        FiringOutcome::Failed { attempts: 0, message } => message.to_string(),
        FiringOutcome::Failed { attempts: 1, message } => format!("{GAVE_UP}1 attempt: {message}"),
        FiringOutcome::Failed { attempts, message } => {
            format!("{GAVE_UP}{attempts} attempts: {message}")
        }
        FiringOutcome::Missed => {
            let late = SignedDuration::from_secs(execution.later().as_secs());
            format!("missed by {late:#}")
        }
        FiringOutcome::Superseded { by } => format!("{SUPERSEDED} rule {by:?}"),
        FiringOutcome::Stopped => "not carried out: everything was stopped".to_owned(),
    })
}

/// The start of the message of a firing that was given up.
const GAVE_UP: &str = "gave up after ";

/// The message of a firing that was given up; `None` for any other outcome. An execution from a status is recognized by
/// its message.
pub(super) fn given_up(execution: &Execution) -> Option<String> {
    match &execution.ending {
        FiringOutcome::Failed { attempts: 0, message } if !message.starts_with(GAVE_UP) => None,
        FiringOutcome::Failed { .. } => failure_message(execution),
        FiringOutcome::Done(_)
        | FiringOutcome::Missed
        | FiringOutcome::Superseded { .. }
        | FiringOutcome::Stopped => None,
    }
}

/// Names the bound that was moved. The state records only that a bound was moved, so the rule determines which one,
/// unless the rule was changed and does not fit the applied bounds.
fn moved_bound_message(applied: Applied, desired: Option<DesiredScale>) -> String {
    let named = match desired {
        Some(DesiredScale::Bounds(bounds)) => (bounds.min(), bounds.max()),
        _ => (None, None),
    };
    let moved_max = |max| format!("maxReplicas was moved to {max} to fit minReplicas");
    let moved_min = |min| format!("minReplicas was moved to {min} to fit maxReplicas");
    match (applied.min(), applied.max()) {
        // A later firing set the rule's own bound; the bound that an earlier firing moved remains.
        (None, Some(max)) => moved_max(max),
        (Some(min), None) => moved_min(min),
        (Some(min), Some(max)) if named == (Some(min), None) => moved_max(max),
        (Some(min), Some(max)) if named == (None, Some(max)) => moved_min(min),
        _ => "one bound was moved to fit the other".to_owned(),
    }
}
