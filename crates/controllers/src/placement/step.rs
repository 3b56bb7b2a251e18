//! Determines the next request for a decision, and the owner of an existing object of that name. Nothing is sent here.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_api::kinds::Kind;
use almanac_api::objects::{GROUP_INDEX_LABEL, GROUP_NAME_LABEL, PLACEMENT_LABEL};
use almanac_api::status::placement::Obstacle;
use almanac_engine::Identity;
use almanac_engine::placement::PlacementDecision;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Map, Value, json};

use super::records::DecisionRecord;
use crate::cluster::ClusterState;

/// A placement whose decisions are written.
pub(super) struct Owner<'a> {
    pub(super) name: &'a str,
    pub(super) uid: &'a str,
}

/// The next request for a decision.
pub(super) enum Step {
    Create,
    Status(DecisionRecord),
    Metadata(DecisionRecord, Map<String, Value>),
    /// The decision is up to date.
    None,
    /// The object belongs to another owner.
    Taken(Obstacle),
}

impl Step {
    /// Whether a request must be sent.
    pub(super) fn is_request(&self) -> bool {
        match self {
            Step::Create | Step::Status(_) | Step::Metadata(..) => true,
            Step::None | Step::Taken(_) => false,
        }
    }
}

impl Owner<'_> {
    /// Returns the next request, given the known and the desired decision.
    pub(super) fn step(
        &self,
        state: &ClusterState,
        decision: &Identity,
        content: &PlacementDecision,
    ) -> Step {
        let current =
            state.hub.decision(decision).zip(state.world.placement.extra.decisions.get(decision));
        let Some((record, found)) = current else { return Step::Create };
        if let Some(taken) = self.taken(decision, record, found) {
            return Step::Taken(taken);
        }
        // The clusters come before the labels: clients must not find a decision by its labels while its clusters are
        // wrong.
        if found.clusters != content.clusters {
            return Step::Status(record.clone());
        }
        let mut fields = Map::new();
        if (&found.placement, &found.group, found.group_index)
            != (&content.placement, &content.group, content.group_index)
        {
            fields.insert("labels".to_owned(), json!(labels(content)));
        }
        if record.controller().is_none() {
            let owners: Vec<OwnerReference> =
                record.owners.iter().cloned().chain([self.reference()]).collect();
            fields.insert("ownerReferences".to_owned(), json!(owners));
        }
        if fields.is_empty() { Step::None } else { Step::Metadata(record.clone(), fields) }
    }

    /// The obstacle that an object with the name of a decision belongs to another owner; `None` if the object belongs
    /// to this placement. An object without a controller belongs to the placement if its label names the placement,
    /// because clients find decisions by the label.
    pub(super) fn taken(
        &self,
        decision: &Identity,
        record: &DecisionRecord,
        found: &PlacementDecision,
    ) -> Option<Obstacle> {
        let owner = match record.controller() {
            Some(controller) if controller.uid == self.uid => return None,
            Some(controller)
                if controller.kind == Kind::Placement.name() && controller.name == self.name =>
            {
                "an earlier placement of this name and is about to be deleted with it".to_owned()
            }
            Some(controller) => format!("the {} {}", controller.kind, controller.name),
            None if found.placement.as_deref() == Some(self.name) => return None,
            None => match &found.placement {
                Some(other) => format!("the placement {other}, by its label"),
                None => "no placement, by its labels and owners".to_owned(),
            },
        };
        let message = format!(
            "{decision} belongs to {owner}, so it is not changed; delete it, or label it with \
             {PLACEMENT_LABEL}={} and remove its owner",
            self.name
        );
        Some(Obstacle { is_name_taken: true, message: message.into() })
    }

    /// Decisions are deleted with their placement, and do not block its deletion: in some clusters, blocking needs
    /// another permission.
    fn reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: Kind::Placement.api_version(),
            kind: Kind::Placement.name().to_owned(),
            name: self.name.to_owned(),
            uid: self.uid.to_owned(),
            controller: Some(true),
            block_owner_deletion: None,
        }
    }

    /// A decision to be created. Its status is written separately.
    pub(super) fn object(&self, decision: &Identity, content: &PlacementDecision) -> Value {
        let kind = Kind::PlacementDecision;
        json!({
            "apiVersion": kind.api_version(), "kind": kind.name(),
            "metadata": {
                "name": decision.name(), "namespace": decision.namespace(),
                "labels": labels(content), "ownerReferences": [self.reference()],
            },
        })
    }
}

fn labels(content: &PlacementDecision) -> BTreeMap<&'static str, String> {
    let index = content.group_index.unwrap_or_default();
    BTreeMap::from([
        (PLACEMENT_LABEL, content.placement.as_deref().unwrap_or_default().to_owned()),
        (GROUP_NAME_LABEL, content.group.to_string()),
        (GROUP_INDEX_LABEL, index.to_string()),
    ])
}

/// The status of a decision.
pub(super) fn status(content: &PlacementDecision) -> Value {
    let cluster = |name: &Arc<str>| json!({ "clusterName": &**name, "reason": "" });
    json!({ "decisions": content.clusters.iter().map(cluster).collect::<Vec<_>>() })
}
