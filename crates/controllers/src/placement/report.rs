//! Reports the selections of placements, in Events and in the log.

use std::sync::Arc;

use almanac_engine::placement::Recorded;
use almanac_engine::{RuleExplanation, Verdict, few_joined};
use almanac_shell::event_log::{Event, EventLog};

use crate::families::ReportSubject;

/// The maximum number of clusters that an Event names.
const MAX_NAMED_CLUSTERS: usize = 10;

/// Reports a record.
pub(super) fn report(subject: &ReportSubject, recorded: &Recorded, events: &EventLog) {
    let added = u32::try_from(recorded.added.len()).unwrap_or(u32::MAX);
    let is_first = recorded.removed.is_empty() && added == recorded.selected;
    let (reason, action) = if is_first {
        ("DecisionCreate", "DecisionCreated")
    } else {
        ("DecisionUpdate", "DecisionUpdated")
    };
    emit(subject, events, (reason, action), describe_change(recorded));
    if let Some(scores) = scores(recorded) {
        emit(subject, events, ("ScoreUpdate", "ScoreUpdated"), scores);
    }
}

fn emit(
    subject: &ReportSubject,
    events: &EventLog,
    (reason, action): (&'static str, &'static str),
    note: String,
) {
    tracing::info!(reason, "{note}");
    events.emit(Event { regarding: subject.regarding(), is_warning: false, reason, action, note });
}

/// The added clusters, and the removed clusters with the reasons.
fn describe_change(recorded: &Recorded) -> String {
    let count = recorded.selected;
    let mut parts = vec![if count == 1 {
        "1 cluster is selected".to_owned()
    } else {
        format!("{count} clusters are selected")
    }];
    if !recorded.added.is_empty() {
        parts.push(format!("added {}", names(&recorded.added)));
    }
    if !recorded.removed.is_empty() {
        parts.push(format!("removed {}", names(&recorded.removed)));
    }
    let losers = recorded.explanations.iter().filter(|it| it.verdict != Verdict::Won);
    parts.extend(Some(few_joined(losers.map(line), "; ")).filter(|text| !text.is_empty()));
    parts.join("; ")
}

/// The scores that ranked the added clusters.
fn scores(recorded: &Recorded) -> Option<String> {
    let winners = recorded.explanations.iter().filter(|it| it.verdict == Verdict::Won);
    let ranked = winners.filter(|it| it.scored.as_ref().is_some_and(|it| !it.scores.is_empty()));
    Some(few_joined(ranked.map(line), "; ")).filter(|text| !text.is_empty())
}

fn line(it: &RuleExplanation) -> String {
    format!("{}: {}", it.rule.as_deref().unwrap_or_default(), it.message)
}

fn names(clusters: &[Arc<str>]) -> String {
    let names: Vec<&str> = clusters.iter().take(MAX_NAMED_CLUSTERS).map(|it| &**it).collect();
    let more = clusters.len().saturating_sub(MAX_NAMED_CLUSTERS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.join(", ") + &more
}
