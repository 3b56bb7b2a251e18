//! Access to a cluster as one of its service accounts, with a token from the real API. The test grants permissions to
//! the account with roles.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::Client;
use kube::api::{Api, PostParams};
use kube::config::Kubeconfig;
use serde_json::json;

use almanac_local::RunFolder;
use almanac_local::client_for;
use almanac_local::write_private;

/// The lifetime of a token, longer than any test.
const VALID_FOR_SECONDS: i64 = 3600;

/// A kubeconfig with a service account's token as its only credentials. Dropping the value deletes the file.
#[derive(Debug)]
pub struct ServiceAccountAccess {
    folder: RunFolder,
}

impl ServiceAccountAccess {
    /// Requests a token with an administrator's kubeconfig, and reuses its server and CA. The account must exist. With
    /// a node, the token is bound to a new pod on the node, like a token that a kubelet requests.
    pub async fn grant(
        administrator: &Path,
        (namespace, name): (&str, &str),
        node: Option<&str>,
    ) -> Result<Self> {
        let client = client_for(administrator)?;
        let pod = match node {
            Some(node) => Some(create_pod(&client, (namespace, name), node).await?),
            None => None,
        };
        let accounts: Api<ServiceAccount> = Api::namespaced(client, namespace);
        let request = TokenRequest {
            spec: TokenRequestSpec {
                expiration_seconds: Some(VALID_FOR_SECONDS),
                bound_object_ref: pod.map(|pod| BoundObjectReference {
                    api_version: Some("v1".to_owned()),
                    kind: Some("Pod".to_owned()),
                    name: pod.metadata.name,
                    uid: pod.metadata.uid,
                }),
                ..TokenRequestSpec::default()
            },
            ..TokenRequest::default()
        };
        let response = accounts.create_token_request(name, &PostParams::default(), &request).await;
        let account = || format!("service account {namespace}/{name}");
        let response =
            response.with_context(|| format!("failed to get a token for {}", account()))?;
        let token = response.status.with_context(|| format!("no token for {}", account()))?.token;
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster_of(administrator)?}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {
                "cluster": "test", "user": name, "namespace": namespace,
            }}],
            "current-context": "test",
        });
        let access = Self { folder: RunFolder::create()? };
        write_private(&access.kubeconfig(), &config.to_string())?;
        Ok(access)
    }

    /// The kubeconfig. The default namespace is that of the account.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("service-account.kubeconfig")
    }

    /// A client with the account's identity.
    pub fn client(&self) -> Result<Client> {
        client_for(&self.kubeconfig())
    }
}

/// A pod of the account on the node, instead of a pod from the manifests.
async fn create_pod(client: &Client, (namespace, name): (&str, &str), node: &str) -> Result<Pod> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    // Required by the Pod Security Standard `restricted`.
    let pod = serde_json::from_value(json!({
        "metadata": {"generateName": format!("{name}-")},
        "spec": {
            "serviceAccountName": name,
            "nodeName": node,
            "automountServiceAccountToken": false,
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [{
                "name": "stand-in", "image": "stand-in",
                "securityContext": {
                    "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
                },
            }],
        },
    }))?;
    let created = pods.create(&PostParams::default(), &pod).await;
    created.with_context(|| format!("failed to create a pod of {namespace}/{name} on {node}"))
}

/// The server and the CA of the cluster of the current context, with absolute paths.
fn cluster_of(kubeconfig: &Path) -> Result<serde_json::Value> {
    let read = Kubeconfig::read_from(kubeconfig)
        .with_context(|| format!("failed to read {}", kubeconfig.display()))?;
    let current = read.current_context.as_deref();
    let context = read.contexts.iter().find(|context| Some(context.name.as_str()) == current);
    let name = context.and_then(|context| Some(context.context.as_ref()?.cluster.as_str()));
    let cluster = read.clusters.iter().find(|cluster| Some(cluster.name.as_str()) == name);
    let cluster = cluster.and_then(|cluster| cluster.cluster.as_ref());
    let cluster = cluster
        .with_context(|| format!("{} has no cluster in its context", kubeconfig.display()))?;
    Ok(serde_json::to_value(cluster)?)
}
