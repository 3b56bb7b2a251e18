//! The highlights of a value over time: rules whose value another rule overrides, short times without any rule, and
//! times at which another policy takes over.
//!
//! All outputs have the same: the page and the JSON have the times, text and pictures the sentences that are found
//! here.

use almanac_forecast::{Overlap, Segment, Series, Writer};
use jiff::{SignedDuration, Timestamp};

use super::agreeing::Drawn;
use super::question::View;
use super::story::times;
use crate::wall_clock::civil;

/// Between two rules, a longer time without one may be meant; `almanac lint` says the same.
const SHORT: SignedDuration = SignedDuration::from_mins(5);

/// The most sentences of one sort.
const TOLD: usize = 3;

/// A highlight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Highlight {
    /// When, and what.
    pub(super) told: String,
    /// Whether it is probably a mistake: no policy says which value applies.
    pub(super) is_contested: bool,
}

/// All highlights of a series, in sentences.
pub(super) fn sentences(drawn: &Drawn<'_>, view: View) -> Vec<Highlight> {
    let series = drawn.series;
    let mut all = told_overlaps(series, &drawn.overlaps, view);
    all.extend(told_gaps(series, view));
    all.extend(told_takeovers(series, view));
    all
}

/// The start and the end of each highlight, and whether it is contested: in order; both are equal for an instant.
pub(super) fn spans(drawn: &Drawn<'_>) -> Vec<(Timestamp, Timestamp, bool)> {
    let overlaps = drawn.overlaps.iter();
    let mut all: Vec<_> =
        overlaps.map(|it| (it.from, it.to, it.rules.iter().any(|rule| !rule.is_by_rank))).collect();
    all.extend(short_gaps(drawn.series).into_iter().map(|(from, to)| (from, to, true)));
    all.extend(takeovers(drawn.series).map(|(_, _, at)| (at, at, true)));
    all.sort_unstable();
    all
}

fn told_overlaps(series: &Series, overlaps: &[Overlap], view: View) -> Vec<Highlight> {
    let mut groups: Vec<(String, bool, Vec<&Overlap>)> = Vec::new();
    for overlap in overlaps {
        let decides = series.at(overlap.from).and_then(|it| it.origin.writer.as_ref());
        let decides = decides.map_or_else(|| "another one".to_owned(), short);
        let others: Vec<String> = overlap.rules.iter().map(|it| short(&it.rule)).collect();
        let ask = if others.len() > 1 { "ask" } else { "asks" };
        let told = format!("{} {ask} for another value, {decides} decides", others.join(" and "));
        if let Some((.., alike)) = groups.iter_mut().find(|(known, ..)| *known == told) {
            alike.push(overlap);
        } else {
            let is_contested = overlap.rules.iter().any(|it| !it.is_by_rank);
            groups.push((told, is_contested, vec![overlap]));
        }
    }
    let told = |(told, is_contested, alike): (String, bool, Vec<&Overlap>)| {
        let spans: Vec<_> = alike.iter().map(|it| (it.from, it.to)).collect();
        Highlight { told: format!("{}: {told}", when(&spans, view)), is_contested }
    };
    shortened(groups.into_iter().map(told).collect())
}

fn told_gaps(series: &Series, view: View) -> Vec<Highlight> {
    let spans = short_gaps(series);
    if spans.is_empty() {
        return Vec::new();
    }
    let told = format!("{}: a gap, in which no rule is open", when(&spans, view));
    vec![Highlight { told, is_contested: true }]
}

/// From when to when no rule decides for a short time between two that do, though the value is another one then.
fn short_gaps(series: &Series) -> Vec<(Timestamp, Timestamp)> {
    let is_gap = |[before, within, after]: &[&Segment; 3]| {
        let of_rule = |it: &Segment| it.origin.writer.as_ref().is_some_and(|it| it.rule.is_some());
        let policy = |it: &Segment| it.origin.writer.as_ref().map(|it| it.policy.clone());
        within.to.duration_since(within.from) <= SHORT
            && of_rule(before)
            && of_rule(after)
            && !of_rule(within)
            && policy(before) == policy(within)
            && policy(within) == policy(after)
            && before.value != within.value
            && within.value != after.value
    };
    let threes = series.segments.windows(3).map(|it| [&it[0], &it[1], &it[2]]);
    threes.filter(is_gap).map(|[_, within, _]| (within.from, within.to)).collect()
}

/// When another policy sets another value than the one that has set it before.
fn takeovers(series: &Series) -> impl Iterator<Item = (&Writer, &Writer, Timestamp)> {
    series.segments.windows(2).filter_map(|two| {
        let [before, after] = two else { return None };
        let (one, other) = before.origin.writer.as_ref().zip(after.origin.writer.as_ref())?;
        let is_taken_over = one.policy != other.policy && before.value != after.value;
        is_taken_over.then_some((one, other, after.from))
    })
}

fn told_takeovers(series: &Series, view: View) -> Vec<Highlight> {
    let mut groups: Vec<((&Writer, &Writer), Vec<Timestamp>)> = Vec::new();
    for (one, other, at) in takeovers(series) {
        match groups.iter_mut().find(|(known, _)| *known == (one, other)) {
            Some((_, all)) => all.push(at),
            None => groups.push(((one, other), vec![at])),
        }
    }
    let told = |((one, other), at): ((&Writer, &Writer), Vec<Timestamp>)| {
        let spans: Vec<_> = at.into_iter().map(|at| (at, at)).collect();
        let (one, other) = (long(one), long(other));
        let told = format!("{}: {other} takes over from {one}", when(&spans, view));
        Highlight { told, is_contested: true }
    };
    shortened(groups.into_iter().map(told).collect())
}

/// The rule; the policy as well where it decides as a whole.
fn short(writer: &Writer) -> String {
    writer
        .rule
        .as_ref()
        .map_or_else(|| writer.policy.identity.name().to_owned(), ToString::to_string)
}

fn long(writer: &Writer) -> String {
    let rule = writer.rule.as_ref().map_or(String::new(), |rule| format!(" {rule}"));
    format!("{}{rule}", writer.policy.identity.name())
}

/// A repeated time is reported once; of instants the first, and how many there are.
fn when(spans: &[(Timestamp, Timestamp)], view: View) -> String {
    if let Some((first, _)) = spans.first().filter(|(from, to)| from == to) {
        let zone = view.zone;
        let first = civil(zone, *first);
        return match spans {
            [_] => first,
            [.., (last, _)] => {
                format!("{} times, {first} … {}", spans.len(), civil(zone, *last))
            }
            [] => String::new(),
        };
    }
    let mut told = times(spans, view);
    let more = told.len().saturating_sub(TOLD);
    if more > 1 {
        told.truncate(TOLD);
        told.push(format!("and {more} times more"));
    }
    told.join("; ")
}

fn shortened(mut all: Vec<Highlight>) -> Vec<Highlight> {
    let more = all.len().saturating_sub(TOLD);
    if more > 1 {
        let is_contested = all[TOLD..].iter().any(|it| it.is_contested);
        all.truncate(TOLD);
        all.push(Highlight { told: format!("and {more} more like these"), is_contested });
    }
    all
}
