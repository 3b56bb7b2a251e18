//! The forecast for a program: the documented contract `almanac/forecast/v1`.
//!
//! Written as it is found, one segment a line, so that memory does not grow with the period or with
//! the number of policies. Who set a value and why is the same text again and again: it is put into
//! JSON once and copied from then on.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use almanac_calendar::tzdata_version;
use almanac_forecast::{Origin, Series};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Question;
use crate::validate::json::Item;

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    let period = question.period();
    let (from, to, tzdata) = (period.from(), period.to(), tzdata_version());
    write!(
        output,
        "{{\"schema\":\"almanac/forecast/v1\",\"from\":\"{from}\",\"to\":\"{to}\",\
         \"tzdata\":\"{tzdata}\",\n\"series\":["
    )?;
    let mut assumptions = BTreeSet::new();
    let mut is_first = true;
    for part in question.parts() {
        assumptions.extend(part.assumptions);
        for series in &part.series {
            output.write_all(if is_first { b"\n" } else { b",\n" })?;
            is_first = false;
            write_series(question, series, output)?;
        }
    }
    let assumptions = question.assumptions(&assumptions);
    let findings = question.files.findings.iter();
    let findings: Vec<Item<'_>> =
        findings.map(|placed| Item::new(&question.files.reading, placed)).collect();
    let (assumptions, findings) =
        (serde_json::to_string(&assumptions)?, serde_json::to_string(&findings)?);
    writeln!(output, "\n],\n\"assumptions\":{assumptions},\n\"findings\":{findings}}}")?;
    Ok(())
}

fn write_series(
    question: &Question<'_>,
    series: &Series,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let target = json!({
        "apiVersion": question.files.api_version(&series.target),
        "kind": series.target.kind(),
        "namespace": series.target.namespace(),
        "name": series.target.name(),
    });
    write!(output, "{{\"target\":{target},\"field\":\"{}\",\"segments\":[", series.field)?;
    let mut origins = Origins::default();
    let mut line = Vec::new();
    let mut from = Instant::of(period_start(series));
    for (index, segment) in series.segments.iter().enumerate() {
        let to = Instant::of(segment.to);
        line.clear();
        line.extend_from_slice(if index == 0 { b"\n{\"from\":\"" } else { b",\n{\"from\":\"" });
        line.extend_from_slice(from.text());
        line.extend_from_slice(b"\",\"to\":\"");
        line.extend_from_slice(to.text());
        line.extend_from_slice(b"\",\"value\":");
        match segment.value {
            Some(value) => write!(line, "{value}")?,
            None => line.extend_from_slice(b"null"),
        }
        line.extend_from_slice(origins.rest_of_segment(&segment.origin));
        output.write_all(&line)?;
        from = to;
    }
    output.write_all(b"\n]}")?;
    Ok(())
}

fn period_start(series: &Series) -> Timestamp {
    series.segments.first().map_or(Timestamp::UNIX_EPOCH, |segment| segment.from)
}

/// The end of a segment's line, from the writer on, by origin.
#[derive(Default)]
struct Origins(Vec<(Arc<Origin>, Vec<u8>)>);

impl Origins {
    fn rest_of_segment(&mut self, origin: &Arc<Origin>) -> &[u8] {
        let known = self.0.iter().position(|(known, _)| Arc::ptr_eq(known, origin));
        let index = known.unwrap_or_else(|| {
            self.0.push((Arc::clone(origin), rest_of_segment(origin)));
            self.0.len() - 1
        });
        &self.0[index].1
    }
}

fn rest_of_segment(origin: &Origin) -> Vec<u8> {
    let mut rest = String::new();
    if let Some(writer) = &origin.writer {
        let mut policy = json!({
            "kind": writer.policy.kind(),
            "namespace": writer.policy.namespace(),
            "name": writer.policy.name(),
        });
        if let Some(rule) = &writer.rule {
            policy["rule"] = Value::from(&**rule);
        }
        rest = format!(",\"policy\":{policy}");
    }
    let reason = Value::from(&*origin.reason);
    format!("{rest},\"reason\":{reason}}}").into_bytes()
}

/// An instant in RFC 3339, written once for the end of a segment and the beginning of the next.
struct Instant {
    bytes: [u8; 40],
    length: usize,
}

impl Instant {
    fn of(at: Timestamp) -> Instant {
        let mut bytes = [0; 40];
        let length = {
            let mut rest = &mut bytes[..];
            // Forty bytes hold every instant there is.
            let _ = write!(rest, "{at}");
            40 - rest.len()
        };
        Instant { bytes, length }
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
