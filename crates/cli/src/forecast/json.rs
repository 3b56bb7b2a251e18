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
    let findings = question.given.findings.iter();
    let findings: Vec<Item<'_>> =
        findings.map(|placed| Item::new(&question.given.reading, placed)).collect();
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
        "apiVersion": question.given.api_version(&series.target),
        "kind": series.target.kind(),
        "namespace": series.target.namespace(),
        "name": series.target.name(),
    });
    write!(output, "{{\"target\":{target},\"field\":\"{}\",\"segments\":[", series.field)?;
    let mut origins = Origins::default();
    let mut line = Vec::new();
    let mut instants = Instants::default();
    let (mut from, mut to) = (Vec::new(), Vec::new());
    instants.write(question.period().from(), &mut from)?;
    for (index, segment) in series.segments.iter().enumerate() {
        to.clear();
        instants.write(segment.to, &mut to)?;
        line.clear();
        line.extend_from_slice(if index == 0 { b"\n{\"from\":\"" } else { b",\n{\"from\":\"" });
        line.extend_from_slice(&from);
        line.extend_from_slice(b"\",\"to\":\"");
        line.extend_from_slice(&to);
        line.extend_from_slice(b"\",\"value\":");
        match segment.value {
            Some(value) => write!(line, "{value}")?,
            None => line.extend_from_slice(b"null"),
        }
        line.extend_from_slice(origins.rest_of_segment(&segment.origin));
        output.write_all(&line)?;
        std::mem::swap(&mut from, &mut to);
    }
    output.write_all(b"\n]}")?;
    Ok(())
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

/// Instants in RFC 3339.
///
/// There are millions of them, and most lie on the day of the one before: its date is kept. The
/// time of day is written by hand when it is a whole second.
#[derive(Default)]
struct Instants {
    day: Option<i64>,
    /// `2026-03-06T`.
    date: Vec<u8>,
}

const SECONDS_A_DAY: i64 = 86_400;

impl Instants {
    fn write(&mut self, at: Timestamp, line: &mut Vec<u8>) -> std::io::Result<()> {
        if at.subsec_nanosecond() != 0 {
            return write!(line, "{at}");
        }
        let second = at.as_second();
        let day = second.div_euclid(SECONDS_A_DAY);
        if self.day != Some(day) {
            let text = at.to_string();
            let Some((date, _)) = text.split_once('T') else { return write!(line, "{at}") };
            self.day = Some(day);
            self.date = format!("{date}T").into_bytes();
        }
        line.extend_from_slice(&self.date);
        let second = second.rem_euclid(SECONDS_A_DAY);
        let digits = |number: i64| {
            // At most 59, so that two digits hold it.
            let number = u8::try_from(number).unwrap_or(0);
            [b'0' + number / 10, b'0' + number % 10]
        };
        let [h1, h2] = digits(second / 3600);
        let [m1, m2] = digits(second / 60 % 60);
        let [s1, s2] = digits(second % 60);
        line.extend_from_slice(&[h1, h2, b':', m1, m2, b':', s1, s2, b'Z']);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_as_the_calendar_library_writes_them() {
        let mut instants = Instants::default();
        for text in [
            "2026-03-06T00:00:00Z",
            "2026-03-06T23:59:59Z",
            "2026-03-06T12:34:56.789Z",
            "2026-03-07T07:08:09Z",
            "1969-12-31T23:59:59Z",
            "-009999-02-03T01:02:03Z",
            "9999-12-30T22:00:00Z",
        ] {
            let at: Timestamp = text.parse().unwrap();
            let mut line = Vec::new();
            instants.write(at, &mut line).unwrap();
            assert_eq!(String::from_utf8(line).unwrap(), at.to_string());
        }
    }
}
