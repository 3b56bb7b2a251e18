//! The shared cluster of the tests of a run, from any source. Namespaces and tests are handled in `test_run`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tokio::sync::OnceCell;

use crate::bootstrapped;
use crate::environment;
use crate::permits;
use almanac_local::Binaries;
use almanac_local::Component;
use almanac_local::{ControlPlane, ControlPlaneOptions};
use almanac_local::{log_tail, run_folder};

/// A cluster for tests that use only their own namespace.
#[derive(Debug)]
pub(crate) enum SharedCluster {
    /// The cluster in `KUBECONFIG_TEST`. Its configuration is unknown.
    Foreign(PathBuf),
    /// A control plane that the test command started for all test processes of this run.
    HandedOver(PathBuf),
    /// A control plane that this test process started. It ends with the process.
    Started(ControlPlane),
}

/// The cluster that all tests of a process share. The value is never dropped; the cluster ends with the process.
static SHARED: OnceCell<SharedCluster> = OnceCell::const_new();

impl SharedCluster {
    /// The shared cluster. The first caller starts the cluster.
    pub(crate) async fn get() -> Result<&'static Self> {
        SHARED.get_or_try_init(Self::find).await
    }

    async fn find() -> Result<Self> {
        if let Some(kubeconfig) = environment::foreign_kubeconfig()? {
            return Ok(Self::Foreign(kubeconfig));
        }
        if let Some(folder) = environment::handed_over_run()? {
            return Ok(Self::HandedOver(folder));
        }
        let options = if Binaries::provide_async().await?.lacking().is_empty() {
            ControlPlaneOptions::whole()
        } else {
            ControlPlaneOptions::api_only()
        };
        let _permit = permits::to_start().await?;
        Ok(Self::Started(bootstrapped::start(&options).await?))
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        match self {
            Self::Foreign(kubeconfig) => kubeconfig.clone(),
            Self::HandedOver(folder) => folder.join("kubeconfig"),
            Self::Started(plane) => plane.kubeconfig(),
        }
    }

    /// Whether the harness started the cluster: such a cluster ends with the run, and its flags are known.
    pub(crate) fn is_ours(&self) -> bool {
        !matches!(self, Self::Foreign(_))
    }

    /// Whether a controller manager creates service accounts and replicas there.
    pub(crate) fn has_controllers(&self) -> bool {
        let manager = Component::ControllerManager;
        match self {
            Self::Foreign(_) => true,
            Self::HandedOver(folder) => folder.join(format!("{manager}.log")).exists(),
            Self::Started(plane) => plane.process_id(manager).is_some(),
        }
    }

    /// Keeps the logs and returns their last lines; `None` for a cluster that the harness did not start.
    pub(crate) fn report(&self, lines: usize) -> String {
        let Some(folder) = self.folder() else {
            return String::from("the logs of this cluster are not ours to read\n");
        };
        run_folder::keep(folder);
        log_tail::tails_of(folder, lines)
    }

    fn folder(&self) -> Option<&Path> {
        match self {
            Self::Foreign(_) => None,
            Self::HandedOver(folder) => Some(folder),
            Self::Started(plane) => Some(plane.folder()),
        }
    }
}
