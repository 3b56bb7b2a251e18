//! What an agent watches: its pods, their nodes, its two `ConfigMaps`, and which namespaces are exempt. Surveys begin
//! when all of that is known.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use almanac_api::exempt;
use almanac_api::kinds::Kind;
use almanac_api::objects::AGENT_CONFIGS;
use almanac_api::slim;
use almanac_engine::qos_levels::Node;
use almanac_shell::event_log::EventLog;
use almanac_shell::following::{Follower, Need, Selection, WatchFailure, follow_selected};
use kube::api::DynamicObject;
use kube::core::ApiResource;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::config::ConfigFollower;
use super::pods::PodFollower;
use super::survey::{Surveyed, offset};
use super::{Agent, Nodes};
use crate::exemptions::{self, NamespaceFollower, READ_INTERVAL};
use crate::list_progress::{ListProgress, ListReport, Listings};
use crate::namespaces::Part;

/// How long a watch lasts at least, and less than twice that. Every node of a cluster may have an agent, and each
/// restart is a request.
const WATCH: Duration = Duration::from_mins(5);

/// The permissions for nodes and namespaces may be missing on purpose.
const FORBIDDEN_PAUSE: Duration = Duration::from_mins(3);

/// How often an agent of a single node reads a namespace that may not be watched. There may be thousands of them.
const READ_INTERVAL_ON_A_NODE: Duration = Duration::from_mins(1);

/// A list that is waited for, and what it is of.
pub(super) struct Awaited {
    pub(super) what: String,
    pub(super) progress: watch::Receiver<ListProgress>,
    /// Whether nothing can be done without it.
    pub(super) is_needed: bool,
}

/// The watches of a term.
pub(super) struct Watches<'a> {
    pub(super) agent: &'a Agent,
    pub(super) surveyed: Arc<Surveyed>,
    pub(super) events: EventLog,
}

impl Watches<'_> {
    /// Starts all watches. The pods are awaited after the rest.
    pub(super) fn begin(&self, tasks: &mut JoinSet<()>) -> (Vec<Awaited>, Listings) {
        let mut awaited = Vec::new();
        let namespace = &self.agent.options.config_namespace;
        for (name, _) in AGENT_CONFIGS {
            let (progress, listed) = ListReport::new();
            let follower = ConfigFollower {
                config: Kind::ConfigMap.identity(namespace, name),
                surveyed: Arc::clone(&self.surveyed),
                events: self.events.clone(),
                told_after: self.told_after(),
                progress,
                is_listed: false,
            };
            let what = format!("the ConfigMap {namespace}/{name}");
            let fields = Some(format!("metadata.name={name}"));
            let namespace = Some(namespace.clone());
            let selection = Selection { namespace, ..self.selection(fields) };
            // Two ages, because one of the two watches may hang.
            self.follow(
                tasks,
                Kind::ConfigMap.resource(),
                selection,
                (name, Need::Always),
                follower,
            );
            awaited.push(Awaited { what, progress: listed, is_needed: true });
        }
        let parts = self.agent.options.namespaces.parts().into_iter();
        let pods = parts.map(|part| (part.clone(), self.follow_pods(part, tasks))).collect();
        if self.agent.options.namespaces.limit().is_none() {
            awaited.push(self.follow_nodes(tasks));
        } else {
            tracing::info!(
                "nodes are in no namespace, so policies for certain nodes are not carried out"
            );
        }
        awaited.push(self.follow_namespaces(tasks));
        (awaited, Listings::new("Pod", pods))
    }

    fn follow_pods(&self, part: Part, tasks: &mut JoinSet<()>) -> watch::Receiver<ListProgress> {
        let fields = match &self.agent.options.nodes {
            Nodes::One(node) => Some(format!("spec.nodeName={node}")),
            Nodes::All => None,
        };
        let (from_cache, namespace) = (fields.is_some(), part.selection().namespace);
        let selection = Selection { from_cache, namespace, ..self.selection(fields) };
        let need = part.need();
        let (progress, listed) = ListReport::new();
        let surveyed = Arc::clone(&self.surveyed);
        let follower = PodFollower { part, surveyed, listing: 0, progress };
        self.follow(tasks, core("Pod", "pods"), selection, ("pods", need), follower);
        listed
    }

    fn follow_nodes(&self, tasks: &mut JoinSet<()>) -> Awaited {
        let (progress, listed) = ListReport::new();
        let surveyed = Arc::clone(&self.surveyed);
        let of = match &self.agent.options.nodes {
            Nodes::One(node) => Some(Arc::clone(node)),
            Nodes::All => None,
        };
        let fields = of.as_ref().map(|node| format!("metadata.name={node}"));
        let follower = NodeFollower { surveyed, of, listed: None, progress, has_complained: false };
        let forbidden_pause = FORBIDDEN_PAUSE;
        let selection =
            Selection { metadata_only: true, forbidden_pause, ..self.selection(fields) };
        self.follow(tasks, core("Node", "nodes"), selection, ("nodes", Need::Never), follower);
        Awaited { what: "nodes".to_owned(), progress: listed, is_needed: false }
    }

    fn follow_namespaces(&self, tasks: &mut JoinSet<()>) -> Awaited {
        let surveyed = Arc::clone(&self.surveyed);
        let (follower, listed) = NamespaceFollower::new(move |name, mark| {
            let world = &mut surveyed.known.lock().world;
            exemptions::change(world, |exempt| exempt.mark_namespace(name, mark));
            surveyed.ask();
        });
        let what = "all namespaces".to_owned();
        let is_one_of_many = matches!(self.agent.options.nodes, Nodes::One(_));
        if let Some(names) = self.agent.options.namespaces.limit() {
            let pause = if is_one_of_many { READ_INTERVAL_ON_A_NODE } else { READ_INTERVAL };
            let (client, names) = (self.agent.client.clone(), names.iter().cloned().collect());
            tasks.spawn(follower.ask(client, names, pause));
            return Awaited { what, progress: listed, is_needed: false };
        }
        // One that is a bit behind may lack a mark that was just set, which thousands of lists from etcd would
        // be too much for.
        let from_cache = is_one_of_many;
        let (metadata_only, forbidden_pause) = (true, FORBIDDEN_PAUSE);
        let selection =
            Selection { from_cache, metadata_only, forbidden_pause, ..self.selection(None) };
        self.follow(tasks, exempt::namespaces(), selection, ("namespaces", Need::Never), follower);
        Awaited { what, progress: listed, is_needed: false }
    }

    fn told_after(&self) -> Duration {
        match &self.agent.options.nodes {
            Nodes::One(node) => offset(node, self.agent.options.spread),
            Nodes::All => Duration::ZERO,
        }
    }

    fn selection(&self, fields: Option<String>) -> Selection {
        let seed = self.agent.options.seed;
        let part = u32::try_from(seed % 1024).unwrap_or_default();
        let lasting = WATCH + WATCH * part / 1024;
        Selection { fields, lasting, seed, ..Selection::default() }
    }

    fn follow(
        &self,
        tasks: &mut JoinSet<()>,
        resource: ApiResource,
        selection: Selection,
        (age, need): (&str, Need),
        mut follower: impl Follower + 'static,
    ) {
        let client = self.agent.client.clone();
        let age = self.agent.health.watch_ages().begin(age, need);
        tasks.spawn(async move {
            follow_selected(client, &resource, &selection, age, &mut follower).await;
        });
    }
}

/// A kind of the core group.
fn core(kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

/// Notes the labels of nodes, by which lists of policies are chosen.
struct NodeFollower {
    surveyed: Arc<Surveyed>,
    /// The only node of this agent, if it has only one.
    of: Option<Arc<str>>,
    /// The nodes in the list that is in progress.
    listed: Option<BTreeSet<Arc<str>>>,
    progress: ListReport,
    has_complained: bool,
}

impl NodeFollower {
    fn remove(&self, node: &str) {
        if self.surveyed.known.lock().world.objects.nodes.remove(node).is_some() {
            self.surveyed.ask();
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
        let nodes = &mut self.surveyed.known.lock().world.objects.nodes;
        if nodes.get(&name) != Some(&node) {
            nodes.insert(name, node);
            self.surveyed.ask();
        }
    }

    fn delete(&mut self, object: DynamicObject) {
        self.remove(object.metadata.name.as_deref().unwrap_or_default());
    }

    fn list_complete(&mut self) {
        let listed = self.listed.take().unwrap_or_default();
        let known: Vec<Arc<str>> =
            self.surveyed.known.lock().world.objects.nodes.keys().cloned().collect();
        for gone in known.iter().filter(|it| !listed.contains(*it)) {
            self.remove(gone);
        }
        if let Some(node) = self.of.as_ref().filter(|it| !listed.contains(*it))
            && !self.progress.is_complete()
        {
            tracing::warn!(%node, "there is no node of this name");
        }
        self.progress.complete();
    }

    fn failed(&mut self, why: &WatchFailure) {
        if why.is_forbidden && !self.has_complained {
            self.has_complained = true;
            tracing::warn!(
                error = why.reason,
                "failed to watch nodes: their labels are not known, so policies for certain nodes are not carried out"
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
        serde_json::from_value(object).expect("it has the shape of one")
    }

    #[test]
    fn nodes_that_come_and_go_leave_nothing_behind() {
        let clock = Clock::from_fn(|| Timestamp::UNIX_EPOCH);
        let surveyed = Arc::new(Surveyed {
            known: Arc::default(),
            queue: WorkQueue::new(clock.clone()),
            clock,
            metrics: LevelMetrics::default(),
            spread: Duration::ZERO,
            asked: Notify::new(),
        });
        let (progress, _listed) = ListReport::new();
        let (known, of) = (Arc::clone(&surveyed.known), None);
        let mut follower =
            NodeFollower { surveyed, of, listed: None, progress, has_complained: false };
        for _ in 0..2 {
            follower.begin_list();
            follower.upsert(node("stays"));
            follower.list_complete();
            for number in 0..100 {
                follower.upsert(node(&format!("goes-{number}")));
                follower.delete(node(&format!("goes-{number}")));
            }
            assert_eq!(known.lock().world.objects.nodes.len(), 1);
            assert_eq!(follower.listed.as_ref().map_or(0, BTreeSet::len), 0);
        }
    }
}
