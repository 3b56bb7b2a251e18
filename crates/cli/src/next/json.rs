//! What comes next for a program: the documented contract `almanac/next/v1`.

use std::io::Write;

use almanac_engine::Identity;
use almanac_forecast::Event;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::Question;
use crate::explain::json::value;
use crate::input::InputPlace;
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
        serializer.collect_seq(self.0.events().map(|(place, event)| item(place, &event)))
    }
}

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    let findings = question.input.items();
    let report = Report { schema: "almanac/next/v1", items: Items(question), findings };
    serde_json::to_writer_pretty(&mut *output, &report)?;
    writeln!(output)?;
    Ok(())
}

fn item(place: &InputPlace, event: &Event) -> Value {
    let mut item = json!({
        "at": event.at,
        "policy": object(place, &event.policy.identity),
        "target": object(place, &event.target),
        "what": event.what.name(),
    });
    if let Some(name) = &place.name {
        item["place"] = Value::from(&**name);
    }
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

fn object(place: &InputPlace, identity: &Identity) -> Value {
    json!({
        "apiVersion": place.api_version(identity),
        "kind": identity.kind(),
        "namespace": identity.namespace(),
        "name": identity.name(),
    })
}
