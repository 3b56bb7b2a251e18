//! The stub of the API over plain HTTP, with a herd: an API server that responds immediately.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use almanac_stub::{Kind, Stub};
use anyhow::{Context as _, Result};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::objects;

/// A running server; dropping the value ends the server.
pub(crate) struct Server {
    pub(crate) stub: Stub,
    accepting: JoinHandle<()>,
    kubeconfig: NamedTempFile,
}

impl Server {
    /// Serves this many rules and targets.
    pub(crate) async fn start(rules: usize) -> Result<Self> {
        let stub = herd_of(rules);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let kubeconfig = NamedTempFile::new()?;
        write_kubeconfig(kubeconfig.path(), address)?;
        let accepting = tokio::spawn(accept(listener, stub.clone()));
        Ok(Self { stub, accepting, kubeconfig })
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        self.kubeconfig.path()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// A policy and a target for each number.
fn herd_of(rules: usize) -> Stub {
    let stub = Stub::new();
    let (policies, targets) =
        ("autoscaling.karmada.io/v1alpha1", "autoscaling.karpenter.sh/v1alpha1");
    stub.serve(Kind::new(policies, "CronFederatedHPA", "cronfederatedhpas"));
    stub.serve(Kind::new(targets, "ScalableNodeGroup", "scalablenodegroups").with_scale());
    stub.serve(Kind::new(targets, "MetricsProducer", "metricsproducers"));
    let created = Timestamp::now().strftime("%FT%TZ").to_string();
    for number in 0..rules {
        stub.put(json!({
            "apiVersion": policies, "kind": "CronFederatedHPA",
            "metadata": metadata(number, &created), "spec": objects::policy_spec(number),
        }));
        stub.put(json!({
            "apiVersion": targets, "kind": "ScalableNodeGroup",
            "metadata": metadata(number, &created), "spec": objects::target_spec(number),
        }));
    }
    stub
}

/// Metadata of a realistic size.
fn metadata(number: usize, created: &str) -> Value {
    let owned = json!({ "f:spec": {
        "f:replicas": {}, "f:rules": {}, "f:scaleTargetRef": {}, "f:type": {}, "f:id": {},
    }});
    json!({
        "name": objects::name(number),
        "namespace": objects::namespace(number),
        "creationTimestamp": created,
        "labels": { "app.kubernetes.io/name": objects::name(number) },
        "managedFields": [{
            "apiVersion": "v1alpha1", "fieldsType": "FieldsV1", "fieldsV1": owned,
            "manager": "kubectl", "operation": "Apply", "time": created,
        }],
    })
}

fn write_kubeconfig(file: &Path, address: SocketAddr) -> Result<()> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "stub", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "stub", "user": {}}],
        "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub"}}],
        "current-context": "stub",
    });
    std::fs::write(file, config.to_string())
        .with_context(|| format!("failed to write {}", file.display()))
}

async fn accept(listener: TcpListener, stub: Stub) {
    while let Ok((connection, _)) = listener.accept().await {
        // A small response is sent without delay.
        let _ = connection.set_nodelay(true);
        let stub = stub.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| stub.answer(request));
            // A client may disconnect; ignore the error.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(connection), service).await;
        });
    }
}
