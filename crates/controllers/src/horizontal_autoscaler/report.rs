//! Reports the records of an autoscaler, in Events and in the log. A failure is only logged here; its condition emits
//! one Event.

use almanac_api::status::other_writer::advice;
use almanac_engine::metric_scaling::Recorded;
use almanac_engine::{Field, Identity};
use almanac_shell::event_log::{Event, EventLog};

use crate::families::ReportSubject;

/// Reports a record.
pub(super) fn report(subject: &ReportSubject, recorded: &Recorded, events: &EventLog) {
    match event_of(subject, recorded) {
        Some(event) if event.is_warning => {
            tracing::warn!(reason = event.reason, "{}", event.note);
            events.emit(event);
        }
        Some(event) => {
            tracing::info!(reason = event.reason, "{}", event.note);
            events.emit(event);
        }
        None => {
            if let Recorded::Failed { to, message } = recorded {
                let target = target(subject);
                tracing::warn!(replicas = to, "failed to scale {target}: {message}");
            }
        }
    }
}

fn event_of(subject: &ReportSubject, recorded: &Recorded) -> Option<Event> {
    let target = target(subject);
    let (is_warning, reason, note) = match recorded {
        Recorded::Scaled { from, to, metric } => {
            let from = from.map(|from| format!(" from {from}")).unwrap_or_default();
            let why = match metric {
                Some(position) => format!("as metrics[{position}] recommends"),
                None => "to be within the bounds".to_owned(),
            };
            (false, "Scaled", format!("set the replicas of {target}{from} to {to}, {why}"))
        }
        Recorded::Undone { set, found, .. } => {
            let writer = subject.changed_by.as_deref();
            let writer = writer.map_or_else(String::new, |name| format!(", {name},"));
            let advice = subject.changed_by.as_deref().and_then(|by| advice(by, Field::Replicas));
            let advice =
                advice.unwrap_or_else(|| "scale the target with only one of them".to_owned());
            let note = format!(
                "set the replicas of {target} to {set}; another writer{writer} has since set them to {found}. \
                 They are set again at growing intervals: {advice}"
            );
            (true, "UndoneByAnotherWriter", note)
        }
        Recorded::Failed { .. } => return None,
    };
    Some(Event { regarding: subject.regarding(), is_warning, reason, action: "Scale", note })
}

fn target(subject: &ReportSubject) -> String {
    subject.target.as_ref().map_or_else(|| "its target".to_owned(), Identity::to_string)
}
