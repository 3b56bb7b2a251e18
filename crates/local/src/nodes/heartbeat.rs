//! The leases of simulated nodes: created once, renewed as long as the node is up. Without leases, the
//! controller manager treats a node as lost.

use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::simulator::{RunningNodes, at_once};

/// The lease duration of a kubelet: 40 seconds, renewed every 10.
const DURATION_SECONDS: u32 = 40;
const BETWEEN_RENEWALS: Duration = Duration::from_secs(10);
const NAMESPACE: &str = "kube-node-lease";

/// The field manager of the fields that a kubelet would write.
pub(super) const MANAGER: &str = "almanac-simulated-node";

pub(crate) fn leases(client: &Client) -> Api<Lease> {
    Api::namespaced(client.clone(), NAMESPACE)
}

/// Renews or creates the lease of each node.
pub(crate) async fn renew(client: &Client, nodes: Vec<String>) -> Result<()> {
    let leases = leases(client);
    let renew = |node: String| {
        let leases = leases.clone();
        async move {
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": node},
                "spec": {
                    "holderIdentity": node,
                    "leaseDurationSeconds": DURATION_SECONDS,
                    "renewTime": format!("{:.6}", Timestamp::now()),
                },
            });
            let params = PatchParams::apply(MANAGER).force();
            let renewed = leases.patch(&node, &params, &Patch::Apply(lease)).await.map(drop);
            renewed.with_context(|| format!("failed to renew the lease of node {node}"))
        }
    };
    at_once(nodes.into_iter().map(renew)).await
}

/// Renews the leases of all nodes that are up, periodically.
pub(crate) async fn keep_renewing(client: Client, running_nodes: RunningNodes) {
    loop {
        tokio::time::sleep(BETWEEN_RENEWALS).await;
        // The API server may be down on purpose. The next round is before the end of the lease.
        let _ = renew(&client, running_nodes.names()).await;
    }
}
