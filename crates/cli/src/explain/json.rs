//! An explanation for a program: the documented contract `almanac/explain/v1`.

use std::io::Write;

use almanac_engine::{Division, Field, RankedRequest, ScorePart, Value as FieldValue, Verdict};
use almanac_forecast::LastWrite;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::ExplainedTarget;
use crate::findings::Item;
use crate::input::Input;

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    #[serde(flatten)]
    answers: ExplanationsJson<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<Item<'a>>,
}

/// One explanation is an object; several are a list.
#[derive(Serialize)]
#[serde(untagged)]
enum ExplanationsJson<'a> {
    One(Box<ExplanationJson<'a>>),
    Several { at: Timestamp, answers: Vec<ExplanationJson<'a>> },
}

#[derive(Serialize)]
struct ExplanationJson<'a> {
    at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'a str>,
    policy: Value,
    target: Value,
    value: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Value>,
    reasons: Vec<Reason<'a>>,
    requests: Vec<Request>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decisions: Option<Vec<Value>>,
    #[serde(rename = "clockChanges")]
    clock_changes: Vec<Value>,
    assumptions: Vec<String>,
}

#[derive(Serialize)]
struct Reason<'a> {
    rule: Option<&'a str>,
    verdict: &'static str,
    because: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recommendation: Option<u32>,
}

/// The request of one policy for one field.
#[derive(Serialize)]
struct Request {
    policy: Value,
    field: &'static str,
    value: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    outcome: &'static str,
    code: &'static str,
    reason: String,
}

pub(super) fn write(
    input: &Input,
    at: Timestamp,
    answers: &[ExplainedTarget<'_>],
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let mut all: Vec<ExplanationJson<'_>> = answers.iter().map(explanation_json).collect();
    let answers = match all.pop() {
        Some(only) if all.is_empty() => ExplanationsJson::One(Box::new(only)),
        last => ExplanationsJson::Several { at, answers: all.into_iter().chain(last).collect() },
    };
    let report = Report { schema: "almanac/explain/v1", answers, findings: input.items() };
    serde_json::to_writer_pretty(&mut *output, &report)?;
    writeln!(output)?;
    Ok(())
}

fn explanation_json<'a>(explained: &'a ExplainedTarget<'_>) -> ExplanationJson<'a> {
    let explanation = &explained.explanation;
    let values: Vec<(Field, Option<FieldValue>)> =
        explanation.values.iter().map(|(field, write)| (*field, write.value.clone())).collect();
    let reasons = explanation.reasons.iter().map(|reason| Reason {
        rule: reason.rule.as_deref(),
        verdict: verdict(reason.verdict),
        because: &reason.message,
        since: reason.since,
        until: reason.until,
        total: reason.scored.as_ref().map(|it| it.total),
        scores: reason.scored.as_ref().map(|it| it.scores.iter().map(score).collect()),
        sample: reason.answered.map(|it| it.sample.get()),
        recommendation: reason.answered.map(|it| it.recommendation),
    });
    let requests = explanation
        .requests
        .iter()
        .flat_map(|(field, ranked)| ranked.iter().map(move |it| request(explained, *field, it)));
    let next = explanation.next.as_ref();
    let next = next.map(|next| json!({ "at": next.at, "value": value(&next.values) }));
    let divisions = Some(&explanation.divisions).filter(|it| !it.is_empty());
    ExplanationJson {
        at: explanation.at,
        place: explained.place.name.as_deref(),
        policy: explained.place.reference(&explanation.policy.identity),
        target: explained.place.reference(&explanation.target),
        value: explained.unit().map_or_else(|| value(&values), Value::from),
        since: since(&explanation.values),
        reasons: reasons.collect(),
        requests: requests.collect(),
        next,
        groups: divisions.map(|it| groups(it)),
        decisions: divisions.map(|it| it.iter().map(decision).collect()),
        clock_changes: explained
            .clock_changes()
            .iter()
            .map(|it| it.to_json(explained.place))
            .collect(),
        assumptions: explained
            .assumptions()
            .chain(explained.input.unseen.iter().cloned())
            .collect(),
    }
}

fn request(explained: &ExplainedTarget<'_>, field: Field, ranked: &RankedRequest) -> Request {
    let RankedRequest { request, outcome } = ranked;
    Request {
        policy: explained.place.reference(&request.policy.identity),
        field: field.name(),
        value: request.value.as_ref().map_or(Value::Null, json_of),
        since: request.since,
        outcome: outcome.name(),
        code: outcome.code(),
        reason: outcome.to_string(),
    }
}

/// The start of the value; with several fields, the start of each value.
fn since(values: &[(Field, LastWrite)]) -> Option<Value> {
    let known = || values.iter().filter_map(|(field, write)| Some((field, write.since?)));
    known().next()?;
    Some(match values {
        [(_, only)] => json!(only.since),
        _ => known().map(|(field, since)| (field.to_string(), json!(since))).collect(),
    })
}

/// The groups of decisions, each with all its clusters.
fn groups(divisions: &[Division]) -> Vec<Value> {
    let of_groups = divisions.chunk_by(|one, other| one.group == other.group);
    let groups = of_groups.filter_map(|parts| {
        let first = parts.first()?;
        let names: Vec<&str> = parts.iter().flat_map(|it| &it.names).map(|it| &**it).collect();
        Some(json!({ "index": first.group, "name": &*first.group_name, "clusters": names }))
    });
    groups.collect()
}

fn decision(part: &Division) -> Value {
    let names: Vec<&str> = part.names.iter().map(|it| &**it).collect();
    json!({ "name": &*part.object, "clusters": names })
}

/// A score that is part of a total.
fn score(part: &ScorePart) -> Value {
    json!({ "of": &*part.of, "raw": part.raw, "weight": part.weight })
}

/// The value of the only field, or for an autoscaler an object of its bounds; null without a value.
pub(crate) fn value(values: &[(Field, Option<FieldValue>)]) -> Value {
    let json_or_null = |value: &Option<FieldValue>| value.as_ref().map_or(Value::Null, json_of);
    match values {
        [] => Value::Null,
        [(field, value)] if *field != Field::MinReplicas && *field != Field::MaxReplicas => {
            json_or_null(value)
        }
        several => {
            let fields =
                several.iter().map(|(field, value)| (field.to_string(), json_or_null(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}

/// A value in the form of the contract: a number, a string, a list of names, an object of numbers, or null.
pub(crate) fn json_of(value: &FieldValue) -> Value {
    match value {
        FieldValue::Number(number) => json!(number),
        FieldValue::Text(text) => json!(**text),
        FieldValue::Nothing => Value::Null,
        FieldValue::Names(names) => names.iter().map(|name| json!(**name)).collect(),
        FieldValue::Numbers(numbers) => {
            numbers.iter().map(|(name, number)| (name.to_string(), json!(number))).collect()
        }
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Won => "won",
        Verdict::Lost => "lost",
        Verdict::Inactive => "inactive",
        Verdict::Excluded => "excluded",
        Verdict::Error => "error",
    }
}
