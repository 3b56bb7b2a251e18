//! The leases of simulated nodes: made once, renewed as long as the node is up. Without them, the
//! controller manager takes a node for lost.

use std::time::Duration;

use anyhow::{Context as _, Result};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::simulator::Up;

/// As a kubelet does it: a lease of 40 seconds, renewed every 10.
const DURATION_SECONDS: u32 = 40;
const BETWEEN_RENEWALS: Duration = Duration::from_secs(10);
const AT_ONCE: usize = 16;
const NAMESPACE: &str = "kube-node-lease";

/// Who applies what a kubelet would write.
pub(super) const MANAGER: &str = "almanac-simulated-node";

pub(crate) fn leases(client: &Client) -> Api<Lease> {
    Api::namespaced(client.clone(), NAMESPACE)
}

/// Renews the lease of each of the nodes, or makes it.
pub(crate) async fn renew(client: &Client, nodes: Vec<String>) -> Result<()> {
    let leases = leases(client);
    futures::stream::iter(nodes)
        .map(|node| {
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
                leases
                    .patch(&node, &params, &Patch::Apply(lease))
                    .await
                    .with_context(|| format!("failed to renew the lease of node {node}"))
            }
        })
        .buffer_unordered(AT_ONCE)
        .try_for_each(|_| async { Ok(()) })
        .await
}

/// Renews the leases of all nodes that are up, again and again.
pub(crate) async fn keep_renewing(client: Client, up: Up) {
    loop {
        tokio::time::sleep(BETWEEN_RENEWALS).await;
        // The API server may be down on purpose. The next round comes in time for the lease.
        let _ = renew(&client, up.names()).await;
    }
}
