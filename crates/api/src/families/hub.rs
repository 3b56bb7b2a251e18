//! The rules for the objects from which placements select. A mistake in one part excludes that part only.

use almanac_engine::placement::{ClusterSet, HubObject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as Written;
use serde_json::Value as Json;

use crate::fields::label_selector::{check_selector, note_operators};
use crate::finding::{Code, Finding, Path};
use crate::kinds::Kind;
use crate::lenient;
use crate::slim::{self, quantity};

/// The result of checking an object of a hub.
pub(super) struct CheckedHubObject {
    pub(super) object: Option<HubObject>,
    pub(super) findings: Vec<Finding>,
}

/// Checks an object, whose status is a separate argument.
pub(super) fn check(kind: Kind, object: &Json, status: &Json) -> CheckedHubObject {
    let mut findings = Vec::new();
    let object = match kind {
        Kind::ManagedClusterSet => Some(HubObject::Set(check_set(object, &mut findings))),
        Kind::ManagedClusterSetBinding => check_binding(object, &mut findings),
        Kind::ManagedCluster => {
            check_amounts(status, &mut findings);
            slim::hub_object(kind, object, status)
        }
        Kind::AddOnPlacementScore => {
            check_scores(status, &mut findings);
            slim::hub_object(kind, object, status)
        }
        _ => slim::hub_object(kind, object, status),
    };
    CheckedHubObject { object, findings }
}

/// Checks a cluster set. The clusters of a set with an unusable selector are unknown.
fn check_set(object: &Json, findings: &mut Vec<Finding>) -> ClusterSet {
    let spec = Path::Root.key("spec");
    let field = spec.key("clusterSelector");
    let selector = &object["spec"]["clusterSelector"];
    if selector["selectorType"].as_str() != Some("LabelSelector") {
        return ClusterSet::ByName;
    }
    if selector["labelSelector"].is_null() {
        return ClusterSet::Empty;
    }
    let path = field.key("labelSelector");
    let written: Written =
        serde_json::from_value(selector["labelSelector"].clone()).unwrap_or_default();
    let before = findings.len();
    note_operators(&written, &path, findings);
    let has_operators = findings.len() == before;
    match check_selector(&written, &path, findings).filter(|_| has_operators) {
        Some(selector) => ClusterSet::Selected(selector),
        None => ClusterSet::Unusable,
    }
}

/// Checks that a binding has the name of its set.
fn check_binding(object: &Json, findings: &mut Vec<Finding>) -> Option<HubObject> {
    let set = object["spec"]["clusterSet"].as_str().filter(|set| !set.is_empty())?;
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if name != set && !name.is_empty() {
        let metadata = Path::Root.key("metadata");
        let why = "a binding has the name of the set that it binds";
        let finding = Finding::invalid(Code::InvalidName, &metadata.key("name"), name, why);
        findings.push(finding.meaning(set));
        return None;
    }
    Some(HubObject::Binding(set.into()))
}

fn check_amounts(status: &Json, findings: &mut Vec<Finding>) {
    let path = Path::Root.key("status");
    let amounts = ["allocatable", "capacity"].into_iter();
    for (list, name) in amounts.flat_map(|list| ["cpu", "memory"].map(|name| (list, name))) {
        let value = &status[list][name];
        let list = path.key(list);
        if !value.is_null() && quantity::from_json(value).is_none() {
            let why = "must be a quantity, such as 1500m or 4Gi";
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let finding = Finding::invalid(Code::WrongType, &list.key(name), text, why);
            findings.push(finding.with_fix("write a quantity"));
        }
    }
}

fn check_scores(status: &Json, findings: &mut Vec<Finding>) {
    let path = Path::Root.key("status");
    let until = &status["validUntil"];
    if status.get("validUntil").is_some_and(Json::is_null) {
        let why = "must be an instant, such as 2026-03-02T12:00:00Z";
        let finding = Finding::invalid(Code::WrongType, &path.key("validUntil"), "null", why);
        findings.push(finding.with_fix("leave it out of scores that never expire"));
    } else if !until.is_null() && lenient::exact_instant(until).is_none() {
        let why = "must be an instant, such as 2026-03-02T12:00:00Z; without one, none of the scores is used";
        let text = until.as_str().map_or_else(|| until.to_string(), str::to_owned);
        let finding = Finding::invalid(Code::WrongType, &path.key("validUntil"), text, why);
        findings.push(finding.with_fix("write an instant in RFC 3339"));
    }
    let list = path.key("scores");
    let mut seen: Vec<&str> = Vec::new();
    for (position, item) in status["scores"].as_array().into_iter().flatten().enumerate() {
        let score = list.index(position);
        check_score(item, &score, &mut seen, findings);
    }
}

fn check_score<'a>(
    item: &'a Json,
    score: &Path<'_>,
    seen: &mut Vec<&'a str>,
    findings: &mut Vec<Finding>,
) {
    match item["name"].as_str().filter(|name| !name.is_empty()) {
        Some(name) if seen.contains(&name) => {
            let message = format!("Duplicate value: {name:?}: the first one is used");
            findings.push(
                Finding::new(Code::DuplicateItem, score.key("name"), message)
                    .with_fix("remove one of them"),
            );
        }
        Some(name) => seen.push(name),
        // The published design uses the key once.
        None if item["prioritizer"].is_string() => {
            let message = "Unknown field: the name of a score is its name";
            findings.push(
                Finding::new(Code::MistypedField, score.key("prioritizer"), message)
                    .with_fix("write name")
                    .with_replacement(Some("name")),
            );
        }
        None => findings.push(Finding::required(&score.key("name"), "every score needs a name")),
    }
    let value = &item["value"];
    if item.get("value").is_some_and(Json::is_null) {
        let why = "must be a whole number from -100 to 100";
        let finding = Finding::invalid(Code::WrongType, &score.key("value"), "null", why);
        findings.push(finding.with_fix("leave it out for a score of 0"));
    } else if !value.is_null() && slim::score(value).is_none() {
        let why = "must be a whole number from -100 to 100";
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let finding = Finding::invalid(Code::OutOfRange, &score.key("value"), text, why);
        let number = value.as_str().filter(|it| it.parse::<i64>().is_ok_and(|it| it.abs() <= 100));
        findings.push(match number {
            Some(number) => finding.meaning_bare(number, number),
            None => finding.with_fix("scale the scores to -100 to 100 before they are written"),
        });
    }
}
