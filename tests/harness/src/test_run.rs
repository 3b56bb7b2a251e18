//! Runs one test against a cluster: the environment of the test, the report of a failure, and the cleanup.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use futures::FutureExt as _;
use k8s_openapi::api::core::v1::{Event, Namespace, Pod, ServiceAccount};
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use serde_json::json;
use tokio::sync::OnceCell;

use crate::belongings::{self, Belongings};
use crate::bootstrapped;
use crate::needs::{self, Needs};
use crate::permits::{self, Permit};
use crate::service_account::ServiceAccountAccess;
use crate::shared::SharedCluster;
use almanac_local::Kubectl;
use almanac_local::{Binaries, ControlPlane, ControlPlaneOptions, client_for, client_from};
use almanac_local::{NODE_OWNER, NodeSimulator, NodeSpec};
use almanac_local::{Observation, PATIENCE, await_condition};

/// The result of a test.
pub type TestResult = Result<()>;

/// The number of lines of each log that a failed test prints.
const LINES: usize = 15;
/// The maximum duration of a test, longer than the ten-minute test. A longer test counts as hanging.
const TIMEOUT: Duration = Duration::from_mins(15);
/// The variable with additional seconds, for a test that lasts that long.
static LASTING: AtomicU64 = AtomicU64::new(0);
const REPORT_WITHIN: Duration = Duration::from_secs(5);

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The environment of a test on the shared cluster: a namespace, and a client whose default it is.
pub struct SharedTest {
    cluster: &'static SharedCluster,
    client: Client,
    namespace: String,
    /// Whether admission restricts this namespace's pods to its own nodes, and keeps other pods away from those nodes.
    is_fenced: bool,
    simulators: Mutex<Vec<Arc<NodeSimulator>>>,
}

/// The environment of a test with its own control plane.
pub struct OwnTest {
    /// The control plane, whose components the test may kill.
    pub plane: ControlPlane,
    client: Client,
}

/// A control plane that several tests of a file share, with the programs that were started for all these tests. The
/// value is never dropped; the control plane ends with the process.
pub struct SharedPlane<T> {
    cell: OnceCell<(SharedCluster, T, Belongings)>,
    /// The permit, shared by the tests that use the control plane. Others may run while no test uses the control plane.
    permit: tokio::sync::Mutex<Weak<Permit>>,
}

impl<T> SharedPlane<T> {
    /// A control plane that the first test starts.
    #[must_use]
    pub const fn new() -> Self {
        Self { cell: OnceCell::const_new(), permit: tokio::sync::Mutex::const_new(Weak::new()) }
    }

    /// Waits until the control plane may run, unless another test already uses the control plane.
    async fn to_run(&self, is_whole: bool) -> Result<Arc<Permit>> {
        let mut current = self.permit.lock().await;
        if let Some(permit) = current.upgrade() {
            return Ok(permit);
        }
        let permit = Arc::new(permits::to_run(is_whole).await?);
        *current = Arc::downgrade(&permit);
        Ok(permit)
    }
}

impl<T> Default for SharedPlane<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Runs a test in a new namespace of the shared cluster.
///
/// The pods of the namespace go to the nodes that the test requests with [`SharedTest::nodes`], and no other pods do,
/// so tests can run in parallel.
pub fn on_shared_cluster(test: impl AsyncFnOnce(&SharedTest) -> TestResult) -> TestResult {
    let needs = needs::for_running_file(false, false)?;
    belongings::clear();
    run(async {
        let cluster = SharedCluster::get().await?;
        if needs.is_some_and(Needs::is_whole) && !cluster.has_controllers() {
            bail!("this test needs controllers and a scheduler, and the cluster has none");
        }
        let shared = SharedTest::prepare(cluster).await?;
        let outcome = contained(test(&shared)).await;
        if !matches!(outcome, Ok(Ok(()))) {
            eprintln!("{}", shared.report().await);
            eprintln!("{}", belongings::report(LINES));
        }
        belongings::clear();
        let cleared = tokio::time::timeout(PATIENCE, shared.clear_away()).await;
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        cleared.context("failed to clean up after the test: no response in time")?
    })
}

/// Runs a test with a control plane for itself.
pub fn on_own_control_plane(
    options: &ControlPlaneOptions,
    test: impl AsyncFnOnce(&OwnTest) -> TestResult,
) -> TestResult {
    needs::for_running_file(true, options.is_whole())?;
    belongings::clear();
    run(async {
        let _permit = permits::to_run(options.is_whole()).await?;
        let own = OwnTest::start(options).await?;
        let outcome = contained(test(&own)).await;
        if !matches!(outcome, Ok(Ok(()))) {
            own.plane.keep_logs();
            eprintln!("{}", own.plane.log_tails(LINES));
            eprintln!("{}", belongings::report(LINES));
        }
        belongings::clear();
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs a test whose program under test starts a whole control plane by itself.
pub fn on_this_machine(test: impl Future<Output = TestResult>) -> TestResult {
    needs::for_running_file(true, true)?;
    belongings::clear();
    run(async {
        // Otherwise, the program would build the components, and exceed the deadlines of the test.
        Binaries::provide_async().await?;
        let _permit = permits::to_run(true).await?;
        let outcome = contained(test).await;
        if !matches!(outcome, Ok(Ok(()))) {
            eprintln!("{}", belongings::report(LINES));
        }
        belongings::clear();
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs a test in a new namespace of a control plane that tests of its file share, as on the shared cluster. The first
/// test starts the control plane and prepares the shared programs. The prepared value must not depend on the runtime of
/// the first test.
pub fn on_shared_plane<T: Sync>(
    shared: &'static SharedPlane<T>,
    options: &ControlPlaneOptions,
    prepare: impl AsyncFnOnce(&OwnTest) -> Result<T>,
    test: impl AsyncFnOnce(&SharedTest, &'static T) -> TestResult,
) -> TestResult {
    needs::for_running_file(true, options.is_whole())?;
    belongings::clear();
    run(async {
        let start = async || {
            let own = OwnTest::start(options).await?;
            let made = prepare(&own).await?;
            Ok::<_, anyhow::Error>((SharedCluster::Started(own.plane), made, belongings::take()))
        };
        let _permit = shared.to_run(options.is_whole()).await?;
        let (cluster, made, directories) = shared.cell.get_or_try_init(start).await?;
        let shared = SharedTest::prepare(cluster).await?;
        let outcome = contained(test(&shared, made)).await;
        if !matches!(outcome, Ok(Ok(()))) {
            eprintln!("{}", shared.report().await);
            eprintln!("{}", directories.report(LINES));
            eprintln!("{}", belongings::report(LINES));
        }
        belongings::clear();
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Declares the intended duration of a test of this process. The limit for hanging tests grows by this duration.
pub fn lasting(time: Duration) {
    LASTING.fetch_max(time.as_secs(), Ordering::SeqCst);
}

/// Catches a panic, and ends a hanging test. A request to a stopped server may never get a response, and only a test
/// that ends prints its logs.
async fn contained(test: impl Future<Output = TestResult>) -> std::thread::Result<TestResult> {
    let limited = async {
        let at_most = TIMEOUT + Duration::from_secs(LASTING.load(Ordering::SeqCst));
        match tokio::time::timeout(at_most, test).await {
            Ok(outcome) => outcome,
            Err(_) => bail!("the test did not end within {at_most:?}"),
        }
    };
    AssertUnwindSafe(limited).catch_unwind().await
}

/// The test's future stays on the test's thread, where its output is captured.
fn run(test: impl Future<Output = TestResult>) -> TestResult {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("failed to start a runtime for the test")?
        .block_on(test)
}

impl SharedTest {
    /// An administrator's client. The default namespace is that of the test.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The namespace of this test.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The kubeconfig of the cluster.
    #[must_use]
    pub fn kubeconfig(&self) -> std::path::PathBuf {
        self.cluster.kubeconfig()
    }

    /// Creates nodes only for the pods of this namespace. The names of the nodes start with the name of the namespace.
    pub async fn nodes(&self, specs: &[NodeSpec]) -> Result<Arc<NodeSimulator>> {
        let client = &self.client;
        let simulator =
            NodeSimulator::for_namespace(client, specs, &self.namespace, self.is_fenced).await?;
        let simulator = Arc::new(simulator);
        self.simulators.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&simulator));
        Ok(simulator)
    }

    /// kubectl for this namespace.
    pub async fn kubectl(&self) -> Result<Kubectl> {
        Kubectl::provide(&self.kubeconfig(), Some(&self.namespace)).await
    }

    /// Access as a service account of this namespace, with only its permissions.
    pub async fn service_account(&self, name: &str) -> Result<ServiceAccountAccess> {
        ServiceAccountAccess::grant(&self.kubeconfig(), (&self.namespace, name), None).await
    }

    async fn prepare(cluster: &'static SharedCluster) -> Result<Self> {
        let kubeconfig = cluster.kubeconfig();
        let namespace = unused_name();
        let client = client_for(&kubeconfig)?;
        let toleration = json!([{"key": NODE_OWNER, "operator": "Equal", "value": namespace, "effect": "NoSchedule"}]);
        let object: Namespace = serde_json::from_value(json!({
            "metadata": {"name": namespace, "annotations": {
                "scheduler.alpha.kubernetes.io/node-selector": format!("{NODE_OWNER}={namespace}"),
                "scheduler.alpha.kubernetes.io/defaultTolerations": toleration.to_string(),
            }}
        }))?;
        Api::<Namespace>::all(client.clone())
            .create(&PostParams::default(), &object)
            .await
            .with_context(|| format!("failed to create namespace {namespace}"))?;
        let client = client_from(&kubeconfig, None, Some(&namespace))?;
        if cluster.has_controllers() {
            // Pods are rejected until the controller manager has created the account.
            let accounts: Api<ServiceAccount> = Api::default_namespaced(client.clone());
            await_condition("the namespace's service account", PATIENCE, async || {
                let found = accounts.get_opt("default").await?;
                Ok(Observation::from_bool(found.is_some(), "none"))
            })
            .await?;
        }
        let is_fenced = cluster.is_ours() || is_fenced(&client).await?;
        Ok(Self { cluster, client, namespace, is_fenced, simulators: Mutex::default() })
    }

    /// The Events of the namespace, and the last lines of the logs.
    async fn report(&self) -> String {
        let heading = format!("---- the last events in namespace {}", self.namespace);
        let events = match self.last_events().await {
            Ok(events) => events.join("\n"),
            Err(error) => format!("cannot be read: {error:#}"),
        };
        format!("{heading}\n{events}\n{}", self.cluster.report(LINES))
    }

    async fn last_events(&self) -> Result<Vec<String>> {
        let events: Api<Event> = Api::default_namespaced(self.client.clone());
        // A broken cluster must not keep a failed test from ending.
        let all = ListParams::default();
        let list = tokio::time::timeout(REPORT_WITHIN, events.list(&all));
        let events = list.await.context("no response in time")??.items;
        let late = events.len().saturating_sub(LINES);
        Ok(events[late..]
            .iter()
            .map(|event| {
                let about = &event.involved_object;
                format!(
                    "{} {}: {}",
                    about.kind.as_deref().unwrap_or_default(),
                    about.name.as_deref().unwrap_or_default(),
                    event.message.as_deref().unwrap_or_default()
                )
            })
            .collect())
    }

    /// A cluster of the harness ends with the run, so there sending the request is enough.
    async fn clear_away(&self) -> Result<()> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        namespaces.delete(&self.namespace, &DeleteParams::default()).await?;
        if !self.cluster.is_ours() {
            let what = format!("namespace {} to go", self.namespace);
            await_condition(&what, PATIENCE, async || {
                let left = namespaces.get_opt(&self.namespace).await?;
                let phase = left.as_ref().and_then(|left| left.status.as_ref()?.phase.clone());
                Ok(Observation::from_bool(left.is_none(), phase.unwrap_or_default()))
            })
            .await?;
        }
        let simulators =
            std::mem::take(&mut *self.simulators.lock().unwrap_or_else(PoisonError::into_inner));
        for simulator in simulators {
            simulator.remove_all().await?;
        }
        Ok(())
    }
}

impl OwnTest {
    async fn start(options: &ControlPlaneOptions) -> Result<Self> {
        let _permit = permits::to_start().await?;
        let plane = bootstrapped::start(options).await?;
        let client = plane.client()?;
        Ok(Self { plane, client })
    }

    /// A client with administrator permissions.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Creates nodes for any pod of this control plane.
    pub async fn nodes(&self, specs: &[NodeSpec]) -> Result<NodeSimulator> {
        NodeSimulator::start(&self.client, specs).await
    }

    /// Access as a service account, with its permissions and no others.
    pub async fn service_account(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<ServiceAccountAccess> {
        ServiceAccountAccess::grant(&self.plane.kubeconfig(), (namespace, name), None).await
    }

    /// Access as a service account, with the token of a pod on a node.
    pub async fn service_account_on_node(
        &self,
        (namespace, name): (&str, &str),
        node: &str,
    ) -> Result<ServiceAccountAccess> {
        ServiceAccountAccess::grant(&self.plane.kubeconfig(), (namespace, name), Some(node)).await
    }

    /// kubectl for this control plane.
    pub async fn kubectl(&self) -> Result<Kubectl> {
        Kubectl::provide(&self.plane.kubeconfig(), None).await
    }
}

/// A name that is unique for every process and test, also on a cluster that outlives the process.
fn unused_name() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("test-{:x}-{:x}-{number}", std::process::id(), since.as_millis() & 0xff_ffff)
}

/// Checks that an external cluster applies the annotations of the test's namespace.
async fn is_fenced(client: &Client) -> Result<bool> {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "probe"},
        "spec": {"containers": [{"name": "probe", "image": "probe"}]},
    }))?;
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let seen = Api::<Pod>::default_namespaced(client.clone()).create(&dry_run, &pod).await?;
    let spec = seen.spec.unwrap_or_default();
    Ok(spec.node_selector.is_some_and(|selector| selector.contains_key(NODE_OWNER))
        && spec
            .tolerations
            .iter()
            .flatten()
            .any(|toleration| toleration.key.as_deref() == Some(NODE_OWNER)))
}
