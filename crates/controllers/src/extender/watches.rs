//! The watches that feed the ledger: all pods, nodes and policies, and which namespaces are exempt.

use std::sync::Arc;

use almanac_api::kinds::Kind;
use almanac_api::slim;
use almanac_engine::Identity;
use almanac_engine::units::{Node, Pod};
use almanac_shell::following::{Follower, Need, Selection, WatchFailure};
use kube::api::DynamicObject;

use super::leader::Leader;
use super::policies::PolicyFollower;
use crate::exemptions::{Excluding, READ_INTERVAL};
use crate::list_progress::ListReport;
use crate::namespaces::Namespaces;
use crate::runtime::{ProcessOptions, RunningTerm, Watch, core, names};

/// The watches of a term.
pub(super) struct Watches<'a> {
    /// Another installation may reconcile the policies in exempt namespaces.
    pub(super) options: &'a ProcessOptions,
    pub(super) leader: &'a Arc<Leader>,
}

impl Watches<'_> {
    /// Starts all watches. The lists are current, because the watches accept no older version.
    pub(super) fn start(&self, running: &mut RunningTerm) {
        let leader = || Arc::clone(self.leader);
        // Policies come first, so that pods are counted once.
        let (progress, listed) = ListReport::new();
        let follower = PolicyFollower::new(leader(), self.options.clock.clone(), progress);
        let follower = Excluding::new(&self.options.exempt_namespaces, follower);
        let policies = Watch {
            age: "policies".to_owned(),
            ..Watch::new(Kind::ResourcePolicy.resource(), Need::Always)
        };
        running.watch("all ResourcePolicies", policies, (follower, listed));
        let (progress, listed) = ListReport::new();
        let follower = NodeFollower { leader: leader(), listed: None, version: None, progress };
        let nodes = Watch::new(core("Node", "nodes"), Need::Always);
        running.watch("all nodes", nodes, (follower, listed));
        let (progress, listed) = ListReport::new();
        let follower = PodFollower { leader: leader(), listed: None, version: None, progress };
        let pods = Watch::new(core("Pod", "pods"), Need::Always);
        running.watch("all pods", pods, (follower, listed));
        self.follow_namespaces(running);
    }

    fn follow_namespaces(&self, running: &mut RunningTerm) {
        let leader = Arc::clone(self.leader);
        let how = (Selection::default(), READ_INTERVAL);
        running.watch_namespaces(&Namespaces::All, how, move |name, mark| {
            let mut state = leader.lock();
            if state.exempt.mark_namespace(name, mark) {
                let policies = state.policies.keys().filter(|it| it.namespace() == name);
                let policies: Vec<Identity> = policies.cloned().collect();
                drop(state);
                leader.apply_policies(&policies);
            }
        });
    }
}

/// The name of a pod in the ledger.
pub(super) fn pod_identity(namespace: &str, name: &str) -> Identity {
    Identity::new("", "Pod", namespace, name)
}

fn version_of(object: &DynamicObject) -> Option<u64> {
    object.metadata.resource_version.as_deref()?.parse().ok()
}

/// Sends changes of pods to the ledger.
struct PodFollower {
    leader: Arc<Leader>,
    /// The objects in the list that is in progress.
    listed: Option<Vec<(Identity, Pod)>>,
    version: Option<u64>,
    progress: ListReport,
}

impl Follower for PodFollower {
    fn listing_at(&mut self, version: &str) {
        self.version = version.parse().ok();
    }

    fn begin_list(&mut self) {
        self.listed = Some(Vec::new());
    }

    fn upsert(&mut self, object: DynamicObject) {
        let (namespace, name) = names(&object);
        let (identity, pod) = (pod_identity(namespace, name), slim::watched_unit_pod(&object));
        if let Some(listed) = &mut self.listed {
            listed.push((identity, pod));
            return;
        }
        self.leader.lock().ledger.set_pod(&identity, &pod);
        self.leader.notify_arrival();
        self.leader.notify_change();
    }

    fn delete(&mut self, object: DynamicObject) {
        let (namespace, name) = names(&object);
        let uid = object.metadata.uid.as_deref().map(Arc::from);
        let (identity, version) = (pod_identity(namespace, name), version_of(&object));
        self.leader.lock().ledger.remove_pod(&identity, uid.as_ref(), version);
        self.leader.notify_change();
    }

    fn list_complete(&mut self) {
        let listed = self.listed.take().unwrap_or_default();
        let all = listed.iter().map(|(identity, pod)| (identity, pod));
        self.leader.lock().ledger.replace_pods(all, self.version);
        self.leader.notify_arrival();
        self.leader.notify_change();
        self.progress.complete();
    }

    fn failed(&mut self, why: &WatchFailure) {
        self.progress.failed(why);
    }

    fn versions_went_back(&mut self) {
        self.leader.starts_over.notify_one();
    }
}

/// Sends changes of nodes to the ledger.
struct NodeFollower {
    leader: Arc<Leader>,
    /// The objects in the list that is in progress.
    listed: Option<Vec<(String, Node)>>,
    version: Option<u64>,
    progress: ListReport,
}

impl Follower for NodeFollower {
    fn listing_at(&mut self, version: &str) {
        self.version = version.parse().ok();
    }

    fn begin_list(&mut self) {
        self.listed = Some(Vec::new());
    }

    fn upsert(&mut self, object: DynamicObject) {
        let node = slim::watched_unit_node(&object);
        let (_, name) = names(&object);
        if let Some(listed) = &mut self.listed {
            listed.push((name.to_owned(), node));
            return;
        }
        self.leader.lock().ledger.set_node(name, &node);
        self.leader.notify_change();
    }

    fn delete(&mut self, object: DynamicObject) {
        let (_, name) = names(&object);
        self.leader.lock().ledger.remove_node(name, version_of(&object));
        self.leader.notify_change();
    }

    fn list_complete(&mut self) {
        let listed = self.listed.take().unwrap_or_default();
        let all = listed.iter().map(|(name, node)| (name.as_str(), node));
        self.leader.lock().ledger.replace_nodes(all, self.version);
        self.leader.notify_change();
        self.progress.complete();
    }

    fn failed(&mut self, why: &WatchFailure) {
        self.progress.failed(why);
    }

    fn versions_went_back(&mut self) {
        self.leader.starts_over.notify_one();
    }
}
