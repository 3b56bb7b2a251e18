//! Clients for the cluster of a kubeconfig, without the retries and time limits of `almanac-shell`. That crate creates
//! their configuration.

use std::path::Path;

use almanac_shell::client::configuration_of;
use anyhow::{Context as _, Result, bail};
use kube::Client;
use kube::config::Kubeconfig;

/// A client for the cluster of a kubeconfig. The client retries nothing by itself: a test must observe the
/// first response.
pub fn client_for(kubeconfig: &Path) -> Result<Client> {
    client_from(kubeconfig, None, None)
}

/// A client like that of [`client_for`], with another server or another default namespace than in the kubeconfig.
pub fn client_from(
    kubeconfig: &Path,
    server: Option<&str>,
    namespace: Option<&str>,
) -> Result<Client> {
    let mut read = Kubeconfig::read_from(kubeconfig)
        .with_context(|| format!("failed to read {}", kubeconfig.display()))?;
    if let Some(server) = server {
        for cluster in &mut read.clusters {
            if let Some(cluster) = &mut cluster.cluster {
                cluster.server = Some(server.to_owned());
            }
        }
    }
    if read.clusters.is_empty() {
        bail!("{} names no cluster", kubeconfig.display());
    }
    let mut config = configuration_of(&read, None)
        .with_context(|| format!("failed to use {}", kubeconfig.display()))?;
    config.default_retry = false;
    if let Some(namespace) = namespace {
        namespace.clone_into(&mut config.default_namespace);
    }
    Client::try_from(config).context("failed to create a client")
}
