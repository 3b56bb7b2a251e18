//! The watches that feed the ledger: all pods, nodes and policies, and which namespaces are exempt.

use std::sync::Arc;

use almanac_api::exempt;
use almanac_api::kinds::Kind;
use almanac_api::slim;
use almanac_engine::Identity;
use almanac_engine::units::{Node, Pod};
use almanac_shell::clock::Clock;
use almanac_shell::following::{
    Follower, Need, Selection, WatchAges, WatchFailure, follow_selected,
};
use kube::Client;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::deciding::Deciding;
use super::policies::PolicyFollower;
use crate::exemptions::{Excluding, NamespaceFollower};
use crate::list_progress::{ListProgress, ListReport};

/// A list that is waited for, and what it is of.
pub(super) struct Awaited {
    pub(super) what: &'static str,
    pub(super) progress: watch::Receiver<ListProgress>,
    /// Whether nothing can be decided without it.
    pub(super) is_needed: bool,
}

/// The watches of a term.
pub(super) struct Watches<'a> {
    pub(super) client: &'a Client,
    pub(super) ages: &'a WatchAges,
    pub(super) clock: &'a Clock,
    pub(super) deciding: &'a Arc<Deciding>,
    /// Another installation may reconcile the policies there.
    pub(super) exempt_namespaces: &'a [String],
}

impl Watches<'_> {
    /// Starts all watches. Their lists are the latest there is, since they accept nothing older.
    pub(super) fn begin(&self, tasks: &mut JoinSet<()>) -> Vec<Awaited> {
        let mut awaited = Vec::new();
        // Policies come first, so that pods are counted once.
        let (progress, listed) = ListReport::new();
        let follower = PolicyFollower::new(Arc::clone(self.deciding), self.clock.clone(), progress);
        let follower = Excluding::new(self.exempt_namespaces, follower);
        let kind = Kind::ResourcePolicy;
        self.follow(
            tasks,
            kind.resource(),
            Selection::default(),
            ("policies", Need::Always),
            follower,
        );
        awaited.push(Awaited { what: "all ResourcePolicies", progress: listed, is_needed: true });
        let (progress, listed) = ListReport::new();
        let follower = NodeFollower {
            deciding: Arc::clone(self.deciding),
            listed: None,
            version: None,
            progress,
        };
        let nodes = core("Node", "nodes");
        self.follow(tasks, nodes, Selection::default(), ("nodes", Need::Always), follower);
        awaited.push(Awaited { what: "all nodes", progress: listed, is_needed: true });
        let (progress, listed) = ListReport::new();
        let follower = PodFollower {
            deciding: Arc::clone(self.deciding),
            listed: None,
            version: None,
            progress,
        };
        let pods = core("Pod", "pods");
        self.follow(tasks, pods, Selection::default(), ("pods", Need::Always), follower);
        awaited.push(Awaited { what: "all pods", progress: listed, is_needed: true });
        awaited.push(self.follow_namespaces(tasks));
        awaited
    }

    fn follow_namespaces(&self, tasks: &mut JoinSet<()>) -> Awaited {
        let deciding = Arc::clone(self.deciding);
        let (follower, listed) = NamespaceFollower::new(move |name, mark| {
            let mut state = deciding.lock();
            if state.exempt.mark_namespace(name, mark) {
                let policies = state.policies.keys().filter(|it| it.namespace() == name);
                let policies: Vec<Identity> = policies.cloned().collect();
                drop(state);
                deciding.carry_out(&policies);
            }
        });
        let selection = Selection { metadata_only: true, ..Selection::default() };
        self.follow(tasks, exempt::namespaces(), selection, ("namespaces", Need::Never), follower);
        Awaited { what: "all namespaces", progress: listed, is_needed: false }
    }

    fn follow(
        &self,
        tasks: &mut JoinSet<()>,
        resource: ApiResource,
        selection: Selection,
        (age, need): (&str, Need),
        mut follower: impl Follower + 'static,
    ) {
        let client = self.client.clone();
        let age = self.ages.begin(age, need);
        tasks.spawn(async move {
            follow_selected(client, &resource, &selection, age, &mut follower).await;
        });
    }
}

/// A kind of the core group.
pub(super) fn core(kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

/// The name of a pod in the ledger.
pub(super) fn pod_identity(namespace: &str, name: &str) -> Identity {
    Identity::new("", "Pod", namespace, name)
}

pub(super) fn names(object: &DynamicObject) -> (&str, &str) {
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    (namespace, object.metadata.name.as_deref().unwrap_or_default())
}

fn version_of(object: &DynamicObject) -> Option<u64> {
    object.metadata.resource_version.as_deref()?.parse().ok()
}

/// Sends changes of pods to the ledger.
struct PodFollower {
    deciding: Arc<Deciding>,
    /// The current list.
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
        self.deciding.lock().ledger.set_pod(&identity, &pod);
        self.deciding.tell_arrival();
        self.deciding.tell_change();
    }

    fn delete(&mut self, object: DynamicObject) {
        let (namespace, name) = names(&object);
        let uid = object.metadata.uid.as_deref().map(Arc::from);
        let (identity, version) = (pod_identity(namespace, name), version_of(&object));
        self.deciding.lock().ledger.remove_pod(&identity, uid.as_ref(), version);
        self.deciding.tell_change();
    }

    fn list_complete(&mut self) {
        let listed = self.listed.take().unwrap_or_default();
        let all = listed.iter().map(|(identity, pod)| (identity, pod));
        self.deciding.lock().ledger.replace_pods(all, self.version);
        self.deciding.tell_arrival();
        self.deciding.tell_change();
        self.progress.complete();
    }

    fn failed(&mut self, why: &WatchFailure) {
        self.progress.failed(why);
    }

    fn versions_went_back(&mut self) {
        self.deciding.starts_over.notify_one();
    }
}

/// Sends changes of nodes to the ledger.
struct NodeFollower {
    deciding: Arc<Deciding>,
    /// The current list.
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
        self.deciding.lock().ledger.set_node(name, &node);
        self.deciding.tell_change();
    }

    fn delete(&mut self, object: DynamicObject) {
        let (_, name) = names(&object);
        self.deciding.lock().ledger.remove_node(name, version_of(&object));
        self.deciding.tell_change();
    }

    fn list_complete(&mut self) {
        let listed = self.listed.take().unwrap_or_default();
        let all = listed.iter().map(|(name, node)| (name.as_str(), node));
        self.deciding.lock().ledger.replace_nodes(all, self.version);
        self.deciding.tell_change();
        self.progress.complete();
    }

    fn failed(&mut self, why: &WatchFailure) {
        self.progress.failed(why);
    }

    fn versions_went_back(&mut self) {
        self.deciding.starts_over.notify_one();
    }
}
