//! The data of the page: a row for each series, with its steps as a column of numbers.
//!
//! Most series repeat a few steps of a length, a value and a reason. Each distinct step is written once. The column
//! lists the indexes of the steps, and contains each repetition once (see [`repeats`]). So a year of a thousand
//! policies needs a few megabytes, and of a `CronJob` a few lines. Writers and reasons are written once for each
//! part, and so are their locations.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use almanac_engine::{Family, Identity, PolicyName, Slim, Value};
use almanac_forecast::{ForecastFinding, Origin, Outranked, Overlap, Part, Period, Series, Writer};
use serde_json::json;

use super::repeats;
use crate::cron_jobs::ShownCronJob;
use crate::explain::json::json_of;
use crate::forecast::agreeing::Drawn;
use crate::forecast::json::WithoutFirstByte;
use crate::forecast::question::{PlaceForecast, Question, View, has_few_pairs};
use crate::forecast::{highlights, position_in, story};
use crate::input::InputPlace;

/// The maximum number of values that depend on each other to search for likely mistakes; `almanac lint` searches among
/// more.
const MAX_SEARCHED_SERIES: usize = 50;

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    output.write_all(b"{\"parts\":[")?;
    let assumptions = question.write_parts(
        |context, part, part_writer| {
            let of_rule = |writer: &Writer| {
                question.input.written_at(context.place, &writer.policy, writer.rule.as_deref())
            };
            let is_small = part.series.len() <= MAX_SEARCHED_SERIES;
            let findings = if is_small { question.findings(context) } else { Vec::new() };
            let drawn = question.drawn(context, part);
            let left_out = [
                (!is_small).then_some("likely mistakes, which almanac lint reports"),
                (!has_few_pairs(context.place, part))
                    .then_some("windows that are open at the same time"),
            ];
            let part_data = PartContent { drawn: &drawn, findings: &findings, left_out: &left_out };
            write_part((question.view, context.place), (part, &part_data), of_rule, part_writer)
        },
        &mut WithoutFirstByte::new(&mut *output),
    )?;
    let jobs = question.forecasts.iter().flat_map(|PlaceForecast { place, cron_jobs, .. }| {
        cron_jobs.iter().map(move |job| (place.name.as_deref(), *job))
    });
    let occurrences: Vec<_> =
        jobs.filter_map(|(place, job)| starts(place, job, question.view.period)).collect();
    let clock_changes: Vec<_> = question
        .clock_changes()
        .iter()
        .map(|(place, touched)| {
            json!({"place": place.name, "at": touched.at().as_millisecond(), "told": touched.to_string()})
        })
        .collect();
    let findings = question.input.items();
    let rest = json!({
        "occurrences": occurrences,
        "clockChanges": clock_changes,
        "assumptions": question.assumptions_in_short(&assumptions, true),
        "findings": findings,
    });
    let rest = rest.to_string();
    writeln!(output, "],{}", rest.trim_start_matches('{'))?;
    Ok(())
}

/// The Job starts of a `CronJob`: the first start, and the steps between starts; `None` without starts.
fn starts(place: Option<&str>, job: &ShownCronJob, period: Period) -> Option<serde_json::Value> {
    let mut starts = job.starts(period).map(jiff::Timestamp::as_millisecond);
    let first = starts.next()?;
    let (mut run, mut steps) = (Vec::new(), Numbered::default());
    let mut last = first;
    for at in starts {
        run.push(steps.position(at - last));
        last = at;
    }
    let mut column = json!({
        "place": place, "object": names(&job.identity), "first": first, "run": repeats::column(&run),
        "steps": steps.in_order(),
    });
    if let Some(written_at) = &job.written_at {
        column["location"] = json!(written_at.to_string());
    }
    Some(column)
}

/// The data of a part of the forecast.
struct PartContent<'a> {
    drawn: &'a [Drawn<'a>],
    findings: &'a [ForecastFinding],
    /// The names of omitted checks; `None` for a performed check.
    left_out: &'a [Option<&'static str>],
}

/// Writes a part, with a comma before it. `written_at` returns the location of a rule.
fn write_part(
    (view, place): (View, &InputPlace),
    (part, part_data): (&Part, &PartContent<'_>),
    written_at: impl Fn(&Writer) -> Option<String>,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let (mut origins, mut outranked) = (Origins::default(), Vec::new());
    write!(output, ",\n{{\"place\":{},\"rows\":[", json!(place.name))?;
    for (index, drawn) in part_data.drawn.iter().enumerate() {
        output.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        write_row((view, place), (drawn, &part.series), (&mut origins, &mut outranked), output)?;
    }
    let mut writers: Vec<Writer> = Vec::new();
    let number_of = |writers: &mut Vec<Writer>, writer: &Writer| {
        position_in(writers, |it| it == writer, || writer.clone())
    };
    let idle: Vec<&Writer> = part_data.drawn.iter().flat_map(|it| &it.idle).collect();
    let of_origin = |origin: &Arc<Origin>| {
        let writer = origin.writer.as_ref().map(|it| number_of(&mut writers, it));
        json!([writer, origin.reason])
    };
    let all: Vec<_> = origins.all.iter().map(of_origin).collect();
    let rules = |rules: &Arc<[Outranked]>| -> serde_json::Value {
        let one =
            |it: &Outranked| json!([number_of(&mut writers, &it.rule), it.because, it.is_by_rank]);
        rules.iter().map(one).collect()
    };
    let outranked: Vec<_> = outranked.iter().map(rules).collect();
    let writer = |writer: &Writer| {
        let policy = names(&writer.policy.identity);
        let mut json =
            json!({"policy": policy, "rule": writer.rule.as_deref(), "at": written_at(writer)});
        if idle.contains(&writer) {
            json["idle"] = json!(true);
        }
        json
    };
    let writers: Vec<_> = writers.iter().map(writer).collect();
    let finding = |finding: &ForecastFinding| {
        let at: Vec<i64> = finding.at.iter().map(|at| at.as_millisecond()).collect();
        json!({
            "policy": names(&finding.policy.identity), "rule": finding.rule.as_deref(), "at": at,
            "told": finding.problem.to_string(), "advice": finding.problem.advice(),
        })
    };
    let findings: Vec<_> = part_data.findings.iter().map(finding).collect();
    let left_out: Vec<_> = part_data.left_out.iter().flatten().collect();
    let mut rest = json!({"origins": all, "writers": writers, "doubts": findings});
    if !outranked.is_empty() {
        rest["outranked"] = json!(outranked);
    }
    if !left_out.is_empty() {
        rest["leftOut"] = json!(left_out);
    }
    let rest = rest.to_string();
    write!(output, "],{}", rest.trim_start_matches('{'))?;
    Ok(())
}

fn write_row(
    (view, place): (View, &InputPlace),
    (drawn, all): (&Drawn<'_>, &[Series]),
    (origins, outranked): (&mut Origins, &mut Vec<Arc<[Outranked]>>),
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let series = drawn.series;
    let mut head = json!({"target": names(&series.target), "field": series.field.name()});
    if drawn.positions.len() > 1 {
        head["title"] = json!(drawn.title);
        let members = drawn.positions.iter().map(|it| all[*it].target.name());
        head["members"] = members.collect();
    }
    if let Some(workload) = workload_of(place, &series.target) {
        head["of"] = names(workload);
    }
    if let Some(caps) = caps(place, series) {
        head["caps"] = caps;
    }
    if let Some(story) = story::sentence(series, view) {
        head["story"] = json!(story);
    }
    let highlights = highlights::sentences(drawn, view);
    if !highlights.is_empty() {
        head["standsOut"] = highlights.iter().map(|it| json!([it.text, it.is_contested])).collect();
    }
    if !drawn.overlaps.is_empty() {
        head["overlaps"] = overlaps(&drawn.overlaps, view.period, outranked);
    }
    let head = head.to_string();
    let mut values: Vec<&Option<Value>> = Vec::new();
    let (mut run, mut steps) = (Vec::with_capacity(series.segments.len()), Numbered::default());
    for segment in &series.segments {
        let value = position_in(&mut values, |it| **it == segment.value, || &segment.value);
        let length = segment.to.as_millisecond() - segment.from.as_millisecond();
        run.push(steps.position((length, value, origins.position(&segment.origin))));
    }
    let (run, steps) = (repeats::column(&run), json!(steps.in_order()));
    let head = head.trim_end_matches('}');
    let value = |value: &Option<Value>| match value {
        // The page distinguishes an absent target, a value, and an unknown value.
        Some(Value::Nothing) => json!(false),
        Some(value) => json_of(value),
        None => serde_json::Value::Null,
    };
    let values: serde_json::Value = values.into_iter().map(value).collect();
    write!(output, "{head},\"run\":{run},\"steps\":{steps},\"values\":{values}}}")?;
    Ok(())
}

/// Overlaps as steps: the time since the previous overlap, the length, and the rules. Most steps are equal.
fn overlaps(
    all: &[Overlap],
    period: Period,
    outranked: &mut Vec<Arc<[Outranked]>>,
) -> serde_json::Value {
    let (mut run, mut steps) = (Vec::with_capacity(all.len()), Numbered::default());
    let mut end = period.from();
    for Overlap { from, to, rules } in all {
        let rules = position_in(outranked, |it| it == rules, || Arc::clone(rules));
        let since = from.as_millisecond() - end.as_millisecond();
        let length = to.as_millisecond() - from.as_millisecond();
        run.push(steps.position((since, length, rules)));
        end = *to;
    }
    json!({"run": repeats::column(&run), "steps": steps.in_order()})
}

fn names(object: &Identity) -> serde_json::Value {
    json!([object.kind(), object.namespace(), object.name(), object.group()])
}

/// The workload that an autoscaler keeps within its bounds.
fn workload_of<'p>(place: &'p InputPlace, autoscaler: &Identity) -> Option<&'p Identity> {
    let workloads = &place.world.units.extra.pods_and_nodes.autoscalers;
    workloads.iter().find(|(_, other)| *other == autoscaler).map(|(workload, _)| workload)
}

/// The cap of each unit of a policy.
fn caps(place: &InputPlace, series: &Series) -> Option<serde_json::Value> {
    let policy = PolicyName::new(Family::Units, series.target.clone());
    let Slim::Units(object) = place.world.slim_of(&policy)? else { return None };
    let units = &object.policy.as_ref()?.units;
    Some(units.iter().map(|unit| (unit.name.to_string(), json!(unit.max))).collect())
}

/// Repeated values, each numbered at its first occurrence.
#[derive(Default)]
struct Numbered<T>(BTreeMap<T, usize>);

impl<T: Ord> Numbered<T> {
    fn position(&mut self, value: T) -> usize {
        let count = self.0.len();
        *self.0.entry(value).or_insert(count)
    }

    fn in_order(self) -> Vec<T> {
        let mut all: Vec<_> =
            self.0.into_iter().map(|(value, position)| (position, value)).collect();
        all.sort_by_key(|(position, _)| *position);
        all.into_iter().map(|(_, value)| value).collect()
    }
}

/// The origins of a part, each once, in the order of their first segments.
#[derive(Default)]
struct Origins {
    all: Vec<Arc<Origin>>,
    positions: BTreeMap<*const Origin, usize>,
}

impl Origins {
    fn position(&mut self, origin: &Arc<Origin>) -> usize {
        *self.positions.entry(Arc::as_ptr(origin)).or_insert_with(|| {
            self.all.push(Arc::clone(origin));
            self.all.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::kinds::{self, assert_written_down};

    fn written(series: &[Series]) -> String {
        let drawn: Vec<_> = series.iter().map(Drawn::for_series).collect();
        let part_data = PartContent { drawn: &drawn, findings: &[], left_out: &[] };
        let part = Part { series: series.to_vec(), ..Part::default() };
        let place = InputPlace::new(std::iter::empty(), None);
        let mut output = b"{\"parts\":[".to_vec();
        let written_at = |_: &Writer| Some("policies/hours.yaml:7".to_owned());
        let mut rest = WithoutFirstByte::new(&mut output);
        write_part((kinds::view(), &place), (&part, &part_data), written_at, &mut rest).unwrap();
        output.extend_from_slice(
            b"],\"occurrences\":[],\"clockChanges\":[],\"assumptions\":[],\"findings\":[]}\n",
        );
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn values_of_every_kind_are_columns() {
        assert_written_down("kinds.columns.json", &written(&kinds::series_of_every_kind()));
    }

    #[test]
    fn hostile_names_read_back_from_columns_as_they_are() {
        let written = written(&kinds::hostile_series());
        assert_written_down("hostile.columns.json", &written);
        let value: serde_json::Value = serde_json::from_str(&written).unwrap();
        let name = &value["parts"][0]["rows"][0]["values"][0];
        assert_eq!(name, "</script><script>alert(\"it's\")</script>");
    }
}
