//! A `ConfigMap` of Volcano's agent: daily windows that set the QoS levels of pods.

mod document;

use almanac_engine::qos_levels::QosLevels;
use almanac_engine::{Family, Slim};
use serde_json::Value as Json;

use super::{Checked, Descriptor, Interpretation, Listing, Process, ShapeCheckedObject};
use crate::finding::{Code, FieldPath, Finding, Path};
use crate::objects::agent_config::{GLOBAL, NODES, POLICIES};
use crate::objects::document_key;

pub(crate) use document::location_in_text;

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    process: Process::Agent,
    listing: Listing::ByName,
    never_wins_fix: Some("list it before the other one, or remove it"),
    rule_field,
    ..Descriptor::plain(Family::QosLevels, "qos-levels", Vec::new, check)
};

/// The policies of a `ConfigMap` of Volcano's agent. A `ConfigMap` without the document is treated as if the document
/// were unreadable: a mistyped key must not undo all levels.
fn check(object: &mut ShapeCheckedObject<'_>) -> Interpretation {
    let name = object.object["metadata"]["name"].as_str().unwrap_or_default();
    let Some(key) = document_key(name) else { return Interpretation::default() };
    let data = Path::Root.key("data");
    let field = data.key(key);
    let mut checked = if let Some(text) = object.object["data"][key].as_str() {
        document::check(text, &field)
    } else {
        Checked { value: None, findings: vec![missing_document(&object.object["data"], key)] }
    };
    let fields = [GLOBAL, NODES, POLICIES].into_iter();
    let misplaced = fields.filter(|it| object.object["data"].get(it).is_some());
    checked.findings.extend(misplaced.map(|it| {
        let why = format!("Ignored: the agent reads only {key}");
        let finding = Finding::new(Code::IgnoredField, data.key(it), why);
        finding.with_fix(format!("indent it, so that it is a part of the text of {key}"))
    }));
    let levels = checked.value.filter(|_| object.is_sound()).unwrap_or_else(QosLevels::unusable);
    Interpretation::new(Slim::QosLevels(object.kept(Some(levels), None)), checked.findings)
}

/// The document may contain several lists.
fn rule_field(slim: &Slim, position: usize) -> Option<FieldPath> {
    let Slim::QosLevels(levels) = slim else { return None };
    document::field_of(levels.policy.as_deref(), position)
}

/// The finding about a missing document of the agent. A single document under another key is probably that document.
fn missing_document(documents: &Json, key: &str) -> Finding {
    let data = Path::Root.key("data");
    let mut others = documents.as_object().into_iter().flatten().map(|(other, _)| other);
    if let (Some(other), None) = (others.next(), others.next()) {
        let message = "Required value: the agent reads its configuration from another key";
        return Finding::new(Code::MistypedField, data.key(other), message).meaning(key);
    }
    Finding::required(&data.key(key), "the configuration of the agent")
}
