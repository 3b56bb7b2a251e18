//! Serves the pods that are bound to simulated nodes. `pods` computes their statuses, and the instants of their end.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use almanac_shell::following::{Deliveries, Delivery, Selection};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ApiResource, DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::pods::{Report, ends_at, report};
use super::simulator::RunningNodes;

/// The number of requests about pods in flight at once.
const PODS_AT_ONCE: usize = 32;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(500);

/// Serves the pods of all nodes, because pods are served the same way on every node.
#[derive(Clone)]
pub(super) struct Kubelet {
    client: Client,
    running_nodes: RunningNodes,
    /// The pods with a running task, each with its newest state since the task started.
    at_work: Arc<Mutex<BTreeMap<String, Option<Pod>>>>,
    /// The pods that are processed again when they end.
    ending: Arc<Mutex<BTreeSet<String>>>,
    limit: Arc<Semaphore>,
    next_address: Arc<AtomicU32>,
}

impl Kubelet {
    pub(super) fn new(client: &Client, running_nodes: &RunningNodes) -> Self {
        // Pods of former runs and of other simulators have addresses too, so the first address is random among four
        // million.
        let [.., high, middle, low] = RandomState::new().hash_one(()).to_be_bytes();
        Self {
            client: client.clone(),
            running_nodes: running_nodes.clone(),
            at_work: Arc::default(),
            ending: Arc::default(),
            limit: Arc::new(Semaphore::new(PODS_AT_ONCE)),
            next_address: Arc::new(u32::from_be_bytes([0, high, middle, low]).into()),
        }
    }

    /// Serves the pods of one namespace, or of all namespaces.
    pub(super) async fn serve(self, namespace: Option<String>) {
        // Only pods that are bound to a node.
        let fields = Some("spec.nodeName!=".to_owned());
        let selection = Selection { namespace, fields, ..Selection::default() };
        let resource = ApiResource::erase::<Pod>(&());
        let mut pods = Deliveries::begin(self.client.clone(), resource, selection);
        while let Some(delivery) = pods.receive().await {
            if let Delivery::Listed(pod) | Delivery::Changed(pod) = delivery
                && let Ok(pod) = pod.try_parse()
            {
                self.take_on(pod);
            }
        }
    }

    /// Processes a pod in a task of its own, one state at a time.
    pub(super) fn take_on(&self, pod: Pod) {
        let Some(uid) = pod.uid() else { return };
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(newest) = at_work.get_mut(&uid) {
            *newest = Some(pod);
            return;
        }
        at_work.insert(uid.clone(), None);
        drop(at_work);
        let kubelet = self.clone();
        tokio::spawn(async move {
            let mut next = Some(pod);
            while let Some(pod) = next {
                kubelet.work_on(&pod).await;
                next = kubelet.newer(&uid);
            }
        });
    }

    /// The newest state since the task started on the previous state; without one, the task of this pod ends.
    fn newer(&self, uid: &str) -> Option<Pod> {
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = at_work.get_mut(uid).and_then(Option::take);
        if newest.is_none() {
            at_work.remove(uid);
        }
        newest
    }

    /// A failed report is retried as long as the node is up, as a kubelet does.
    async fn work_on(&self, pod: &Pod) {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
        while self.running_nodes.has(node) {
            let Ok(permit) = self.limit.acquire().await else {
                return;
            };
            let sent = self.send_report(pod).await;
            drop(permit);
            match sent {
                Ok(()) => return self.await_end(pod),
                // The pod is deleted, another pod has its name, or a change of the pod follows as a new state.
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => return,
                Err(_) => tokio::time::sleep(BETWEEN_ATTEMPTS).await,
            }
        }
    }

    /// Processes a pod again when its processes have ended.
    fn await_end(&self, pod: &Pod) {
        let (Some(uid), Some(end)) = (pod.uid(), ends_at(pod)) else { return };
        let ending = || self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        if !ending().insert(uid.clone()) {
            return;
        }
        let (kubelet, name, pods) = (self.clone(), pod.name_any(), self.pods_in_namespace_of(pod));
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
        tokio::spawn(async move {
            let remaining = end.duration_since(Timestamp::now());
            tokio::time::sleep(remaining.try_into().unwrap_or_default()).await;
            kubelet.ending.lock().unwrap_or_else(PoisonError::into_inner).remove(&uid);
            while kubelet.running_nodes.has(&node) {
                match pods.get_opt(&name).await {
                    Ok(Some(pod)) if pod.uid().as_ref() == Some(&uid) => {
                        return kubelet.take_on(pod);
                    }
                    Ok(_) => return,
                    Err(_) => tokio::time::sleep(BETWEEN_ATTEMPTS).await,
                }
            }
        });
    }

    fn pods_in_namespace_of(&self, pod: &Pod) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &pod.namespace().unwrap_or_default())
    }

    async fn send_report(&self, pod: &Pod) -> kube::Result<()> {
        let pods = self.pods_in_namespace_of(pod);
        let name = pod.name_any();
        match report(pod, || self.address(), Timestamp::now()) {
            Report::Nothing => Ok(()),
            Report::Gone => pods.delete(&name, &at_once(pod)).await.map(drop),
            Report::Status(patch) => {
                let patch = Patch::Strategic(as_seen(patch, pod));
                pods.patch_status(&name, &PatchParams::default(), &patch).await.map(drop)
            }
        }
    }

    /// A new address for a pod, from a network that no machine uses.
    fn address(&self) -> String {
        let number = self.next_address.fetch_add(1, Ordering::Relaxed);
        let [_, high, middle, low] = number.to_be_bytes();
        format!("10.{}.{middle}.{low}", 64 + (high & 63))
    }
}

fn at_once(pod: &Pod) -> DeleteParams {
    let only_this = Preconditions { uid: pod.uid(), resource_version: None };
    DeleteParams::default().grace_period(0).preconditions(only_this)
}

/// Makes a patch fail for another pod of the same name, and for this pod after a change that the watch will deliver. A
/// second address would be added to the first, and the API server rejects that.
fn as_seen(mut patch: Value, pod: &Pod) -> Value {
    patch["metadata"] = json!({"uid": pod.uid(), "resourceVersion": pod.resource_version()});
    patch
}
