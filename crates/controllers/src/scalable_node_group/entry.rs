//! The entry of a group: its spec, and the bookkeeping for writing its status.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};

use almanac_api::exempt::is_marked;
use almanac_api::objects::ScalableNodeGroupSpec;
use almanac_api::status::conditions::ConditionReason;
use almanac_engine::Identity;
use almanac_shell::backoff::Backoff;
use kube::api::DynamicObject;
use serde_json::Value;

use super::{NodeGroup, ProvidedNodes};
use crate::cluster::StatusSnapshot;
use crate::namespaces::Part;

/// The existing groups, and the listed parts.
#[derive(Default)]
pub(crate) struct KnownNodeGroups {
    entries: BTreeMap<Identity, NodeGroupEntry>,
    /// The listed parts: a group without an entry in a listed part does not exist.
    pub(super) listed: BTreeSet<Part>,
}

/// One group.
pub(crate) struct NodeGroupEntry {
    /// Distinguishes the group from another object of the same name.
    pub(super) uid: Box<str>,
    /// The known version of the object.
    pub(super) version: Box<str>,
    pub(super) generation: Option<i64>,
    /// The list in which the group last appeared.
    pub(super) listing: u32,
    pub(super) is_marked: bool,
    /// The spec, or the reason that it cannot be read.
    pub(super) spec: Result<GroupSpec, String>,
    /// The nodes when they were last observed.
    pub(super) nodes: Option<ProvidedNodes>,
    /// The condition reason of a group that is not ready, in the current or the next status; `None` if it is ready.
    pub(crate) not_ready: Option<ConditionReason>,
    /// The status on the API server.
    pub(super) recorded: StatusSnapshot,
    /// Whether the status reports that the group is left to another controller.
    pub(super) is_left_alone: bool,
    /// The backoff of failed turns since the last success.
    pub(super) failures: Option<Box<Backoff>>,
}

/// The nodes that a group specifies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct GroupSpec {
    /// The type of the group.
    pub(super) kind: String,
    /// The provider's name for the group.
    pub(super) id: String,
    /// The desired number of nodes; `None` leaves the number unchanged.
    pub(super) replicas: Option<u32>,
}

/// A group, as it was when its turn started.
pub(super) struct Subject {
    pub(super) group: NodeGroup,
    pub(super) uid: Box<str>,
    generation: Option<i64>,
    pub(super) spec: Result<GroupSpec, String>,
}

impl Subject {
    /// Whether this is still the same object, with the same spec.
    pub(super) fn is(&self, entry: &NodeGroupEntry) -> bool {
        entry.uid == self.uid && entry.generation == self.generation && entry.spec == self.spec
    }
}

impl NodeGroupEntry {
    /// An entry for an object from a list or a watch.
    pub(super) fn from_object(object: &DynamicObject, listing: u32) -> Self {
        let metadata = &object.metadata;
        Self {
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            version: metadata.resource_version.as_deref().unwrap_or_default().into(),
            generation: metadata.generation,
            listing,
            is_marked: is_marked(metadata),
            spec: spec_of(object),
            nodes: nodes_in(&object.data["status"]),
            not_ready: None,
            recorded: StatusSnapshot::from_status(&object.data["status"]),
            is_left_alone: false,
            failures: None,
        }
    }

    pub(super) fn subject(&self, name: &Identity) -> Subject {
        let [namespace, name] = [name.namespace(), name.name()].map(str::to_owned);
        let id = self.spec.as_ref().map(|spec| spec.id.clone()).unwrap_or_default();
        Subject {
            group: NodeGroup { namespace, name, id },
            uid: self.uid.clone(),
            generation: self.generation,
            spec: self.spec.clone(),
        }
    }

    /// The number of its nodes when they were last observed.
    pub(super) fn has(&self) -> Option<u32> {
        self.nodes.as_ref().map(|nodes| nodes.replicas)
    }

    /// The desired number of nodes, if the spec sets it.
    pub(super) fn wanted(&self) -> Option<u32> {
        self.spec.as_ref().ok()?.replicas
    }
}

impl KnownNodeGroups {
    /// Whether a group without an entry is known not to exist.
    pub(super) fn would_have(&self, group: &Identity) -> bool {
        self.listed.iter().any(|part| part.covers(group))
    }

    /// Clears the record of which groups are left to another controller.
    pub(crate) fn clear_left_alone(&mut self) {
        self.entries.values_mut().for_each(|entry| entry.is_left_alone = false);
    }
}

/// The spec of an object. A CRD that is not ours may accept specs that ours rejects.
fn spec_of(object: &DynamicObject) -> Result<GroupSpec, String> {
    let spec = serde_json::from_value::<ScalableNodeGroupSpec>(object.data["spec"].clone());
    let ScalableNodeGroupSpec { replicas, kind, id } =
        spec.map_err(|error| format!("failed to read the spec: {error}"))?;
    match replicas.map(u32::try_from).transpose() {
        Ok(replicas) => Ok(GroupSpec { kind, id, replicas }),
        Err(_) => Err("spec.replicas is negative; it must be 0 or more".to_owned()),
    }
}

/// The nodes in a status.
fn nodes_in(status: &Value) -> Option<ProvidedNodes> {
    let replicas = u32::try_from(status["replicas"].as_u64()?).ok()?;
    Some(ProvidedNodes { replicas, selector: status["selector"].as_str()?.to_owned() })
}

impl Deref for KnownNodeGroups {
    type Target = BTreeMap<Identity, NodeGroupEntry>;

    fn deref(&self) -> &Self::Target {
        &self.entries
    }
}

impl DerefMut for KnownNodeGroups {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.entries
    }
}
