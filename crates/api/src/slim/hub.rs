//! The slim forms of the objects that placements select from, and of their decisions.

use std::sync::Arc;

use almanac_engine::Labels;
use almanac_engine::placement::{
    Cluster, ClusterSet, HubObject, PlacementDecision, Score, Scores, Taint, TaintEffect,
};
use serde_json::Value;

use super::cluster_document::document;
use super::{labels, quantity, score};
use crate::kinds::Kind;
use crate::lenient::exact_instant;
use crate::objects::{CLUSTER_SET_LABEL, GROUP_INDEX_LABEL, GROUP_NAME_LABEL, PLACEMENT_LABEL};

/// An object that placements select from, with its status as a separate value; `None` for every other kind, or without
/// a required part.
#[must_use]
pub fn hub_object(kind: Kind, object: &Value, status: &Value) -> Option<HubObject> {
    let metadata = &object["metadata"];
    let label = |key: &str| metadata["labels"][key].as_str().map(Arc::from);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    Some(match kind {
        Kind::ManagedCluster => HubObject::Cluster(cluster(object, status)),
        Kind::ManagedClusterSet => {
            let selector = &object["spec"]["clusterSelector"];
            HubObject::Set(match selector["selectorType"].as_str() {
                Some("LabelSelector") => ClusterSet::Unusable,
                _ => ClusterSet::ByName,
            })
        }
        Kind::ManagedClusterSetBinding => {
            HubObject::Binding(object["spec"]["clusterSet"].as_str()?.into())
        }
        Kind::AddOnPlacementScore => {
            let until = &status["validUntil"];
            let is_unknown = !until.is_null();
            let valid_until = exact_instant(until).or(is_unknown.then_some(Scores::UNREADABLE));
            let scores = list(&status["scores"]);
            let scores = scores.iter().filter_map(|item| {
                let name = item["name"].as_str().filter(|name| !name.is_empty())?;
                let value = &item["value"];
                let score = if value.is_null() { Some(Score::default()) } else { score(value) };
                Some((Arc::from(name), score?))
            });
            HubObject::Scores(Scores { values: scores.collect(), valid_until })
        }
        Kind::PlacementDecision => {
            let clusters = list(&status["decisions"]);
            let names = clusters.iter().filter_map(|it| it["clusterName"].as_str().map(Arc::from));
            HubObject::Decision(PlacementDecision {
                placement: label(PLACEMENT_LABEL),
                group: label(GROUP_NAME_LABEL).unwrap_or_default(),
                group_index: label(GROUP_INDEX_LABEL).and_then(|it: Arc<str>| it.parse().ok()),
                clusters: names.collect(),
            })
        }
        _ => return None,
    })
}

fn cluster(object: &Value, status: &Value) -> Cluster {
    let metadata = &object["metadata"];
    let text = |value: &Value| Arc::from(value.as_str().unwrap_or_default());
    let taints = object["spec"]["taints"].as_array().into_iter().flatten().filter_map(|taint| {
        Some(Taint {
            key: text(&taint["key"]),
            value: text(&taint["value"]),
            effect: TaintEffect::named(taint["effect"].as_str()?)?,
            added: exact_instant(&taint["timeAdded"]),
        })
    });
    let claims = status["clusterClaims"].as_array().into_iter().flatten();
    let claims = claims.filter_map(|it| {
        let value = &it["value"];
        // A taint without a value has an empty value.
        let value = if value.is_null() { "" } else { value.as_str()? };
        Some((it["name"].as_str()?, value))
    });
    // As in Open Cluster Management, a resource without a capacity has no score.
    let amount = |name: &str| {
        let capacity = quantity::from_json(&status["capacity"][name]);
        quantity::from_json(&status["allocatable"][name]).filter(|_| capacity.is_some())
    };
    Cluster {
        labels: labels(&metadata["labels"]),
        claims: Labels::new(claims),
        set: metadata["labels"][CLUSTER_SET_LABEL].as_str().map(Arc::from),
        taints: taints.collect(),
        allocatable_cpu: amount("cpu"),
        allocatable_memory: amount("memory"),
        is_terminating: !metadata["deletionTimestamp"].is_null(),
        object: document(object, status),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scores_whose_end_cannot_be_read_have_ended() {
        let object = |until: Value| {
            let status = json!({ "scores": [{ "name": "cpu", "value": 3 }], "validUntil": until });
            match hub_object(Kind::AddOnPlacementScore, &json!({}), &status) {
                Some(HubObject::Scores(scores)) => scores.valid_until,
                other => panic!("{other:?} are no scores"),
            }
        };
        for wrong in [json!("tomorrow"), json!(7), json!("")] {
            assert_eq!(object(wrong), Some(Scores::UNREADABLE));
        }
        let instant = "2026-03-02T12:00:00Z";
        assert_eq!(object(json!(instant)), Some(instant.parse().unwrap()));
        assert_eq!(object(Value::Null), None);
    }
}
