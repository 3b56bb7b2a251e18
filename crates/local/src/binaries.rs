//! Which programs a control plane is made of: those of `KUBEBUILDER_ASSETS`, or those built from
//! the Go modules.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::component::Component;
use crate::environment::{self, KUBEBUILDER_ASSETS};
use crate::go_build::GoBuild;

pub(crate) const KUBECTL: &str = "kubectl";

/// A directory with programs. etcd and kube-apiserver are in it; the others may be.
#[derive(Clone, Debug)]
pub struct Binaries {
    folder: PathBuf,
}

impl Binaries {
    /// Finds them, and builds them where they must be. The first build takes minutes, so this
    /// blocks; it shows progress on standard error.
    pub fn provide() -> Result<Self> {
        match environment::assets_folder()? {
            Some(folder) => Self::in_folder(&folder),
            None => Self::in_folder(&GoBuild::of_control_plane()?.provide()?.folder),
        }
    }

    /// The same without blocking the runtime.
    pub async fn provide_async() -> Result<Self> {
        tokio::task::spawn_blocking(Self::provide).await.context("failed to wait for the build")?
    }

    /// Those of a directory, which has etcd and kube-apiserver at least.
    pub fn in_folder(folder: &Path) -> Result<Self> {
        let binaries = Self { folder: folder.to_owned() };
        for needed in [Component::Etcd, Component::ApiServer] {
            if binaries.find(needed.program()).is_none() {
                bail!(
                    "{KUBEBUILDER_ASSETS} names {}, where there is no {needed}",
                    folder.display()
                );
            }
        }
        Ok(binaries)
    }

    /// The directory they are in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What a whole cluster takes and is not there.
    #[must_use]
    pub fn lacking(&self) -> Vec<&'static str> {
        let components = Component::ALL.map(Component::program);
        let all = components.into_iter().chain([KUBECTL]);
        all.filter(|program| self.find(program).is_none()).collect()
    }

    /// The program of that name, or an error that says where it was looked for.
    pub fn program(&self, name: &str) -> Result<PathBuf> {
        self.find(name).with_context(|| format!("there is no {name} in {}", self.folder.display()))
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder.join(name)).filter(|program| program.is_file())
    }
}
