//! The differences for a program: the documented contract `almanac/diff/v1`.
//!
//! Each stretch is written when it is computed, one a line, so memory use does not grow with the number of policies.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;

use almanac_calendar::tzdata_version;
use almanac_forecast::{Assumption, Days, Difference, PodHours, Recurrence, Side};
use serde_json::{Value as Json, json};

use super::jobs::JobChange;
use super::question::{Pair, Question};
use super::rows::{Change, Row, Unit};
use super::side::Coverage;
use super::words::presence;
use crate::explain::json::json_of;
use crate::forecast::instants::Instants;
use crate::forecast::json::{in_form_of_values, rest_of_segment};

const SCHEMA: &str = "almanac/diff/v1";

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<bool> {
    let (from, to) = (question.period.from(), question.period.to());
    let (old, new) = (json!(question.old.name), json!(question.new.name));
    let coverage = &question.coverage;
    write!(
        output,
        "{{\"schema\":\"{SCHEMA}\",\"from\":\"{from}\",\"to\":\"{to}\",\"zone\":{},\"tzdata\":\"{}\",\
         \"old\":{old},\"new\":{new},\"incomplete\":{},\n\"differences\":[",
        json!(question.zone.name()),
        tzdata_version(),
        json!([&*coverage.incomplete, &coverage.unrendered, &coverage.uncompared].concat())
    )?;
    let mut is_first = true;
    let (summary, assumptions) = question.each(
        // JSON lists all assumptions.
        usize::MAX,
        |pair, difference| Ok(stretches(pair, difference)),
        |change, (target, stretches)| {
            output.write_all(if is_first { b"\n" } else { b",\n" })?;
            is_first = false;
            write!(output, "{{{}{target}", place(change))?;
            write_change(change, output)?;
            output.write_all(b",\"stretches\":[")?;
            output.write_all(&stretches)?;
            output.write_all(b"\n]}\n")?;
            Ok(())
        },
    )?;
    let a_week = |hours: PodHours| number(hours.a_week(question.period));
    let summary_json = json!({
        "compared": summary.fields,
        "notCompared": summary.unclear + summary.jobs_unclear,
        "changed": summary.changed,
        "added": summary.added,
        "removed": summary.removed,
        "podHours": number(summary.pods),
        "podHoursAWeek": a_week(summary.pods),
        "nodeHours": number(summary.nodes),
        "nodeHoursAWeek": a_week(summary.nodes),
        "podHoursAtLeast": number(summary.at_least),
        "podHoursAtLeastAWeek": a_week(summary.at_least),
    });
    let texts = |all: &BTreeSet<Assumption>| -> BTreeSet<String> {
        all.iter().map(ToString::to_string).collect()
    };
    let [before, after] = assumptions.each_ref().map(texts);
    let sides = [("old", question.old), ("new", question.new)];
    let mut findings = Vec::new();
    for (name, side) in sides {
        for item in side.input.items() {
            let mut finding = serde_json::to_value(item)?;
            finding["side"] = json!(name);
            findings.push(finding);
        }
    }
    writeln!(
        output,
        "],\n{}\"summary\":{summary_json},\n\"assumptions\":{},\n\"findings\":{}}}",
        optional_fields(question),
        json!({ "old": before, "new": after }),
        Json::Array(findings)
    )?;
    Ok(summary.may_differ())
}

/// The optional fields, omitted if empty: `CronJobs`, files that are not compared, rendered directories, notes.
fn optional_fields(question: &Question<'_>) -> String {
    let jobs = question.jobs.changes.iter().map(JobChange::to_json).collect();
    let texts = |all: &[String]| all.iter().map(|it| json!(it)).collect();
    let Coverage { uncompared, unrendered, rendered, notes, .. } = &question.coverage;
    let not_compared = [&**unrendered, uncompared].concat();
    let all: [(&str, Vec<Json>); 4] = [
        ("cronJobs", jobs),
        ("notCompared", texts(&not_compared)),
        ("rendered", texts(rendered)),
        ("notes", texts(notes)),
    ];
    let some = all.into_iter().filter(|(_, items)| !items.is_empty());
    let lines = some.map(|(name, items)| format!("\"{name}\":{},\n", Json::Array(items)));
    lines.collect::<Vec<String>>().concat()
}

fn place(change: &Change) -> String {
    change.place.as_ref().map_or(String::new(), |place| format!("\"place\":{},", json!(place)))
}

fn write_change(change: &Change, output: &mut impl Write) -> anyhow::Result<()> {
    let key = match Unit::for_field(&change.target, change.field) {
        Some(Unit::Nodes) => "nodeHours",
        Some(Unit::Pods | Unit::AtLeast | Unit::InUnits | Unit::Waiting) | None => "podHours",
    };
    if let Some(growth) = change.growth {
        let a_week = growth.a_week(change.period);
        write!(output, ",\"{key}\":{growth},\"{key}AWeek\":{a_week}")?;
    }
    let recurring: Vec<Json> = change
        .rows
        .iter()
        .filter_map(|row| Some(recurring(change, row, row.recurrence.as_ref()?, key)))
        .collect();
    write!(output, ",\n\"recurring\":{}", Json::Array(recurring))?;
    Ok(())
}

fn recurring(change: &Change, row: &Row, recurrence: &Recurrence, key: &str) -> Json {
    let spans = recurrence.spans.iter();
    let spans: Vec<Json> =
        spans.map(|it| json!({ "from": it.from, "days": it.days, "to": it.to })).collect();
    let mut fields = json!({ "when": row.when, "times": row.times, "spans": spans });
    for (name, side) in [("before", &row.first.before), ("after", &row.first.after)] {
        if let Some(side) = side {
            fields[name] = value(side);
        }
    }
    if let Some(growth) = row.growth {
        fields[key] = number(growth);
        fields[format!("{key}AWeek")] = number(growth.a_week(change.period));
    }
    match recurrence.days {
        Days::OfWeek(days) => {
            let week = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
            let weekdays = week.into_iter().zip(days).filter(|(_, is_one)| *is_one);
            let weekdays: Vec<&str> = weekdays.map(|(day, _)| day).collect();
            fields["weekdays"] = json!(weekdays);
        }
        Days::OfMonth(day) => fields["dayOfMonth"] = json!(day),
    }
    for (name, date) in [("since", recurrence.since), ("until", recurrence.until)] {
        if let Some(date) = date {
            fields[name] = json!(date);
        }
    }
    if !recurrence.except.is_empty() {
        fields["except"] = json!(recurrence.except);
    }
    fields
}

/// The head of a difference, and its stretches, one a line.
fn stretches(pair: &Pair<'_>, difference: &Difference) -> (String, Vec<u8>) {
    let target = pair.after.or(pair.before).map(|place| place.reference(&difference.target));
    let mut head = format!(
        "\"target\":{},\"field\":\"{}\",\"presence\":\"{}\"",
        target.unwrap_or_default(),
        difference.field,
        presence(difference.presence)
    );
    let has_hours = Unit::for_field(&difference.target, difference.field).is_some();
    for (name, totals) in [("before", &difference.before), ("after", &difference.after)] {
        if totals.is_empty() {
            continue;
        }
        let peak = in_form_of_values(totals, |it| it.peak.to_string());
        let hours = in_form_of_values(totals, |it| it.hours.to_string());
        let hours = if has_hours { format!(",\"hours\":{hours}") } else { String::new() };
        // Writing to a string cannot fail.
        let _ = write!(head, ",\"{name}\":{{\"peak\":{peak}{hours}}}");
    }
    (head, lines(difference))
}

/// The stretches, each after a line break.
fn lines(difference: &Difference) -> Vec<u8> {
    let (mut instants, mut sides) = (Instants::default(), Sides::default());
    let mut lines = Vec::new();
    for stretch in &difference.stretches {
        lines.extend_from_slice(if lines.is_empty() { b"\n" } else { b",\n" });
        lines.extend_from_slice(b"{\"from\":\"");
        instants.append(stretch.from, &mut lines);
        lines.extend_from_slice(b"\",\"to\":\"");
        instants.append(stretch.to, &mut lines);
        lines.push(b'"');
        for (name, side) in
            [(&b",\"before\":"[..], &stretch.before), (b",\"after\":", &stretch.after)]
        {
            let Some(side) = side else { continue };
            lines.extend_from_slice(name);
            lines.extend_from_slice(sides.json(side));
        }
        if let Some(note) = stretch.note {
            lines.extend_from_slice(format!(",\"note\":{}", json!(note)).as_bytes());
        }
        lines.push(b'}');
    }
    lines
}

/// A cache of formatted sides: a few sides occur many times.
#[derive(Default)]
struct Sides(Vec<(Side, Vec<u8>)>);

/// The maximum number of sides in the cache.
const MAX_CACHED_SIDES: usize = 64;

impl Sides {
    fn json(&mut self, side: &Side) -> &[u8] {
        let is_same = |(known, _): &(Side, Vec<u8>)| {
            Arc::ptr_eq(&known.origin, &side.origin) && known.value == side.value
        };
        let index = self.0.iter().position(is_same).unwrap_or_else(|| {
            self.0.truncate(MAX_CACHED_SIDES - 1);
            self.0.push((side.clone(), side_json(side)));
            self.0.len() - 1
        });
        &self.0[index].1
    }
}

/// A side as JSON: its value, the policy and the reason, as in a segment of a forecast.
fn side_json(side: &Side) -> Vec<u8> {
    format!("{{\"value\":{}{}", value(side), rest_of_segment(&side.origin)).into_bytes()
}

fn value(side: &Side) -> Json {
    side.value.as_ref().map_or(Json::Null, json_of)
}

/// Pod-hours as a JSON number with the digits of the text output.
fn number(hours: PodHours) -> Json {
    serde_json::from_str(&hours.to_string()).unwrap_or_default()
}
