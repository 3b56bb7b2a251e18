//! What comes next for a program: the documented contract `almanac/next/v1`.

use std::io::Write;

use almanac_engine::Identity;
use almanac_forecast::Event;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::Question;
use crate::explain::json::value;
use crate::validate::json::Item;

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    items: Items<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<Item<'a>>,
}

/// Written one by one as they are found, so that a long period needs no memory.
struct Items<'a>(&'a Question<'a>);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.events().map(|event| item(self.0, &event)))
    }
}

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    let placed = question.input.findings.iter();
    let findings = placed.map(|it| Item::new(&question.input.reading, it)).collect();
    let report = Report { schema: "almanac/next/v1", items: Items(question), findings };
    serde_json::to_writer_pretty(&mut *output, &report)?;
    writeln!(output)?;
    Ok(())
}

fn item(question: &Question<'_>, event: &Event) -> Value {
    let mut item = json!({
        "at": event.at,
        "policy": object(question, &event.policy.identity),
        "target": object(question, &event.target),
        "what": event.what.name(),
    });
    if let Some(rule) = &event.rule {
        item["rule"] = Value::from(&**rule);
    }
    if !event.sets.is_empty() {
        let before: Vec<_> = event.sets.iter().map(|(field, it, _)| (*field, it.clone())).collect();
        let after: Vec<_> =
            event.sets.iter().map(|(field, _, it)| (*field, Some(it.clone()))).collect();
        (item["from"], item["to"]) = (value(&before), value(&after));
    }
    item
}

fn object(question: &Question<'_>, identity: &Identity) -> Value {
    json!({
        "apiVersion": question.input.api_version(identity),
        "kind": identity.kind(),
        "namespace": identity.namespace(),
        "name": identity.name(),
    })
}
