//! The programs of a control plane: from `KUBEBUILDER_ASSETS`, or built from
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

/// A directory with programs. It contains etcd and kube-apiserver; the other programs are optional.
#[derive(Clone, Debug)]
pub struct Binaries {
    folder: PathBuf,
}

impl Binaries {
    /// The programs that the environment selects: a directory, or a version. A version is built unless it was built
    /// before. The first build takes minutes, so the call blocks; it prints the progress to standard error.
    pub fn provide() -> Result<Self> {
        match environment::assets_folder()? {
            Some(folder) => Self::in_folder(&folder),
            None => Self::built(KubernetesVersion::from_environment()?),
        }
    }

    /// Provides the selected programs without blocking the runtime.
    pub async fn provide_async() -> Result<Self> {
        tokio::task::spawn_blocking(Self::provide).await.context("failed to wait for the build")?
    }

    /// The programs of a version, built unless they were built before.
    pub async fn for_version(version: KubernetesVersion) -> Result<Self> {
        let built = tokio::task::spawn_blocking(move || Self::built(version));
        built.await.context("failed to wait for the build")?
    }

    fn built(version: KubernetesVersion) -> Result<Self> {
        Self::in_folder(&GoBuild::for_control_plane(version)?.provide()?.folder)
    }

    /// The programs in a directory, which must contain at least etcd and kube-apiserver.
    pub fn in_folder(folder: &Path) -> Result<Self> {
        let binaries = Self { folder: folder.to_owned() };
        for needed in [Component::Etcd, Component::ApiServer] {
            if binaries.find(needed.program()).is_none() {
                bail!("{needed} is missing in {}", folder.display());
            }
        }
        Ok(binaries)
    }

    /// The programs of the one binary in a directory, through a link for each name; `None` if the binary is absent.
    pub fn from_one_binary(folder: &Path) -> Result<Option<Self>> {
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
                result => result.with_context(|| format!("failed to create {}", link.display()))?,
            }
        }
        Self::in_folder(&linked).map(Some)
    }

    /// The Kubernetes version of the API server, such as `1.36.2`.
    pub fn kubernetes_version(&self) -> Result<String> {
        let program = self.program(Component::ApiServer.program())?;
        let mut question = question_to(&program);
        question.arg("--version");
        let answer = answer_of(question);
        let answer = answer.with_context(|| format!("failed to start {}", program.display()))?;
        let reason = String::from_utf8_lossy(&answer.stderr);
        ensure!(answer.status.success(), "{} cannot run: {}", program.display(), reason.trim());
        let stdout = String::from_utf8_lossy(&answer.stdout);
        let version = stdout.trim().strip_prefix("Kubernetes v").map(str::to_owned);
        version.with_context(|| {
            format!("{} printed no version: {:?}", program.display(), stdout.trim())
        })
    }

    /// The directory of the programs.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The programs that a whole cluster needs and that this directory lacks.
    #[must_use]
    pub fn lacking(&self) -> Vec<&'static str> {
        let components = Component::ALL.map(Component::program);
        let all = components.into_iter().chain([KUBECTL]);
        all.filter(|program| self.find(program).is_none()).collect()
    }

    /// The program of that name, or an error with the directory that lacks it.
    pub fn program(&self, name: &str) -> Result<PathBuf> {
        self.find(name).with_context(|| format!("{name} is missing in {}", self.folder.display()))
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder.join(name)).filter(|program| program.is_file())
    }
}
