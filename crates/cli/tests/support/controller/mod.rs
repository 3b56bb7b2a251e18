//! `almanac controller` on a control plane: the CRDs are installed, objects are created and
//! changed, and the program is started at a chosen instant of its policy clock.
//!
//! The expectations are in the tests.

#![allow(dead_code, unused_imports, reason = "every test program uses a part of it")]

mod head_start;
mod objects;
mod process;

use std::ops::RangeBounds;
use std::path::{Path, PathBuf};

use almanac_fixtures::objects::scalable_definition;
use almanac_harness::{
    AuditLog, AuditedRequest, ControlPlaneOptions, Kubectl, Observation, OwnTest, PATIENCE,
    SharedPlane, SharedTest, TestResult, await_condition, client_for, on_own_control_plane,
    on_shared_plane,
};
use anyhow::{Context as _, Result};
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

pub(crate) use almanac_fixtures::objects::{
    cron_federated_hpa as cron, deployment, federated_hpa as federated,
    horizontal_pod_autoscaler as horizontal, stateful_set as stateful, target,
};
pub(crate) use head_start::head_start;
pub(crate) use objects::{
    AUTOSCALER, CRON, CRON_VERSION, DEFINITION, DEPLOYMENT, FEDERATED, HORIZONTAL, Kind, LEASE,
    NODE, NODE_GROUP, PRODUCER, STATEFUL, schedule_of_the_design,
};
pub(crate) use process::{ALMANAC, Controller, memory_in, memory_in_the_manifests, mixed_program};

/// The directory of the CRDs.
const DEFINITIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/crds");

/// A control plane with the CRDs installed, and administrator access.
pub(crate) struct Cluster {
    client: Client,
    kubectl: Kubectl,
    audit: AuditLog,
    kubeconfig: PathBuf,
    home: String,
    /// Arguments that limit a controller to that namespace; empty if no other test uses the control plane.
    limits: Vec<String>,
}

/// The control plane of all tests that change no cluster-scoped state.
static SHARED: SharedPlane<Cluster> = SharedPlane::new();
/// Limits the number of concurrent tests: with more on two processors, tests would miss their deadlines.
static TURNS: Semaphore = Semaphore::const_new(4);

/// Runs a test on a control plane with the CRDs, and without controllers.
pub(crate) fn on_cluster(test: impl AsyncFnOnce(&OwnTest, &Cluster) -> TestResult) -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only().audited(), async |own| {
        let cluster = Cluster::prepare(own).await?;
        test(own, &cluster).await
    })
}

/// Runs a test in a separate namespace on a control plane as in `on_cluster`, which other tests share. The controllers
/// of the test watch only that namespace, and the recorded writes are those in the namespace.
pub(crate) fn in_namespace(test: impl AsyncFnOnce(&Cluster) -> TestResult) -> TestResult {
    let options = ControlPlaneOptions::api_only().audited();
    let prepare = async |own: &OwnTest| Cluster::prepare(own).await;
    on_shared_plane(&SHARED, &options, prepare, async |shared, plane| {
        let _turn = TURNS.acquire().await?;
        let cluster = plane.in_namespace_of(shared).await?;
        test(&cluster).await
    })
}

impl Cluster {
    /// Installs the CRDs on an audited control plane.
    pub(crate) async fn prepare(test: &OwnTest) -> Result<Self> {
        Self::prepare_with(test, DEFINITIONS).await
    }

    /// Prepares a cluster with the CRDs in another directory and its subdirectories.
    pub(crate) async fn prepare_with(test: &OwnTest, definitions: &str) -> Result<Self> {
        let cluster = Self {
            client: test.client(),
            kubectl: test.kubectl().await?,
            audit: AuditLog::open(&test.plane)?,
            kubeconfig: test.plane.kubeconfig(),
            home: "default".to_owned(),
            limits: Vec::new(),
        };
        cluster.kubectl.run(&["apply", "--server-side", "-R", "-f", definitions]).await?;
        cluster.await_definitions().await?;
        Ok(cluster)
    }

    /// Waits until every existing CRD is established.
    pub(crate) async fn await_definitions(&self) -> TestResult {
        await_condition("the definitions to be established", PATIENCE, async || {
            let all = self.list(DEFINITION, "").await?;
            let is_established = |it: &&Value| condition(&it["status"], "Established")[0] == "True";
            let established = all.iter().filter(is_established).count();
            Ok(Observation::from_bool(established == all.len(), format!("{established} are")))
        })
        .await
    }

    /// Defines kinds that have a scale: the group, the version and the kind of each, and its scope.
    pub(crate) async fn define(&self, kinds: &[([&str; 3], &str)]) -> TestResult {
        for (kind, scope) in kinds {
            self.create(DEFINITION, "", &scalable_definition(*kind, scope)).await?;
        }
        self.await_definitions().await
    }

    /// The cluster for another test, with another runtime.
    pub(crate) fn for_another_test(&self) -> Result<Self> {
        Ok(Self {
            client: client_for(&self.kubeconfig)?,
            kubectl: self.kubectl.clone(),
            audit: self.audit.clone(),
            kubeconfig: self.kubeconfig.clone(),
            home: self.home.clone(),
            limits: self.limits.clone(),
        })
    }

    /// The cluster for a test in a separate namespace.
    async fn in_namespace_of(&self, test: &SharedTest) -> Result<Self> {
        let home = test.namespace().to_owned();
        let limits = vec![format!("--namespaces={home}"), format!("--lease-namespace={home}")];
        Ok(Self {
            client: test.client(),
            kubectl: test.kubectl().await?,
            audit: self.audit.from_here()?,
            kubeconfig: self.kubeconfig.clone(),
            home,
            limits,
        })
    }

    /// The namespace in which the test creates its objects.
    pub(crate) fn home(&self) -> &str {
        &self.home
    }

    /// Arguments of a controller, with those that limit it to the objects of the test.
    pub(crate) fn limited<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        arguments.iter().copied().chain(self.limits.iter().map(String::as_str)).collect()
    }

    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// The kubeconfig of the administrator.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Creates a namespace.
    pub(crate) async fn namespace(&self, name: &str) -> TestResult {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.request("POST", "/api/v1/namespaces", "application/json", &object).await?;
        Ok(())
    }

    /// Runs kubectl.
    pub(crate) async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        self.kubectl.run(arguments).await
    }

    /// Applies the documents in a string, as a user would.
    pub(crate) async fn create_text(&self, namespace: &str, text: &str) -> TestResult {
        let arguments = ["--namespace", namespace, "create", "-f", "-"];
        self.kubectl.run_with_input(&arguments, text).await?;
        Ok(())
    }

    /// Creates an object.
    pub(crate) async fn create(&self, kind: Kind, namespace: &str, object: &Value) -> TestResult {
        self.request("POST", &kind.collection(namespace), "application/json", object).await?;
        Ok(())
    }

    /// Changes an object with a merge patch.
    pub(crate) async fn patch(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Value> {
        self.request("PATCH", &kind.path(namespace, name), MERGE, patch).await
    }

    /// Changes an object's status with a merge patch.
    pub(crate) async fn patch_status(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        status: &Value,
    ) -> TestResult {
        let path = format!("{}/status", kind.path(namespace, name));
        self.request("PATCH", &path, MERGE, &json!({ "status": status })).await?;
        Ok(())
    }

    /// Deletes an object.
    pub(crate) async fn delete(&self, kind: Kind, namespace: &str, name: &str) -> TestResult {
        self.request("DELETE", &kind.path(namespace, name), "", &Value::Null).await?;
        Ok(())
    }

    /// The current object; null if absent.
    pub(crate) async fn get(&self, kind: Kind, namespace: &str, name: &str) -> Result<Value> {
        match self.request("GET", &kind.path(namespace, name), "", &Value::Null).await {
            Err(error) if is_not_found(&error) => Ok(Value::Null),
            response => response,
        }
    }

    /// All objects of a namespace.
    pub(crate) async fn list(&self, kind: Kind, namespace: &str) -> Result<Vec<Value>> {
        let path = kind.collection(namespace);
        let mut list = self.request("GET", &path, "", &Value::Null).await?;
        serde_json::from_value(list["items"].take()).context("no list of objects")
    }

    /// Waits until the object satisfies a condition, and returns it.
    pub(crate) async fn await_object(
        &self,
        kind: Kind,
        (namespace, name): (&str, &str),
        what: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let what = format!("{} {namespace}/{name}: {what}", kind.plural);
        await_condition(&what, PATIENCE, async || {
            let object = self.get(kind, namespace, name).await?;
            Ok(if is_so(&object) {
                Observation::Holds(object)
            } else {
                Observation::NotYet(format!("spec {}, status {}", object["spec"], object["status"]))
            })
        })
        .await
    }

    /// Waits until the status of a `CronFederatedHPA` satisfies a condition, and returns it.
    pub(crate) async fn await_status(
        &self,
        namespace: &str,
        name: &str,
        what: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let is_so = |object: &Value| is_so(&object["status"]);
        let mut object = self.await_object(CRON, (namespace, name), what, is_so).await?;
        Ok(object["status"].take())
    }

    /// The Events about an object, in the order of their times: `Normal ScaledByRule: its note`.
    pub(crate) async fn events(&self, namespace: &str, about: &str) -> Result<Vec<String>> {
        let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        let list = self.request("GET", &path, "", &Value::Null).await?;
        let mut events: Vec<&Value> = list["items"]
            .as_array()
            .context("no list of events")?
            .iter()
            .filter(|event| event["regarding"]["name"] == about)
            .collect();
        events.sort_by_key(|event| event["eventTime"].as_str());
        let word = |event: &Value, field: &str| event[field].as_str().unwrap_or("").to_owned();
        let described = |event: &&Value| {
            let [kind, reason, note] = ["type", "reason", "note"].map(|field| word(event, field));
            format!("{kind} {reason}: {note}")
        };
        Ok(events.iter().map(described).collect())
    }

    /// Waits for an Event about an object that contains this string.
    pub(crate) async fn await_event(
        &self,
        namespace: &str,
        about: &str,
        event: &str,
    ) -> TestResult {
        await_condition(&format!("the event {event:?}"), PATIENCE, async || {
            let events = self.events(namespace, about).await?;
            Ok(Observation::from_bool(
                events.iter().any(|described| described == event),
                format!("{events:?}"),
            ))
        })
        .await
    }

    /// Waits until this number of Events about an object start with this string, and returns the first of them.
    pub(crate) async fn await_events(
        &self,
        (namespace, about): (&str, &str),
        beginning: &str,
        count: impl RangeBounds<usize>,
    ) -> Result<String> {
        await_condition(&format!("the event {beginning:?}"), PATIENCE, async || {
            let events = self.events(namespace, about).await?;
            let described: Vec<_> = events.iter().filter(|it| it.starts_with(beginning)).collect();
            Ok(match described.first() {
                Some(first) if count.contains(&described.len()) => {
                    Observation::Holds((*first).clone())
                }
                _ => Observation::NotYet(format!("{events:?}")),
            })
        })
        .await
    }

    /// The requests of Almanac so far for targets, without statuses, Events and Leases.
    pub(crate) async fn target_writes(&self) -> Result<Vec<AuditedRequest>> {
        let writes = self.writes().await?;
        let is_target = |write: &AuditedRequest| {
            write.subresource != "status" && write.resource != "events" && !write.is_for_lease()
        };
        Ok(writes.into_iter().filter(is_target).collect())
    }

    /// The requests of Almanac so far for objects of one kind.
    pub(crate) async fn writes_of(&self, plural: &str) -> Result<Vec<AuditedRequest>> {
        let writes = self.writes().await?;
        Ok(writes.into_iter().filter(|write| write.resource == plural).collect())
    }

    /// All requests that Almanac has sent so far.
    pub(crate) async fn writes(&self) -> Result<Vec<AuditedRequest>> {
        let writes = self.audit.writes(&self.client).await?;
        let is_here = |it: &AuditedRequest| self.limits.is_empty() || it.namespace == self.home;
        Ok(writes.into_iter().filter(|it| is_almanacs(it) && is_here(it)).collect())
    }

    /// Starts the program as the administrator; its policy clock shows the instant now.
    pub(crate) async fn start_at(&self, instant: &str, further: &[&str]) -> Result<Controller> {
        let controller = Controller::start(&self.kubeconfig, instant, &self.limited(further))?;
        controller.program.await_ready().await?;
        Ok(controller)
    }

    async fn request(&self, verb: &str, path: &str, form: &str, body: &Value) -> Result<Value> {
        let text = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let mut request = http::Request::builder().method(verb).uri(path);
        if !form.is_empty() {
            request = request.header(http::header::CONTENT_TYPE, form);
        }
        let response = self.client.request(request.body(text)?).await;
        response.with_context(|| format!("failed to {verb} {path}"))
    }
}

const MERGE: &str = "application/merge-patch+json";

fn is_not_found(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<kube::Error>();
    matches!(error, Some(kube::Error::Api(status)) if status.code == 404)
}

/// The condition of a status: its status, its reason and its message.
pub(crate) fn condition<'a>(status: &'a Value, about: &str) -> [&'a str; 3] {
    let mut all = status["conditions"].as_array().into_iter().flatten();
    let condition = all.find(|condition| condition["type"] == about);
    let field = |name: &str| condition.and_then(|it| it[name].as_str()).unwrap_or_default();
    ["status", "reason", "message"].map(field)
}

/// The user agent of the tests, which are clients too.
pub(crate) fn is_almanacs(write: &AuditedRequest) -> bool {
    write.user_agent.starts_with("almanac/")
}
