//! The forecast for a program: the documented contract `almanac/forecast/v1`.
//!
//! The output is streamed, one segment a line, so that memory does not grow with the period or with
//! the number of policies. Many segments have the same writer and reason, so their JSON is rendered
//! once and copied.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use almanac_calendar::tzdata_version;
use almanac_forecast::{Origin, Overlap, Series, Total, Writer};
use serde_json::{Value, json};

use super::instants::Instants;
use super::position_in;
use super::question::{Question, View};
use crate::cron_jobs::STARTS;
use crate::explain::json::json_of;

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    let period = question.view.period;
    let (from, to, tzdata) = (period.from(), period.to(), tzdata_version());
    write!(
        output,
        "{{\"schema\":\"almanac/forecast/v1\",\"from\":\"{from}\",\"to\":\"{to}\",\
         \"tzdata\":\"{tzdata}\",\n\"series\":["
    )?;
    let assumptions = question.write_parts(
        |context, part, part_writer| {
            let overlaps = question.overlaps(context, part);
            part.series.iter().enumerate().try_for_each(|(position, series)| {
                let api_version = context.place.api_version(&series.target);
                let name = context.place.name.as_deref();
                let overlaps = overlaps(position);
                write_series(question.view, name, &api_version, (series, &overlaps), part_writer)
            })
        },
        &mut WithoutFirstByte::new(&mut *output),
    )?;
    write!(output, "\n],\n")?;
    write_occurrences(question, output)?;
    let assumptions = question.assumptions(&assumptions);
    let clock_changes: Vec<Value> =
        question.clock_changes().iter().map(|(place, touched)| touched.to_json(place)).collect();
    let clock_changes = serde_json::to_string(&clock_changes)?;
    let findings = question.input.items();
    let (assumptions, findings) =
        (serde_json::to_string(&assumptions)?, serde_json::to_string(&findings)?);
    writeln!(
        output,
        "\"clockChanges\":{clock_changes},\n\"assumptions\":{assumptions},\n\"findings\":{findings}}}"
    )?;
    Ok(())
}

/// Writes the Job starts of `CronJobs`; nothing without `CronJobs`.
fn write_occurrences(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    if !question.has_cron_jobs() {
        return Ok(());
    }
    write!(output, "\"occurrences\":[")?;
    for (index, (place, job, at)) in question.occurrences().enumerate() {
        let object = place.job_reference(job);
        let mut occurrence = json!({"at": at, "object": object, "what": STARTS});
        if let Some(name) = &place.name {
            occurrence["place"] = json!(name);
        }
        write!(output, "{}{occurrence}", if index == 0 { "\n" } else { ",\n" })?;
    }
    write!(output, "\n],\n")?;
    Ok(())
}

/// A series, with a comma before it.
fn write_series(
    view: View,
    place: Option<&str>,
    api_version: &str,
    (series, overlaps): (&Series, &[Overlap]),
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let target = json!({
        "apiVersion": api_version,
        "kind": series.target.kind(),
        "namespace": series.target.namespace(),
        "name": series.target.name(),
    });
    let place = place.map_or(String::new(), |name| format!("\"place\":{},", json!(name)));
    write!(
        output,
        ",\n{{{place}\"target\":{target},\"field\":\"{}\",\"segments\":[",
        series.field
    )?;
    let mut origins = Origins::default();
    let mut instants = Instants::default();
    let (mut from, mut to) = (Vec::new(), Vec::new());
    instants.append(view.period.from(), &mut from);
    for (index, segment) in series.segments.iter().enumerate() {
        to.clear();
        instants.append(segment.to, &mut to);
        output.write_all(if index == 0 { b"\n{\"from\":\"" } else { b",\n{\"from\":\"" })?;
        output.write_all(&from)?;
        output.write_all(b"\",\"to\":\"")?;
        output.write_all(&to)?;
        output.write_all(b"\",\"value\":")?;
        let value = segment.value.as_ref().map_or(Value::Null, json_of);
        serde_json::to_writer(&mut *output, &value)?;
        output.write_all(origins.rest_of_segment(&segment.origin))?;
        std::mem::swap(&mut from, &mut to);
    }
    output.write_all(b"\n]")?;
    write_totals(series, output)?;
    write_overlaps(overlaps, output)?;
    output.write_all(b"}")?;
    Ok(())
}

/// Writes the periods in which other rules request a value and lose; nothing without overlaps.
fn write_overlaps(overlaps: &[Overlap], output: &mut impl Write) -> anyhow::Result<()> {
    if overlaps.is_empty() {
        return Ok(());
    }
    output.write_all(b",\"overlaps\":[")?;
    let all = overlaps.iter().flat_map(|it| it.rules.iter().map(move |rule| (it, rule)));
    for (index, (Overlap { from, to, .. }, outranked)) in all.enumerate() {
        let (policy, reason) = (policy(&outranked.rule), json!(*outranked.because));
        output.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        write!(
            output,
            "{{\"from\":\"{from}\",\"to\":\"{to}\",\"policy\":{policy},\"reason\":{reason}}}"
        )?;
    }
    output.write_all(b"\n]")?;
    Ok(())
}

fn policy(writer: &Writer) -> Value {
    let policy = &writer.policy.identity;
    let mut reference = json!({
        "kind": policy.kind(),
        "namespace": policy.namespace(),
        "name": policy.name(),
    });
    if let Some(rule) = &writer.rule {
        reference["rule"] = json!(**rule);
    }
    reference
}

/// Writes the pod totals of a series.
fn write_totals(series: &Series, output: &mut impl Write) -> anyhow::Result<()> {
    if !series.field.counts_pods() {
        return Ok(());
    }
    let totals = series.totals();
    let peak = in_form_of_values(&totals, |it| it.peak.to_string());
    let hours = in_form_of_values(&totals, |it| it.hours.to_string());
    write!(output, ",\"peak\":{peak},\"podHours\":{hours}")?;
    Ok(())
}

/// A part of each total, in the form of the values: a number, or an object of numbers by name.
pub(crate) fn in_form_of_values(
    totals: &BTreeMap<Option<Arc<str>>, Total>,
    part: impl Fn(&Total) -> String,
) -> String {
    if let Some(only) = totals.get(&None) {
        return part(only);
    }
    let named = totals.iter().filter_map(|(name, total)| Some((name.as_ref()?, total)));
    let numbers = named.map(|(name, total)| format!("{}:{}", json!(**name), part(total)));
    format!("{{{}}}", numbers.collect::<Vec<_>>().join(","))
}

/// Removes the comma before the first series: a part is drawn independently of the parts before
/// it.
pub(super) struct WithoutFirstByte<W> {
    output: W,
    is_first: bool,
}

impl<W> WithoutFirstByte<W> {
    pub(super) fn new(output: W) -> WithoutFirstByte<W> {
        WithoutFirstByte { output, is_first: true }
    }
}

impl<W: Write> Write for WithoutFirstByte<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_first && !bytes.is_empty() {
            self.is_first = false;
            return Ok(1);
        }
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// The end of a segment's line, from the writer on, by origin.
#[derive(Default)]
struct Origins(Vec<(Arc<Origin>, String)>);

impl Origins {
    fn rest_of_segment(&mut self, origin: &Arc<Origin>) -> &[u8] {
        let is_same = |(known, _): &(Arc<Origin>, String)| Arc::ptr_eq(known, origin);
        let new = || (Arc::clone(origin), rest_of_segment(origin));
        let index = position_in(&mut self.0, is_same, new);
        self.0[index].1.as_bytes()
    }
}

/// The fields after a value in JSON: its writer, and the reason.
pub(crate) fn rest_of_segment(origin: &Origin) -> String {
    let writer = origin.writer.as_ref();
    let policy = writer.map_or(String::new(), |it| format!(",\"policy\":{}", policy(it)));
    format!("{policy},\"reason\":{}}}", json!(*origin.reason))
}

#[cfg(test)]
mod tests {
    use almanac_engine::Value as Set;

    use super::*;
    use crate::forecast::kinds::{self, assert_written_down};

    fn written(all: &[Series]) -> String {
        let mut output = b"{\"from\":\"2026-03-02T00:00:00Z\",\"to\":\"2026-03-03T00:00:00Z\",\
            \"tzdata\":\"none\",\"clockChanges\":[],\"assumptions\":[],\"findings\":[],\"series\":["
            .to_vec();
        let mut rest = WithoutFirstByte::new(&mut output);
        for series in all {
            write_series(kinds::view(), None, "example.com/v1", (series, &[]), &mut rest).unwrap();
        }
        output.extend_from_slice(b"\n]}\n");
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn a_value_is_a_number_a_string_a_list_an_object_or_null() {
        assert_written_down("kinds.json", &written(&kinds::series_of_every_kind()));
    }

    #[test]
    fn hostile_names_read_back_as_they_are() {
        let all = kinds::hostile_series();
        let written = written(&all);
        assert_written_down("hostile.json", &written);
        let written_json: Value = serde_json::from_str(&written).unwrap();
        let value = |series: usize, segment: usize| {
            &written_json["series"][series]["segments"][segment]["value"]
        };
        for (index, segment) in all[0].segments.iter().enumerate() {
            let Some(Set::Text(text)) = &segment.value else { panic!("{segment:?}") };
            assert_eq!(value(0, index), &**text);
        }
        let Some(Set::Names(names)) = &all[1].segments[0].value else { panic!() };
        assert_eq!(value(1, 0), &json!(names.iter().map(|it| &**it).collect::<Vec<_>>()));
        let Some(Set::Numbers(numbers)) = &all[2].segments[0].value else { panic!() };
        for (name, number) in numbers.iter() {
            assert_eq!(value(2, 0)[&**name], *number);
        }
    }
}
