//! Reports what a placement has selected, in Events and in the log.

use std::sync::Arc;

use almanac_engine::placement::Recorded;
use almanac_engine::{RuleExplanation, Verdict, few_joined};
use almanac_shell::event_log::{Event, EventLog};

use crate::families::ReportSubject;

/// The maximum number of clusters that an Event names.
const CLUSTERS_TOLD: usize = 10;

/// Reports what has happened.
pub(super) fn report(of: &ReportSubject, recorded: &Recorded, events: &EventLog) {
    let added = u32::try_from(recorded.added.len()).unwrap_or(u32::MAX);
    let is_first = recorded.removed.is_empty() && added == recorded.selected;
    let (reason, action) = if is_first {
        ("DecisionCreate", "DecisionCreated")
    } else {
        ("DecisionUpdate", "DecisionUpdated")
    };
    emit(of, events, (reason, action), changed(recorded));
    if let Some(scores) = scores(recorded) {
        emit(of, events, ("ScoreUpdate", "ScoreUpdated"), scores);
    }
}

fn emit(
    of: &ReportSubject,
    events: &EventLog,
    (reason, action): (&'static str, &'static str),
    note: String,
) {
    tracing::info!(reason, "{note}");
    events.emit(Event { regarding: of.regarding(), is_warning: false, reason, action, note });
}

/// The clusters that were added, and those that were removed and why.
fn changed(recorded: &Recorded) -> String {
    let count = recorded.selected;
    let mut told = vec![if count == 1 {
        "1 cluster is selected".to_owned()
    } else {
        format!("{count} clusters are selected")
    }];
    if !recorded.added.is_empty() {
        told.push(format!("added {}", names(&recorded.added)));
    }
    if !recorded.removed.is_empty() {
        told.push(format!("removed {}", names(&recorded.removed)));
    }
    let gone = recorded.explanations.iter().filter(|it| it.verdict != Verdict::Won);
    told.extend(Some(few_joined(gone.map(line), "; ")).filter(|gone| !gone.is_empty()));
    told.join("; ")
}

/// The scores that ranked the added clusters.
fn scores(recorded: &Recorded) -> Option<String> {
    let come = recorded.explanations.iter().filter(|it| it.verdict == Verdict::Won);
    let ranked = come.filter(|it| it.scored.as_ref().is_some_and(|it| !it.scores.is_empty()));
    Some(few_joined(ranked.map(line), "; ")).filter(|told| !told.is_empty())
}

fn line(it: &RuleExplanation) -> String {
    format!("{}: {}", it.rule.as_deref().unwrap_or_default(), it.message)
}

fn names(clusters: &[Arc<str>]) -> String {
    let told: Vec<&str> = clusters.iter().take(CLUSTERS_TOLD).map(|it| &**it).collect();
    let more = clusters.len().saturating_sub(CLUSTERS_TOLD);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    told.join(", ") + &more
}
