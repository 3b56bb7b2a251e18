//! One group in front of a stub of the API and of a provider that only counts.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use almanac_engine::Exemptions;
use almanac_fixtures::objects;
use almanac_shell::budget::{WriteBudget, WriteLimits};
use almanac_shell::event_log::EventMetrics;
use almanac_shell::following::Follower as _;
use almanac_shell::lease::Fence;
use almanac_shell::writer::WriteMetrics;
use almanac_stub::{Kind as StubKind, Stub};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};

use super::super::*;
use crate::leadership::Leadership;
use crate::list_progress::{ListProgress, ListReport};

/// Provides nodes by counting them.
#[derive(Default)]
pub(super) struct Counting {
    nodes: AtomicU32,
    /// The reason that the nodes cannot be observed.
    pub(super) unobserved: Mutex<Option<ProviderError>>,
    /// The reason that the nodes cannot be created or removed.
    pub(super) refused: Mutex<Option<ProviderError>>,
    /// An event just before a write.
    pub(super) before_write: Mutex<Option<Box<dyn Fn() + Send>>>,
    /// An event just before the nodes are observed.
    pub(super) before_observation: Mutex<Option<Box<dyn Fn() + Send>>>,
    abandoned: Mutex<Vec<String>>,
}

impl Counting {
    fn set(&self, replicas: u32, may_write: MayWrite<'_>) {
        if let Some(act) = self.before_write.lock().expect("lock is not poisoned").take() {
            act();
        }
        if may_write() {
            self.nodes.store(replicas, Ordering::SeqCst);
        }
    }

    pub(super) fn has(&self) -> u32 {
        self.nodes.load(Ordering::SeqCst)
    }

    pub(super) fn abandoned(&self) -> Vec<String> {
        self.abandoned.lock().expect("lock is not poisoned").clone()
    }
}

impl NodeProvider for Counting {
    fn serve(&self, _: NodesChanged) -> BoxFuture<'_, ()> {
        std::future::pending().boxed()
    }

    fn observe<'a>(
        &'a self,
        _: &'a NodeGroup,
    ) -> BoxFuture<'a, Result<ProvidedNodes, ProviderError>> {
        if let Some(act) = self.before_observation.lock().expect("lock is not poisoned").take() {
            act();
        }
        let selector = "pool=spot".to_owned();
        let observed = match self.unobserved.lock().expect("lock is not poisoned").clone() {
            Some(error) => Err(error),
            None => Ok(ProvidedNodes { replicas: self.has(), selector }),
        };
        std::future::ready(observed).boxed()
    }

    fn scale<'a>(
        &'a self,
        _: &'a NodeGroup,
        replicas: u32,
        may_write: MayWrite<'a>,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        let refused = self.refused.lock().expect("lock is not poisoned").clone();
        if refused.is_none() {
            self.set(replicas, may_write);
        }
        std::future::ready(refused.map_or(Ok(()), Err)).boxed()
    }

    fn abandon<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        may_write: MayWrite<'a>,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        self.set(0, may_write);
        self.abandoned.lock().expect("lock is not poisoned").push(format!("{namespace}/{name}"));
        std::future::ready(Ok(())).boxed()
    }
}

/// A term with one group, `default/pool`, of the type that is counted.
pub(super) struct Bench {
    pub(super) stub: Stub,
    pub(super) fence: Fence,
    pub(super) provider: Arc<Counting>,
    pub(super) groups: Arc<NodeGroups>,
    pub(super) follower: NodeGroupFollower,
    generation: u64,
}

impl Bench {
    /// A group with this many desired nodes and no existing node.
    pub(super) fn with_replicas(replicas: u32) -> Self {
        let (stub, fence) = (Stub::new(), Fence::open());
        let kind = Kind::ScalableNodeGroup;
        stub.serve(StubKind::new(&kind.api_version(), kind.name(), kind.plural()));
        let crd = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        stub.serve(StubKind::new(crd.0, crd.1, "customresourcedefinitions").cluster_scoped());
        let clock = Clock::from_fn(|| almanac_fixtures::at("2026-11-20T09:00:00Z"));
        let budget = WriteBudget::new(WriteLimits::default());
        let writer = Writer::new(stub.client(), fence.clone(), budget, WriteMetrics::default());
        let (events, telling) = EventLog::new(writer.clone(), "test", &EventMetrics::default());
        tokio::spawn(telling.run());
        let cluster = Arc::new(Cluster::default());
        cluster.lock().world.objects.exempt = Arc::new(Exemptions::for_namespaces(["kube-system"]));
        let queue = Arc::new(WorkQueue::new(clock.clone()));
        let (follower, _) = NodeGroupFollower::new(Arc::clone(&cluster), Arc::clone(&queue));
        let provider = Arc::new(Counting::default());
        let counted: Arc<dyn NodeProvider> = Arc::<Counting>::clone(&provider);
        let groups = Arc::new(NodeGroups {
            cluster,
            queue,
            providers: NodeProviders::from([("Counted", counted)]),
            writer,
            events,
            switch: Switch::new(clock.clone()),
            clock,
            upstreams: Upstreams::for_families(&[Controlled::NodeGroups], &[]),
            schemas: ServedSchemas::default(),
            metrics: NodeGroupMetrics::default(),
            seed: 1,
        });
        let mut bench = Self { stub, fence, provider, groups, follower, generation: 0 };
        bench.put(objects::scalable_node_group("pool", "Counted", "spot", replicas));
        bench.follower.list_complete();
        bench
    }

    /// Stores an object, as a user does, and delivers it to the controller.
    pub(super) fn put(&mut self, object: Value) {
        self.generation += 1;
        let before = self.stub.object("scalablenodegroups", "default", "pool");
        let status = before.map(|before| before["status"].clone()).unwrap_or_default();
        let mut object = objects::stored(object, "1", 1, self.generation);
        object["status"] = status;
        self.stub.put(object);
        self.see();
    }

    pub(super) fn object(&self) -> Value {
        self.stub.object("scalablenodegroups", "default", "pool").expect("the object exists")
    }

    pub(super) fn see(&mut self) {
        let object = serde_json::from_value(self.object()).expect("the object is valid");
        self.follower.upsert(object);
    }

    /// Delivers to the controller that the group is deleted.
    pub(super) fn go(&mut self) {
        let object = serde_json::from_value(self.object()).expect("the object is valid");
        self.follower.delete(object);
    }

    pub(super) async fn turn(&self) -> Option<SignedDuration> {
        let again = self.groups.take_turn(&pool()).await;
        again.map(|again| again.duration_since(self.groups.clock.now()))
    }

    /// The status, the reason and the message of a condition.
    pub(super) fn condition(&self, about: &str) -> [String; 3] {
        let object = self.object();
        let conditions =
            object["status"]["conditions"].as_array().expect("the status has conditions");
        let condition =
            conditions.iter().find(|it| it["type"] == about).expect("the condition exists");
        ["status", "reason", "message"]
            .map(|field| condition[field].as_str().expect("the value is a string").to_owned())
    }

    pub(super) fn reasons(&self) -> [String; 2] {
        ["AbleToScale", "Ready"].map(|about| {
            let [status, reason, _] = self.condition(about);
            format!("{status} {reason}")
        })
    }

    /// Lets Karpenter run in the cluster, and the controller detect it.
    pub(super) async fn run_karpenter(&self) {
        self.stub.put(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {
                "name": "scalablenodegroups.autoscaling.karpenter.sh",
                "annotations": { "controller-gen.kubebuilder.io/version": "v0.4.1" },
            },
        }));
        self.stub.put(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": { "namespace": "karpenter", "name": "karpenter-leader-election" },
            "spec": { "holderIdentity": "karpenter", "renewTime": "2026-11-20T09:00:00.000000Z" },
        }));
        let (first, mut progress) = ListReport::new();
        let (client, clock) = (self.stub.client(), self.groups.clock.clone());
        tokio::spawn(self.groups.upstreams.clone().watch(client, clock, first, |_| {}));
        progress.wait_for(|it| *it == ListProgress::Whole).await.expect("the sender exists");
    }

    /// The Events so far, as reason and note.
    pub(super) async fn events(&self) -> Vec<String> {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let created = self.stub.requests_where(|it| it.path.contains("/events"));
        let texts = created.iter().map(|it| format!("{} {}", it.body["reason"], it.body["note"]));
        texts.map(|event| event.replace('"', "")).collect()
    }

    pub(super) fn metrics(&self) -> String {
        let (mut registry, leading) = (Registry::default(), Leadership::default());
        leading.start(self.fence.clone(), Arc::clone(&self.groups.cluster));
        self.groups.metrics.register(&mut registry, &leading);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry)
            .expect("encode the metrics");
        text
    }
}

pub(super) fn pool() -> Identity {
    Kind::ScalableNodeGroup.identity("default", "pool")
}
