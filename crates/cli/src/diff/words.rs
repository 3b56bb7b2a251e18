//! Changes in words: values, pod-hours and peaks, a sentence for each change, and a paragraph for all changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

use almanac_engine::{Field, Value};
use almanac_forecast::{Assumption, PodHours, Presence, Side, Stretch, merge_sentences};

use super::change_groups::ChangeGroup;
use super::question::{Assumptions, Question};
use super::rows::{Change, Row, Unit};
use crate::forecast::{in_zone, writer_name};
use crate::wall_clock::civil;

/// The maximum length of a list of names that is written in full. Longer lists have only added and removed names.
const MAX_FULL_LIST: usize = 3;

/// The maximum number of listed names; the text has the number of the others.
const MAX_NAMES: usize = 12;

/// The maximum number of rows in a sentence.
const MAX_ROWS_IN_SENTENCE: usize = 3;

/// The period: `Mon 2026-11-23 00:00 +01:00 to Mon 2026-12-28 00:00 +01:00 (Europe/Berlin)`.
pub(super) fn period(question: &Question<'_>) -> String {
    let (from, to) = (question.period.from(), question.period.to());
    let zone = question.zone;
    format!("{} to {}{}", civil(zone, from), civil(zone, to), in_zone(zone))
}

/// The reasons that the comparison is incomplete; `None` if it is complete.
pub(super) fn incomplete(question: &Question<'_>) -> Option<String> {
    let mut sentences = Vec::new();
    if let [first, more @ ..] = &*question.coverage.incomplete {
        let more = more.len();
        let all = if more > 0 { format!("{first} and {more} more") } else { first.clone() };
        sentences.push(format!(
            "The new side is incomplete: {all} cannot be used as written. Anything that depends on it is not compared; \
             see the findings."
        ));
    }
    if !question.coverage.uncompared.is_empty() {
        sentences.push(format!(
            "Not compared, although it differs: {}. Almanac does not read it in this form; see the notes.",
            some_of(&question.coverage.uncompared)
        ));
    }
    if !question.coverage.unrendered.is_empty() {
        sentences.push(format!(
            "Not rendered, so not compared: {}; see the findings and the notes.",
            some_of(&question.coverage.unrendered)
        ));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// The rendered directories; `None` without any.
pub(super) fn rendered(question: &Question<'_>) -> Option<String> {
    let all = &question.coverage.rendered;
    (!all.is_empty()).then(|| format!("Rendered on both sides: {}.", some_of(all)))
}

/// The assumptions in lines: those of both sides, those of the old side only, and those of the new side only.
pub(super) fn assumed([old, new]: &Assumptions) -> Vec<String> {
    let of_both = lines(old.intersection(new));
    let of_old = lines(old.difference(new)).into_iter().map(|it| format!("old: {it}"));
    let of_new = lines(new.difference(old)).into_iter().map(|it| format!("new: {it}"));
    of_both.into_iter().chain(of_old).chain(of_new).collect()
}

/// Assumptions in lines. Equal assumptions about several objects are one line.
pub(super) fn lines<'a>(assumptions: impl Iterator<Item = &'a Assumption>) -> Vec<String> {
    let mut lines = merge_sentences(assumptions.map(Assumption::sentence));
    lines.sort();
    lines
}

/// The forecasts that contain a field, as in JSON.
pub(super) fn presence(presence: Presence) -> &'static str {
    match presence {
        Presence::Both => "both",
        Presence::Added => "added",
        Presence::Removed => "removed",
    }
}

/// The object of a change, with its place.
pub(super) fn title(change: &Change) -> String {
    match &change.place {
        Some(place) => format!("{place}: {}", change.target),
        None => change.target.to_string(),
    }
}

/// One sentence, without the title.
pub(super) fn sentence(group: &ChangeGroup) -> String {
    let change = &group.change;
    let row_texts: Vec<String> =
        change.rows.iter().take(MAX_ROWS_IN_SENTENCE).map(|row| row_text(change, row)).collect();
    let more = change.rows.len() - row_texts.len() + change.more;
    let mut parts = vec![match change.presence {
        Presence::Both => row_texts.join("; "),
        Presence::Added => format!("newly set by a policy: {}", row_texts.join("; ")),
        Presence::Removed if change.has_both_values() => {
            format!("no longer set by any policy: {}", row_texts.join("; "))
        }
        Presence::Removed => {
            format!("no longer set by any policy; it was {}", row_texts.join("; "))
        }
    }];
    parts.extend((more > 0).then(|| format!("and {more} more")));
    parts.extend(hours(group));
    let peaks = peaks(change);
    let has_peaks = !peaks.is_empty() && change.has_both_values();
    let each = if group.count > 1 { " each" } else { "" };
    parts.extend(has_peaks.then(|| format!("peak {peaks}{each}")));
    parts.join("; ")
}

/// A row in words: `2 → 40 replicas Fri 17:00 to Mon 09:00, each week`.
fn row_text(change: &Change, row: &Row) -> String {
    let (before, after) = values(&row.first);
    let values = match change.presence {
        _ if change.has_both_values() => format!("{before} → {after}"),
        Presence::Removed => before,
        Presence::Added | Presence::Both => after,
    };
    match change.field {
        Field::Replicas if values == "1" => format!("1 replica {}", row.when),
        Field::Replicas => format!("{values} replicas {}", row.when),
        field => format!("{field} {values} {}", row.when),
    }
}

/// The values before and after. Long lists are reduced to their differences.
pub(super) fn values(stretch: &Stretch) -> (String, String) {
    let value_of = |side: &Option<Side>| side.as_ref().and_then(|side| side.value.clone());
    match (value_of(&stretch.before), value_of(&stretch.after)) {
        (Some(Value::Names(before)), Some(Value::Names(after)))
            if before.len().max(after.len()) > MAX_FULL_LIST =>
        {
            (
                count_with_difference(&before, &after, "removed"),
                count_with_difference(&after, &before, "new"),
            )
        }
        (Some(Value::Numbers(before)), Some(Value::Numbers(after))) => {
            let differ = |name: &&Arc<str>| before.get(*name) != after.get(*name);
            let names: BTreeSet<&Arc<str>> =
                before.keys().chain(after.keys()).filter(differ).collect();
            (numbers(&before, &names), numbers(&after, &names))
        }
        _ => (value(stretch.before.as_ref()), value(stretch.after.as_ref())),
    }
}

/// The number of names, and the names that the other set lacks: `12, new: a, b`.
fn count_with_difference(
    own: &BTreeSet<Arc<str>>,
    other: &BTreeSet<Arc<str>>,
    word: &str,
) -> String {
    let only: Vec<String> = own.difference(other).map(ToString::to_string).collect();
    let count = own.len();
    if only.is_empty() {
        format!("{count}")
    } else {
        format!("{count}, {word}: {}", some_of(&only))
    }
}

fn numbers(all: &BTreeMap<Arc<str>, u32>, names: &BTreeSet<&Arc<str>>) -> String {
    let listed = names.iter().filter_map(|name| Some(((*name).clone(), *all.get(*name)?)));
    let some: BTreeMap<Arc<str>, u32> = listed.clone().take(MAX_NAMES).collect();
    let more = listed.count() - some.len();
    let text = Value::Numbers(Arc::new(some)).to_string();
    if more > 0 { format!("{text} and {more} more") } else { text }
}

/// A list of names, cut to the maximum: `a, b and 7 more`.
fn some_of(names: &[String]) -> String {
    let text = names[..names.len().min(MAX_NAMES)].join(", ");
    let more = names.len().saturating_sub(MAX_NAMES);
    if more > 0 { format!("{text} and {more} more") } else { text }
}

fn value(side: Option<&Side>) -> String {
    match side {
        None => "not set".to_owned(),
        Some(Side { value: None, .. }) => "unknown".to_owned(),
        Some(Side { value: Some(value), .. }) => value.to_string(),
    }
}

/// The policy and the rule of both sides, `a rule → b rule`, or `a rule` if both are equal. A note explains the
/// difference.
pub(super) fn set_by(row: &Row) -> String {
    let writer = |side: &Option<Side>| side.as_ref().and_then(|it| writer_name(&it.origin));
    let text = match (writer(&row.first.before), writer(&row.first.after)) {
        (Some(one), Some(other)) if one == other => one,
        (Some(one), Some(other)) => format!("{one} → {other}"),
        (Some(one), None) => format!("{one} →"),
        (None, Some(other)) => format!("→ {other}"),
        (None, None) => String::new(),
    };
    match row.first.note {
        Some(note) if text.is_empty() => note.to_owned(),
        Some(note) => format!("{text}; {note}"),
        None => text,
    }
}

/// The growth of a group: `+2,432 pod-hours a week`.
fn hours(group: &ChangeGroup) -> Option<String> {
    let unit = Unit::for_field(&group.change.target, group.change.field)?;
    Some(a_week(group.growth()?.a_week(group.change.period), unit))
}

pub(super) fn a_week(hours: PodHours, unit: Unit) -> String {
    let (word, rest) = match unit {
        Unit::Pods => ("pod-hours", ""),
        Unit::Nodes => ("node-hours", ""),
        Unit::AtLeast => ("pod-hours", " at the least"),
        Unit::InUnits => ("pod-hours", " in units"),
        Unit::Waiting => ("pod-hours", " of waiting"),
    };
    format!("{} {word} a week{rest}", signed(hours))
}

/// The peaks before and after: `10 → 40`, or `spot 3 → 5, on-demand 2 → 4`; empty without a difference.
pub(super) fn peaks(change: &Change) -> String {
    let text = |peak: Option<u32>| peak.map_or("none".to_owned(), |it| it.to_string());
    let differ = change.peaks.iter().filter(|(_, before, after)| before != after);
    let peaks = differ.map(|(name, before, after)| {
        let name = name.as_ref().map_or(String::new(), |name| format!("{name} "));
        let peaks = match change.presence {
            _ if change.has_both_values() => format!("{} → {}", text(*before), text(*after)),
            Presence::Removed => text(*before),
            Presence::Added | Presence::Both => text(*after),
        };
        name + &peaks
    });
    peaks.collect::<Vec<_>>().join(", ")
}

/// Pod-hours with a sign and groups of three digits: `+2,432.5`.
pub(super) fn signed(hours: PodHours) -> String {
    let text = hours.to_string();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None if hours == PodHours::default() => ("", &*text),
        None => ("+", &*text),
    };
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{rest}")
}

/// A list in words: `a, b and c`.
pub(super) fn listed(all: &[impl Display]) -> String {
    match all {
        [] => String::new(),
        [only] => only.to_string(),
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(ToString::to_string).collect();
            format!("{} and {last}", most.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pod_hours_have_a_sign_and_groups_of_three_digits() {
        let hour = 3_600_000_000_000;
        for (pods, expected) in
            [(2432, "+2,432"), (-1_000_000, "-1,000,000"), (0, "0"), (999, "+999")]
        {
            assert_eq!(signed(PodHours::new(pods, hour)), expected);
        }
        assert_eq!(signed(PodHours::new(1, hour / 4)), "+0.25");
    }
}
