//! Reports firings in Events and in the log. The note of an Event is the same for each repetition, so that repetitions
//! are counted; the log has the instant of each firing.

use almanac_api::status::other_writer::advice;
use almanac_engine::Identity;
use almanac_engine::cron_scaling::{Applied, Execution, FiringOutcome, MAX_COUNTED, Recorded};
use almanac_shell::event_log::{Event, EventLog};
use jiff::{SignedDuration, Timestamp};
use tracing::field::display;

use crate::families::ReportSubject;

/// Reports the record of a rule. Intermediate steps go to the log only.
pub(super) fn report(subject: &ReportSubject, recorded: &Recorded, events: &EventLog) {
    let Some((rule, event)) = event_of(subject, recorded) else { return };
    let (reason, scheduled) = (event.reason, scheduled(recorded).map(display));
    if event.is_warning {
        tracing::warn!(%rule, reason, scheduled, "{}", event.note);
    } else {
        tracing::info!(%rule, reason, scheduled, "{}", event.note);
    }
    events.emit(event);
}

/// The firing that is reported.
fn scheduled(recorded: &Recorded) -> Option<Timestamp> {
    match recorded {
        Recorded::Ended { execution, .. } => Some(execution.scheduled()),
        Recorded::AttemptFailed { scheduled, .. } | Recorded::Undone { scheduled, .. } => {
            Some(*scheduled)
        }
        Recorded::Missed { .. } | Recorded::ClockWasAhead { .. } => None,
    }
}

fn event_of<'a>(subject: &ReportSubject, recorded: &'a Recorded) -> Option<(&'a str, Event)> {
    Some(match recorded {
        Recorded::Ended { rule, execution } => (rule, ended(subject, rule, execution)),
        Recorded::AttemptFailed { rule, scheduled, attempts, message } => {
            tracing::info!(%rule, %scheduled, attempts, "an attempt failed: {message}");
            return None;
        }
        Recorded::Missed { rule, count, first, last, late } => (
            rule,
            event(
                subject,
                true,
                "RuleMissed",
                missed(subject, rule, *count, (*first, *last), *late),
            ),
        ),
        Recorded::Undone { rule, field, set, found, .. } => {
            let writer = subject.changed_by.as_deref();
            let writer = writer.map_or_else(String::new, |name| format!(", {name},"));
            let advice = subject.changed_by.as_deref().and_then(|by| advice(by, *field));
            let advice = advice.map_or_else(String::new, |advice| format!(": {advice}"));
            let note = format!(
                "rule {rule} set {field} of {} to {set}; another writer{writer} has since set \
                 it to {found}. That value is kept{advice}",
                target(subject)
            );
            (rule, event(subject, true, "UndoneByAnotherWriter", note))
        }
        Recorded::ClockWasAhead { rule, until } => {
            let note = format!(
                "rule {rule} was handled up to {until}. That is far in the future: a clock was \
                 wrong. The record is discarded, and the rule continues from now"
            );
            (rule, event(subject, true, "ClockWasAhead", note))
        }
    })
}

fn ended(subject: &ReportSubject, rule: &str, execution: &Execution) -> Event {
    let target = target(subject);
    let (reason, is_warning, what) = match &execution.ending {
        FiringOutcome::Done(applied) => {
            ("ScaledByRule", false, describe_applied(&target, *applied))
        }
        FiringOutcome::Failed { attempts, message } => {
            let plural = if *attempts == 1 { "" } else { "s" };
            let what =
                format!("failed to change {target} after {attempts} attempt{plural}: {message}");
            ("RuleFailed", true, what)
        }
        FiringOutcome::Superseded { by } => {
            ("RuleSuperseded", false, format!("was superseded by {by}"))
        }
        FiringOutcome::Missed => {
            let at = execution.scheduled();
            ("RuleMissed", true, format!("was missed at {at}; {target} was not changed"))
        }
        FiringOutcome::Stopped => {
            let what =
                format!("was not applied because everything is stopped; {target} was not changed");
            ("RuleStopped", false, what)
        }
    };
    event(subject, is_warning, reason, format!("rule {rule} {what}"))
}

fn missed(
    subject: &ReportSubject,
    rule: &str,
    count: u32,
    (first, last): (Timestamp, Timestamp),
    late: SignedDuration,
) -> String {
    let late = SignedDuration::from_secs(late.as_secs());
    let target = target(subject);
    if count == 1 {
        return format!(
            "rule {rule} missed its firing of {last} by {late:#}; {target} was not changed"
        );
    }
    let at_least = if count < MAX_COUNTED { "" } else { "at least " };
    format!(
        "rule {rule} missed {at_least}{count} firings from {first} to {last}, the last by {late:#}; \
         {target} was not changed"
    )
}

fn target(subject: &ReportSubject) -> String {
    subject.target.as_ref().map_or_else(|| "its target".to_owned(), Identity::to_string)
}

fn event(subject: &ReportSubject, is_warning: bool, reason: &'static str, note: String) -> Event {
    Event { regarding: subject.regarding(), is_warning, reason, action: "Scale", note }
}

fn describe_applied(target: &str, applied: Applied) -> String {
    let bound = |name: &str, bound: Option<u32>| bound.map(|it| format!("{name} to {it}"));
    let fields = match applied {
        Applied::Replicas(replicas) => format!("replicas to {replicas}"),
        Applied::Bounds { .. } => {
            let bounds = [bound("minReplicas", applied.min()), bound("maxReplicas", applied.max())];
            bounds.into_iter().flatten().collect::<Vec<_>>().join(" and ")
        }
    };
    format!("set the {fields} of {target}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use almanac_engine::{Family, Field, PolicyName};

    use super::*;

    fn at(instant: &str) -> Timestamp {
        instant.parse().expect("the instant is valid")
    }

    /// The Event about a rule, as type, reason and note.
    fn line(recorded: &Recorded) -> String {
        line_after(recorded, None)
    }

    /// The Event about a rule, with a known last field manager of the target.
    fn line_after(recorded: &Recorded, changed_by: Option<&str>) -> String {
        let object = Identity::new("autoscaling.karmada.io", "CronFederatedHPA", "default", "shop");
        let subject = ReportSubject {
            policy: PolicyName::new(Family::CronScaling, object),
            uid: "1".into(),
            target: None,
            changed_by: changed_by.map(Arc::from),
        };
        let (_, event) = event_of(&subject, recorded).expect("the record has an Event");
        let kind = if event.is_warning { "Warning" } else { "Normal" };
        format!("{kind} {}: {}", event.reason, event.note)
    }

    #[test]
    fn a_superseded_firing_is_not_a_failure() {
        let (scheduled, ending) =
            (at("2026-11-20T09:00:00Z"), FiringOutcome::Superseded { by: "b".into() });
        let execution = Execution::new(scheduled, scheduled, ending);
        assert_eq!(
            line(&Recorded::Ended { rule: Arc::from("a"), execution }),
            "Normal RuleSuperseded: rule a was superseded by b"
        );
    }

    #[test]
    fn an_abandoned_firing_is_a_warning_with_the_reason() {
        let scheduled = at("2026-11-20T09:00:00Z");
        let ending = FiringOutcome::Failed { attempts: 3, message: "etcd is gone".into() };
        let execution = Execution::new(scheduled, scheduled, ending);
        let text = line(&Recorded::Ended { rule: Arc::from("a"), execution });
        assert!(text.starts_with("Warning RuleFailed: rule a "), "{text}");
        assert!(text.contains("3 attempts") && text.ends_with("etcd is gone"), "{text}");
    }

    #[test]
    fn firings_missed_together_are_one_event_in_whole_seconds() {
        let (first, last) = (at("2026-11-20T08:00:00Z"), at("2026-11-20T09:00:00Z"));
        let late = SignedDuration::new(386, 796_485_599);
        let missed = |count, first| Recorded::Missed { rule: "a".into(), count, first, last, late };
        assert_eq!(
            line(&missed(1, last)),
            "Warning RuleMissed: rule a missed its firing of 2026-11-20T09:00:00Z by 6m 26s; \
             its target was not changed"
        );
        assert_eq!(
            line(&missed(61, first)),
            "Warning RuleMissed: rule a missed 61 firings from 2026-11-20T08:00:00Z to \
             2026-11-20T09:00:00Z, the last by 6m 26s; its target was not changed"
        );
    }

    #[test]
    fn a_value_undone_by_another_writer_is_reported_with_both_values_and_the_writer() {
        let (scheduled, field) = (at("2026-11-20T09:00:00Z"), Field::Replicas);
        let undone = Recorded::Undone { rule: "a".into(), scheduled, field, set: 5, found: 2 };
        let expected = |writer: &str| {
            format!(
                "Warning UndoneByAnotherWriter: rule a set replicas of its target to 5; {writer} has \
                 since set it to 2. That value is kept"
            )
        };
        assert_eq!(line(&undone), expected("another writer"));
        let argo = line_after(&undone, Some("argocd-controller"));
        let (text, advice) = argo.split_at(expected("another writer, argocd-controller,").len());
        assert_eq!(text, expected("another writer, argocd-controller,"));
        assert!(advice.contains("/spec/replicas to ignoreDifferences"), "{advice}");
    }

    #[test]
    fn a_clock_that_was_ahead_is_a_warning() {
        let until = at("2026-12-20T09:00:00Z");
        let text = line(&Recorded::ClockWasAhead { rule: "a".into(), until });
        assert!(text.starts_with("Warning ClockWasAhead: rule a was handled up to 2026-12-20"));
    }
}
