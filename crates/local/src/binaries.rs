//! Which programs a control plane is made of: those of `KUBEBUILDER_ASSETS`, or those built from
//! the Go modules.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use sha2::{Digest as _, Sha256};

use crate::component::Component;
use crate::environment;
use crate::go_build::{GoBuild, ONE_BINARY, PROGRAMS, hexadecimal};
use crate::kubernetes_version::KubernetesVersion;
use crate::question::{answer_of, question_to};

pub(crate) const KUBECTL: &str = "kubectl";

/// A directory with programs. etcd and kube-apiserver are in it; the others may be.
#[derive(Clone, Debug)]
pub struct Binaries {
    folder: PathBuf,
}

impl Binaries {
    /// Those that the environment selects: a directory, or a version, which is built unless it was built before. The
    /// first build takes minutes, so this blocks; it shows progress on standard error.
    pub fn provide() -> Result<Self> {
        match environment::assets_folder()? {
            Some(folder) => Self::in_folder(&folder),
            None => Self::built(KubernetesVersion::from_environment()?),
        }
    }

    /// The same without blocking the runtime.
    pub async fn provide_async() -> Result<Self> {
        tokio::task::spawn_blocking(Self::provide).await.context("failed to wait for the build")?
    }

    /// Those of a version, which is built unless it was built before.
    pub async fn of_version(version: KubernetesVersion) -> Result<Self> {
        let built = tokio::task::spawn_blocking(move || Self::built(version));
        built.await.context("failed to wait for the build")?
    }

    fn built(version: KubernetesVersion) -> Result<Self> {
        Self::in_folder(&GoBuild::of_control_plane(version)?.provide()?.folder)
    }

    /// Those of a directory, which has etcd and kube-apiserver at least.
    pub fn in_folder(folder: &Path) -> Result<Self> {
        let binaries = Self { folder: folder.to_owned() };
        for needed in [Component::Etcd, Component::ApiServer] {
            if binaries.find(needed.program()).is_none() {
                bail!("there is no {needed} in {}", folder.display());
            }
        }
        Ok(binaries)
    }

    /// Those of the one binary in a directory, if it is there: linked to by all the names it goes by.
    pub fn beside(folder: &Path) -> Result<Option<Self>> {
        let binary = folder.join(ONE_BINARY);
        if !binary.is_file() {
            return Ok(None);
        }
        let digest = Sha256::new().chain_update(binary.as_os_str().as_encoded_bytes());
        let linked = environment::control_planes()?.join(format!("beside-{}", hexadecimal(digest)));
        fs::create_dir_all(&linked)
            .with_context(|| format!("failed to create {}", linked.display()))?;
        for program in PROGRAMS {
            let link = linked.join(program);
            match std::os::unix::fs::symlink(&binary, &link) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => made.with_context(|| format!("failed to make {}", link.display()))?,
            }
        }
        Self::in_folder(&linked).map(Some)
    }

    /// The version of Kubernetes that the API server is of, such as `1.36.2`.
    pub fn kubernetes_version(&self) -> Result<String> {
        let program = self.program(Component::ApiServer.program())?;
        let mut question = question_to(&program);
        question.arg("--version");
        let answer = answer_of(question);
        let answer = answer.with_context(|| format!("failed to start {}", program.display()))?;
        let reason = String::from_utf8_lossy(&answer.stderr);
        ensure!(answer.status.success(), "{} cannot run: {}", program.display(), reason.trim());
        let said = String::from_utf8_lossy(&answer.stdout);
        let version = said.trim().strip_prefix("Kubernetes v").map(str::to_owned);
        version.with_context(|| format!("{} has no version: {:?}", program.display(), said.trim()))
    }

    /// The directory they are in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The programs that a whole cluster needs and that are missing here.
    #[must_use]
    pub fn lacking(&self) -> Vec<&'static str> {
        let components = Component::ALL.map(Component::program);
        let all = components.into_iter().chain([KUBECTL]);
        all.filter(|program| self.find(program).is_none()).collect()
    }

    /// The program of that name, or an error with the directory that lacks it.
    pub fn program(&self, name: &str) -> Result<PathBuf> {
        self.find(name).with_context(|| format!("there is no {name} in {}", self.folder.display()))
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder.join(name)).filter(|program| program.is_file())
    }
}
