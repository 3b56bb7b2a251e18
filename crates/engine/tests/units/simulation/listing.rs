//! The listing of a replica: one kind after the other, each at a different version, while its watches continue.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::Identity;
use almanac_engine::units::{Elapsed, Pod, ResourcePolicy};
use fastrand::Rng;

use super::api_server::ApiServer;
use super::faults::Fault;
use super::replica::Replica;
use crate::naive::{Nodes, Pods};

/// Policies, each with the version of its object.
type VersionedPolicies = BTreeMap<Identity, (ResourcePolicy, u64)>;

/// The objects that have been listed so far.
pub(super) struct List {
    pub(super) begun_at: Elapsed,
    pub(super) policies: Option<(VersionedPolicies, ListedAt)>,
    pub(super) nodes: Option<(Nodes, ListedAt)>,
    pub(super) pods: Option<(Pods, ListedAt)>,
}

/// The version of a list, and the position at which a watch continues from it.
#[derive(Clone, Copy)]
pub(super) struct ListedAt {
    version: u64,
    position: u64,
}

impl Replica {
    /// The position of the first watch event of a kind that the listing still needs.
    pub(super) fn needs_events_from(&self, kind: usize) -> u64 {
        let watched = if self.has_listed { self.positions[kind] } else { u64::MAX };
        let list = self.list.as_ref();
        let listed = list.and_then(|list| match kind {
            0 => list.policies.as_ref().map(|(_, at)| at.position),
            1 => list.nodes.as_ref().map(|(_, at)| at.position),
            _ => list.pods.as_ref().map(|(_, at)| at.position),
        });
        watched.min(listed.unwrap_or(u64::MAX))
    }

    /// Lists one more kind, in the current state of the API server.
    pub(super) fn list_more(&mut self, api: &ApiServer, now: Elapsed) {
        let list = self.list.get_or_insert(List {
            begun_at: now,
            policies: None,
            nodes: None,
            pods: None,
        });
        let at = |kind: usize| ListedAt { version: api.version, position: api.feeds[kind].end() };
        if list.policies.is_none() {
            let versioned = |(name, policy): (&Identity, &ResourcePolicy)| {
                (name.clone(), (policy.clone(), api.policy_versions[name]))
            };
            let all = api.held.policies.iter().map(versioned);
            list.policies = Some((all.collect(), at(0)));
        } else if list.nodes.is_none() {
            list.nodes = Some((api.held.nodes.clone(), at(1)));
        } else {
            list.pods = Some((api.held.pods.clone(), at(2)));
        }
    }

    pub(super) fn has_all_listed(&self) -> bool {
        self.list.as_ref().is_some_and(|list| list.pods.is_some())
    }

    /// Applies the finished list, and serves if the replica leads.
    pub(super) fn take_list(&mut self, rng: &mut Rng) {
        let Some(List { begun_at, policies, nodes, pods }) = self.list.take() else { return };
        let (Some(policies), Some(nodes), Some(pods)) = (policies, nodes, pods) else { return };
        self.is_changed = true;
        if self.fault == Some(Fault::DropsReservationsInALongList) && self.is_serving() {
            let held: Vec<Identity> = self.held.keys().cloned().collect();
            for pod in &held {
                self.drop_held(pod);
            }
        }
        self.take_policies(policies.0, policies.1);
        self.take_nodes(&nodes.0, nodes.1);
        self.take_pods(&pods.0, pods.1, rng);
        self.has_listed = true;
        let known = &self.seen.pods;
        self.held.retain(|name, _| known.contains_key(name));
        let is_hasty = self.fault == Some(Fault::ServesAtOnce);
        let begun_at = if is_hasty { Elapsed::MAX } else { begun_at };
        let was_waiting = !self.is_serving();
        if self.leads_until.is_some() && self.ledger.serve(begun_at).is_ok() && was_waiting {
            self.held.retain(|_, held| held.ends_by > begun_at);
        }
        self.drop_gone_nodes();
    }

    fn take_policies(&mut self, all: VersionedPolicies, at: ListedAt) {
        let contents: Vec<(Identity, ResourcePolicy, Option<u64>)> = all
            .iter()
            .map(|(name, (it, version))| (name.clone(), self.faulty_policy(it), Some(*version)))
            .collect();
        self.ledger.replace_policies(contents, Some(at.version));
        let versions = &self.policy_versions;
        self.seen
            .policies
            .retain(|name, _| all.contains_key(name) || versions.get(name) > Some(&at.version));
        let known = &self.seen.policies;
        self.policy_versions.retain(|name, _| known.contains_key(name));
        for (name, (policy, version)) in all {
            if self.seen.policies.contains_key(&name) || version > self.policies_seen {
                self.note_policy(&name, policy, version);
            }
        }
        self.policies_seen = self.policies_seen.max(at.version);
        self.positions[0] = self.positions[0].max(at.position);
    }

    fn take_nodes(&mut self, all: &Nodes, at: ListedAt) {
        self.ledger.replace_nodes(all.iter().map(|(name, it)| (&**name, it)), Some(at.version));
        let unlisted =
            self.seen.nodes.iter().filter(|(name, node)| {
                !all.contains_key(*name) && node.version <= Some(at.version)
            });
        let unlisted: Vec<Arc<str>> = unlisted.map(|(name, _)| Arc::clone(name)).collect();
        for name in unlisted {
            self.drop_node(&name);
        }
        self.drop_gone_nodes();
        for (name, node) in all {
            self.note_read_node(name, node);
        }
        self.nodes_seen = self.nodes_seen.max(at.version);
        self.positions[1] = self.positions[1].max(at.position);
    }

    fn take_pods(&mut self, all: &Pods, at: ListedAt, rng: &mut Rng) {
        let mut contents: Vec<(&Identity, Pod)> =
            all.iter().map(|(name, pod)| (name, self.faulty_pod(pod))).collect();
        rng.shuffle(&mut contents);
        let contents = contents.iter().map(|(name, pod)| (*name, pod));
        self.ledger.replace_pods(contents, Some(at.version));
        self.seen.pods.retain(|name, pod| all.contains_key(name) || pod.version > Some(at.version));
        for (name, pod) in all {
            self.note_read_pod(name, pod);
        }
        self.pods_seen = self.pods_seen.max(at.version);
        self.positions[2] = self.positions[2].max(at.position);
    }
}
