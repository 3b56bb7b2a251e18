//! The watches of an agent: its pods, their nodes, its two `ConfigMaps`, and the exempt namespaces. Resyncs start when
//! all of these are listed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use almanac_api::kinds::Kind;
use almanac_api::objects::AGENT_CONFIGS;
use almanac_api::slim;
use almanac_engine::qos_levels::Node;
use almanac_shell::event_log::EventLog;
use almanac_shell::following::{Follower, Need, Selection, WatchFailure};
use kube::api::DynamicObject;
use serde_json::json;
use tokio::task::JoinSet;

use super::config::ConfigFollower;
use super::pods::PodFollower;
use super::resync::{Resync, offset};
use super::{Agent, Nodes};
use crate::exemptions::{self, READ_INTERVAL};
use crate::list_progress::ListReport;
use crate::namespaces::Part;
use crate::runtime::{RunningTerm, Watch, core};

/// The minimum duration of a watch; the maximum is twice that. Every node of a cluster may have an agent, and each
/// restart is a request.
const WATCH: Duration = Duration::from_mins(5);

/// The permissions for nodes and namespaces may be missing on purpose.
const FORBIDDEN_PAUSE: Duration = Duration::from_mins(3);

/// The interval at which an agent of one node reads a namespace if watching it is forbidden. A cluster may have
/// thousands of such agents.
const READ_INTERVAL_ON_A_NODE: Duration = Duration::from_mins(1);

/// The watches of a term.
pub(super) struct Watches<'a> {
    pub(super) agent: &'a Agent,
    pub(super) resync: Arc<Resync>,
    pub(super) events: EventLog,
}

impl Watches<'_> {
    /// Starts all watches. The pods come last.
    pub(super) fn start(&self, running: &mut RunningTerm) {
        for (name, _) in AGENT_CONFIGS {
            self.follow_config(name, running);
        }
        if self.agent.options.namespaces.limit().is_none() {
            self.follow_nodes(running);
        } else {
            tracing::info!(
                "nodes have no namespace, so policies for certain nodes are not applied"
            );
        }
        self.follow_namespaces(running);
        self.follow_pods(running);
    }

    fn follow_config(&self, name: &str, running: &mut RunningTerm) {
        let namespace = &self.agent.options.config_namespace;
        let (progress, listed) = ListReport::new();
        let follower = ConfigFollower {
            config: Kind::ConfigMap.identity(namespace, name),
            resync: Arc::clone(&self.resync),
            events: self.events.clone(),
            event_delay: self.event_delay(),
            delayed: JoinSet::new(),
            progress,
            is_listed: false,
        };
        let selected = self.selection(Some(format!("metadata.name={name}")));
        let watched = Watch {
            selection: Selection { namespace: Some(namespace.clone()), ..selected },
            // Two ages, because either watch may hang.
            age: name.to_owned(),
            ..Watch::new(Kind::ConfigMap.resource(), Need::Always)
        };
        running.watch(format!("the ConfigMap {namespace}/{name}"), watched, (follower, listed));
    }

    fn follow_pods(&self, running: &mut RunningTerm) {
        let fields = self.node().map(|node| format!("spec.nodeName={node}"));
        let select = |part: &Part| {
            let (from_cache, namespace) = (fields.is_some(), part.selection().namespace);
            let selection = Selection { from_cache, namespace, ..self.selection(fields.clone()) };
            Watch { selection, ..Watch::new(core("Pod", "pods"), part.need()) }
        };
        running.watch_parts("Pod", &self.agent.options.namespaces, select, |part| {
            let (progress, listed) = ListReport::new();
            let resync = Arc::clone(&self.resync);
            (PodFollower { part, resync, listing: 0, progress }, listed)
        });
    }

    fn follow_nodes(&self, running: &mut RunningTerm) {
        let (progress, listed) = ListReport::new();
        let (resync, node) = (Arc::clone(&self.resync), self.node().cloned());
        let fields = node.as_ref().map(|node| format!("metadata.name={node}"));
        let follower = NodeFollower { resync, node, listed: None, progress, has_complained: false };
        let (metadata_only, forbidden_pause) = (true, FORBIDDEN_PAUSE);
        let selection = Selection { metadata_only, forbidden_pause, ..self.selection(fields) };
        let watched = Watch { selection, ..Watch::new(core("Node", "nodes"), Need::Never) };
        running.watch("nodes", watched, (follower, listed));
    }

    fn follow_namespaces(&self, running: &mut RunningTerm) {
        let resync = Arc::clone(&self.resync);
        let is_one_of_many = self.node().is_some();
        let interval = if is_one_of_many { READ_INTERVAL_ON_A_NODE } else { READ_INTERVAL };
        // The API server's cache may lag and lack an annotation that was just set. But thousands of lists from etcd
        // would cost too much.
        let (from_cache, forbidden_pause) = (is_one_of_many, FORBIDDEN_PAUSE);
        let selection = Selection { from_cache, forbidden_pause, ..self.selection(None) };
        let how = (selection, interval);
        running.watch_namespaces(&self.agent.options.namespaces, how, move |name, mark| {
            let world = &mut resync.state.lock().world;
            exemptions::change(world, |exempt| exempt.mark_namespace(name, mark));
            resync.request();
        });
    }

    /// The node of the agent; `None` for an agent for all nodes.
    fn node(&self) -> Option<&Arc<str>> {
        match &self.agent.options.nodes {
            Nodes::One(node) => Some(node),
            Nodes::All => None,
        }
    }

    fn event_delay(&self) -> Duration {
        self.node().map_or(Duration::ZERO, |node| offset(node, self.agent.options.spread))
    }

    fn selection(&self, fields: Option<String>) -> Selection {
        let seed = self.agent.options.process.seed;
        let part = u32::try_from(seed % 1024).unwrap_or_default();
        let lasting = WATCH + WATCH * part / 1024;
        Selection { fields, lasting, seed, ..Selection::default() }
    }
}

/// Records the labels of nodes, which select the lists of policies.
struct NodeFollower {
    resync: Arc<Resync>,
    /// The node of this agent; `None` for an agent for all nodes.
    node: Option<Arc<str>>,
    /// The nodes in the list that is in progress.
    listed: Option<BTreeSet<Arc<str>>>,
    progress: ListReport,
    has_complained: bool,
}

impl NodeFollower {
    fn remove(&self, node: &str) {
        if self.resync.state.lock().world.objects.nodes.remove(node).is_some() {
            self.resync.request();
        }
    }
}

impl Follower for NodeFollower {
    fn begin_list(&mut self) {
        self.listed = Some(BTreeSet::new());
    }

    fn upsert(&mut self, object: DynamicObject) {
        let name: Arc<str> = object.metadata.name.as_deref().unwrap_or_default().into();
        let node = Node { labels: slim::labels(&json!(object.metadata.labels)) };
        if let Some(listed) = &mut self.listed {
            listed.insert(Arc::clone(&name));
        }
        let nodes = &mut self.resync.state.lock().world.objects.nodes;
        if nodes.get(&name) != Some(&node) {
            nodes.insert(name, node);
            self.resync.request();
        }
    }

    fn delete(&mut self, object: DynamicObject) {
        self.remove(object.metadata.name.as_deref().unwrap_or_default());
    }

    fn list_complete(&mut self) {
        let listed = self.listed.take().unwrap_or_default();
        let nodes: Vec<Arc<str>> =
            self.resync.state.lock().world.objects.nodes.keys().cloned().collect();
        for gone in nodes.iter().filter(|it| !listed.contains(*it)) {
            self.remove(gone);
        }
        if let Some(node) = self.node.as_ref().filter(|it| !listed.contains(*it))
            && !self.progress.is_complete()
        {
            tracing::warn!(%node, "the node does not exist");
        }
        self.progress.complete();
    }

    fn failed(&mut self, why: &WatchFailure) {
        if why.is_forbidden && !self.has_complained {
            self.has_complained = true;
            tracing::warn!(
                error = why.reason,
                "failed to watch nodes: their labels are unknown, so policies for certain nodes are not applied"
            );
        }
        self.progress.failed(why);
    }

    fn versions_went_back(&mut self) {}
}

#[cfg(test)]
mod tests {
    use almanac_shell::clock::Clock;
    use jiff::Timestamp;
    use tokio::sync::Notify;

    use super::*;
    use crate::agent::metrics::LevelMetrics;
    use crate::work_queue::WorkQueue;

    fn node(name: &str) -> DynamicObject {
        let object = json!({ "metadata": { "name": name } });
        serde_json::from_value(object).expect("the object is valid")
    }

    #[test]
    fn deleted_nodes_leave_no_entries() {
        let clock = Clock::from_fn(|| Timestamp::UNIX_EPOCH);
        let resync = Arc::new(Resync {
            state: Arc::default(),
            queue: WorkQueue::new(clock.clone()),
            clock,
            metrics: LevelMetrics::default(),
            spread: Duration::ZERO,
            requests: Notify::new(),
        });
        let (progress, _listed) = ListReport::new();
        let state = Arc::clone(&resync.state);
        let mut follower =
            NodeFollower { resync, node: None, listed: None, progress, has_complained: false };
        for _ in 0..2 {
            follower.begin_list();
            follower.upsert(node("stays"));
            follower.list_complete();
            for number in 0..100 {
                follower.upsert(node(&format!("goes-{number}")));
                follower.delete(node(&format!("goes-{number}")));
            }
            assert_eq!(state.lock().world.objects.nodes.len(), 1);
            assert_eq!(follower.listed.as_ref().map_or(0, BTreeSet::len), 0);
        }
    }
}
