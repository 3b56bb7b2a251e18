//! The highlights of a value over time: rules whose value another rule overrides, short periods without any rule, and
//! instants at which another policy takes over.
//!
//! All outputs have the same highlights: the page and the JSON have the instants, text and pictures the sentences of
//! this module.

use almanac_forecast::{Overlap, Segment, Series, Writer};
use jiff::{SignedDuration, Timestamp};

use super::agreeing::Drawn;
use super::question::View;
use super::story::times;
use crate::wall_clock::civil;

/// The maximum length of a reported gap between two rules, as in `almanac lint`. A longer gap may be intended.
const SHORT: SignedDuration = SignedDuration::from_mins(5);

/// The maximum number of sentences of one kind.
const MAX_SENTENCES: usize = 3;

/// A highlight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Highlight {
    /// The times, and the event.
    pub(super) text: String,
    /// Whether the highlight is probably a mistake: no policy determines the value.
    pub(super) is_contested: bool,
}

/// All highlights of a series, in sentences.
pub(super) fn sentences(drawn: &Drawn<'_>, view: View) -> Vec<Highlight> {
    let series = drawn.series;
    let mut all = overlap_highlights(series, &drawn.overlaps, view);
    all.extend(gap_highlights(series, view));
    all.extend(takeover_highlights(series, view));
    all
}

/// The start and the end of each highlight in order of time, and whether the highlight is contested. Start and end
/// are equal for an instant.
pub(super) fn spans(drawn: &Drawn<'_>) -> Vec<(Timestamp, Timestamp, bool)> {
    let overlaps = drawn.overlaps.iter();
    let mut all: Vec<_> =
        overlaps.map(|it| (it.from, it.to, it.rules.iter().any(|rule| !rule.is_by_rank))).collect();
    all.extend(short_gaps(drawn.series).into_iter().map(|(from, to)| (from, to, true)));
    all.extend(takeovers(drawn.series).map(|(_, _, at)| (at, at, true)));
    all.sort_unstable();
    all
}

fn overlap_highlights(series: &Series, overlaps: &[Overlap], view: View) -> Vec<Highlight> {
    let mut groups: Vec<(String, bool, Vec<&Overlap>)> = Vec::new();
    for overlap in overlaps {
        let decides = series.at(overlap.from).and_then(|it| it.origin.writer.as_ref());
        let decides = decides.map_or_else(|| "another one".to_owned(), short);
        let others: Vec<String> = overlap.rules.iter().map(|it| short(&it.rule)).collect();
        let verb = if others.len() > 1 { "request" } else { "requests" };
        let text = format!("{} {verb} another value, {decides} decides", others.join(" and "));
        if let Some((.., same)) = groups.iter_mut().find(|(known, ..)| *known == text) {
            same.push(overlap);
        } else {
            let is_contested = overlap.rules.iter().any(|it| !it.is_by_rank);
            groups.push((text, is_contested, vec![overlap]));
        }
    }
    let highlight = |(text, is_contested, same): (String, bool, Vec<&Overlap>)| {
        let spans: Vec<_> = same.iter().map(|it| (it.from, it.to)).collect();
        Highlight { text: format!("{}: {text}", when(&spans, view)), is_contested }
    };
    shortened(groups.into_iter().map(highlight).collect())
}

fn gap_highlights(series: &Series, view: View) -> Vec<Highlight> {
    let spans = short_gaps(series);
    if spans.is_empty() {
        return Vec::new();
    }
    let text = format!("{}: a gap without an open rule", when(&spans, view));
    vec![Highlight { text, is_contested: true }]
}

/// The short periods without a deciding rule, between two rules of the same policy, with another value in between.
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

/// The instants at which another policy sets another value.
fn takeovers(series: &Series) -> impl Iterator<Item = (&Writer, &Writer, Timestamp)> {
    series.segments.windows(2).filter_map(|two| {
        let [before, after] = two else { return None };
        let (one, other) = before.origin.writer.as_ref().zip(after.origin.writer.as_ref())?;
        let is_taken_over = one.policy != other.policy && before.value != after.value;
        is_taken_over.then_some((one, other, after.from))
    })
}

fn takeover_highlights(series: &Series, view: View) -> Vec<Highlight> {
    let mut groups: Vec<((&Writer, &Writer), Vec<Timestamp>)> = Vec::new();
    for (one, other, at) in takeovers(series) {
        match groups.iter_mut().find(|(known, _)| *known == (one, other)) {
            Some((_, all)) => all.push(at),
            None => groups.push(((one, other), vec![at])),
        }
    }
    let highlight = |((one, other), at): ((&Writer, &Writer), Vec<Timestamp>)| {
        let spans: Vec<_> = at.into_iter().map(|at| (at, at)).collect();
        let (one, other) = (long(one), long(other));
        let text = format!("{}: {other} takes over from {one}", when(&spans, view));
        Highlight { text, is_contested: true }
    };
    shortened(groups.into_iter().map(highlight).collect())
}

/// The name of the rule; the name of the policy if no rule is responsible.
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

/// The times of a highlight. Repeated periods are listed once; instants are reduced to their number, the first and
/// the last.
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
    let mut texts = times(spans, view);
    let more = texts.len().saturating_sub(MAX_SENTENCES);
    if more > 1 {
        texts.truncate(MAX_SENTENCES);
        texts.push(format!("and {more} times more"));
    }
    texts.join("; ")
}

fn shortened(mut all: Vec<Highlight>) -> Vec<Highlight> {
    let more = all.len().saturating_sub(MAX_SENTENCES);
    if more > 1 {
        let is_contested = all[MAX_SENTENCES..].iter().any(|it| it.is_contested);
        all.truncate(MAX_SENTENCES);
        all.push(Highlight { text: format!("and {more} more like these"), is_contested });
    }
    all
}
