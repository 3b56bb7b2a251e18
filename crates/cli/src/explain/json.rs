//! An explanation for a program: the documented contract `almanac/explain/v1`.

use std::io::Write;

use almanac_engine::{Identity, Verdict};
use almanac_forecast::Field;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Answer;

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    at: Timestamp,
    policy: Value,
    target: Value,
    value: Value,
    reasons: Vec<Reason<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Value>,
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
}

pub(super) fn write(answer: &Answer<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    let explanation = &answer.explanation;
    let values: Vec<(Field, Option<u32>)> =
        explanation.values.iter().map(|(field, holder)| (*field, holder.value)).collect();
    let reasons = explanation.reasons.iter().map(|reason| Reason {
        rule: reason.rule.as_deref(),
        verdict: verdict(reason.verdict),
        because: &reason.because,
        since: reason.since,
        until: reason.until,
    });
    let next = explanation.next.as_ref();
    let next = next.map(|next| json!({ "at": next.at, "value": value(&next.values) }));
    let report = Report {
        schema: "almanac/explain/v1",
        at: explanation.at,
        policy: object(answer, &explanation.policy),
        target: object(answer, &explanation.target),
        value: value(&values),
        reasons: reasons.collect(),
        next,
        assumptions: answer.assumptions().collect(),
    };
    serde_json::to_writer_pretty(&mut *output, &report)?;
    writeln!(output)?;
    Ok(())
}

fn object(answer: &Answer<'_>, identity: &Identity) -> Value {
    json!({
        "apiVersion": answer.given.api_version(identity),
        "kind": identity.kind(),
        "namespace": identity.namespace(),
        "name": identity.name(),
    })
}

/// A number, or for an autoscaler an object of its bounds.
pub(crate) fn value(values: &[(Field, Option<u32>)]) -> Value {
    if let [(Field::Replicas | Field::Value, value)] = values {
        return json!(value);
    }
    let fields = values.iter().map(|(field, value)| (field.to_string(), json!(value)));
    Value::Object(fields.collect::<Map<_, _>>())
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
