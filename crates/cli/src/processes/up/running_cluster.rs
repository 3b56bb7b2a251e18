//! The cluster of `almanac up`: a control plane of its own with simulated nodes, or an existing cluster.

use std::path::{Path, PathBuf};

use almanac_local::{
    Binaries, ControlPlane, ControlPlaneDir, ControlPlaneOptions, DataFolder, KubernetesVersion,
    NodeSimulator, NodeSpec, ProgramPort, RunFolder, client_for, environment, write_private,
};
use anyhow::{Context as _, bail, ensure};
use kube::Client;
use kube::config::{Kubeconfig, NamedContext};

use super::arguments::UpArguments;
use super::terminal::Terminal;

/// The field manager of the objects that `almanac up` applies.
pub(super) const FIELD_MANAGER: &str = almanac_shell::writer::FIELD_MANAGER;
/// The namespace of Almanac's own objects.
pub(super) const NAMESPACE: &str = "almanac-system";

/// The file name of the kubeconfig for the user, for an existing cluster.
const KUBECONFIG: &str = "kubeconfig";
/// The file name of the kubeconfig of Almanac's own processes.
const OWN_KUBECONFIG: &str = "almanac.kubeconfig";

/// A cluster. Drop ends all processes that were started for the cluster.
pub(super) struct RunningCluster {
    cluster: Cluster,
    client: Client,
    kubeconfig: PathBuf,
    /// The path of kubectl; `None` if kubectl is missing.
    kubectl: Option<PathBuf>,
}

enum Cluster {
    /// A control plane of our own. The nodes are dropped first, while the control plane still runs.
    Own {
        _nodes: Box<NodeSimulator>,
        extender: ProgramPort,
        plane: Box<ControlPlane>,
        is_kept: bool,
    },
    Existing {
        run: RunFolder,
    },
}

impl RunningCluster {
    /// Starts a control plane with nodes, or connects to the cluster of a context.
    pub(super) async fn start(
        arguments: &UpArguments,
        nodes: &[NodeSpec],
        terminal: &Terminal<'_>,
    ) -> anyhow::Result<Self> {
        match &arguments.cluster {
            Some(context) => Self::existing(arguments, context).await,
            None => Self::own(arguments, nodes, terminal).await,
        }
    }

    async fn own(
        arguments: &UpArguments,
        nodes: &[NodeSpec],
        terminal: &Terminal<'_>,
    ) -> anyhow::Result<Self> {
        let binaries = binaries(arguments).await?;
        let version = binaries.kubernetes_version()?;
        terminal.print_step(&format!("Starting Kubernetes {version} …"))?;
        let dir = if arguments.ephemeral {
            ControlPlaneDir::Run(RunFolder::create()?)
        } else {
            ControlPlaneDir::Data(DataFolder::take(&arguments.data_directory()?, minor(&version))?)
        };
        let extender = ProgramPort::take()?;
        let options = ControlPlaneOptions::whole().extender(extender.number());
        let plane = Box::new(ControlPlane::start_in(dir, &binaries, &options).await?);
        let client = plane.client()?;
        let kubeconfig = plane.kubeconfig();
        let config = Kubeconfig::read_from(&kubeconfig)
            .with_context(|| format!("failed to read {}", kubeconfig.display()))?;
        write_own_kubeconfig(plane.folder(), config)?;
        let nodes = Box::new(NodeSimulator::described(&client, nodes).await?);
        let is_kept = !arguments.ephemeral;
        let kubectl = binaries.program("kubectl").ok();
        let cluster = Cluster::Own { _nodes: nodes, extender, plane, is_kept };
        Ok(Self { cluster, client, kubeconfig, kubectl })
    }

    /// Connects to the cluster of a context. Almanac reads the kubeconfig of the user, and never writes the file.
    async fn existing(arguments: &UpArguments, context: &str) -> anyhow::Result<Self> {
        let kubectl = environment::program_on_path("kubectl");
        ensure!(
            kubectl.is_some() || arguments.file.is_empty(),
            "-f: failed to find kubectl, which applies the files; put it on the PATH"
        );
        let config = Kubeconfig::read().context("failed to read the kubeconfig")?;
        let names: Vec<_> = config.contexts.iter().map(|it| it.name.as_str()).collect();
        ensure!(
            names.contains(&context),
            "--cluster: the kubeconfig has no context {context:?}; it has {}",
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        );
        let run = RunFolder::create()?;
        let config = only(config, context);
        let kubeconfig = run.path().join(KUBECONFIG);
        // JSON is YAML, too.
        write_private(&kubeconfig, &serde_json::to_string(&config)?)?;
        write_own_kubeconfig(run.path(), config)?;
        let client = client_for(&kubeconfig)?;
        let reached = client.apiserver_version().await;
        reached.with_context(|| format!("failed to reach the cluster of context {context:?}"))?;
        Ok(Self { cluster: Cluster::Existing { run }, client, kubeconfig, kubectl })
    }

    /// A client with the rights of the user who started this process.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The directory of data and logs.
    pub(super) fn folder(&self) -> &Path {
        match &self.cluster {
            Cluster::Own { plane, .. } => plane.folder(),
            Cluster::Existing { run } => run.path(),
        }
    }

    /// The directory in which the objects of the cluster stay after the end; `None` if Almanac keeps no data.
    pub(super) fn kept_in(&self) -> Option<&Path> {
        match &self.cluster {
            Cluster::Own { plane, is_kept: true, .. } => Some(plane.folder()),
            _ => None,
        }
    }

    /// The kubeconfig for the user.
    pub(super) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The kubeconfig of Almanac's own processes.
    pub(super) fn own_kubeconfig(&self) -> PathBuf {
        self.folder().join(OWN_KUBECONFIG)
    }

    /// The path of kubectl for this cluster.
    pub(super) fn kubectl(&self) -> anyhow::Result<&Path> {
        self.kubectl.as_deref().context("failed to find kubectl; put it on the PATH")
    }

    /// The port for the requests of the scheduler; `None` for an existing cluster.
    pub(super) fn extender_port(&self) -> Option<u16> {
        match &self.cluster {
            Cluster::Own { extender, .. } => Some(extender.number()),
            Cluster::Existing { .. } => None,
        }
    }

    /// Fails once a part of the control plane has ended.
    pub(super) fn check_alive(&self) -> anyhow::Result<()> {
        let Cluster::Own { plane, .. } = &self.cluster else { return Ok(()) };
        match plane.ended().into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }
}

/// The binaries in the given directory, else those next to this program, else newly built binaries.
async fn binaries(arguments: &UpArguments) -> anyhow::Result<Binaries> {
    let assets = match (&arguments.assets, arguments.kubernetes_version) {
        (Some(dir), _) => Some(dir.canonicalize().with_context(|| {
            format!("--assets: failed to find the directory {}", dir.display())
        })?),
        (None, Some(_)) => None,
        (None, None) => environment::assets_folder()?,
    };
    let provided = match &assets {
        Some(dir) => Binaries::in_folder(dir)?,
        None => carried_binaries(arguments).await?,
    };
    let missing = provided.lacking();
    if !missing.is_empty() {
        bail!(
            "{} has no {}; name a directory with all programs, or name none to build them with Go",
            provided.folder().display(),
            missing.join(", ")
        );
    }
    Ok(provided)
}

/// The binaries next to this program if their version matches, else newly built binaries.
async fn carried_binaries(arguments: &UpArguments) -> anyhow::Result<Binaries> {
    let version = selected_version(arguments)?;
    if let Some(version) = version
        && !arguments.ephemeral
    {
        // A build takes minutes.
        DataFolder::check(&arguments.data_directory()?, version.minor())?;
    }
    let own = std::env::current_exe().ok();
    let own_binaries = match own.as_deref().and_then(Path::parent) {
        Some(dir) => Binaries::from_one_binary(dir)?,
        None => None,
    };
    match (own_binaries, version) {
        (Some(binaries), None) => Ok(binaries),
        (Some(binaries), Some(version))
            if minor(&binaries.kubernetes_version()?) == version.minor() =>
        {
            Ok(binaries)
        }
        (_, Some(version)) => Binaries::for_version(version).await,
        (None, None) => Binaries::provide_async().await,
    }
}

/// The version of Kubernetes to check files for. The version of other binaries or of another cluster is still unknown.
/// Then the check assumes the newest version, and the API server decides.
pub(super) fn version_to_run(arguments: &UpArguments) -> anyhow::Result<KubernetesVersion> {
    Ok(selected_version(arguments)?.unwrap_or(KubernetesVersion::NEWEST))
}

/// The version that the flag, the environment or the kept data selects. So a newer Almanac continues with the version
/// of the data. `None` for other binaries and for another cluster.
fn selected_version(arguments: &UpArguments) -> anyhow::Result<Option<KubernetesVersion>> {
    if arguments.cluster.is_some() || arguments.assets.is_some() {
        return Ok(None);
    }
    if arguments.kubernetes_version.is_some() {
        return Ok(arguments.kubernetes_version);
    }
    if environment::assets_folder()?.is_some() {
        return Ok(None);
    }
    let requested = KubernetesVersion::requested()?;
    if requested.is_some() || arguments.ephemeral {
        return Ok(requested);
    }
    let kept = DataFolder::kubernetes_in(&arguments.data_directory()?);
    Ok(kept.and_then(|minor| minor.parse().ok()))
}

/// The minor version in a whole version, such as `1.36` in `1.36.3`.
fn minor(version: &str) -> &str {
    let end = version.match_indices('.').nth(1).map_or(version.len(), |(index, _)| index);
    &version[..end]
}

/// The part of a kubeconfig for a context. The result has this context as its current context.
fn only(mut config: Kubeconfig, context: &str) -> Kubeconfig {
    config.current_context = Some(context.to_owned());
    config.contexts.retain(|it| it.name == context);
    let chosen = config.contexts.iter().find_map(|it| it.context.clone());
    let (cluster, user) = chosen.map(|it| (it.cluster, it.user)).unwrap_or_default();
    config.clusters.retain(|it| it.name == cluster);
    config.auth_infos.retain(|it| Some(&it.name) == user.as_ref());
    config
}

/// Writes a kubeconfig whose current context has the namespace of Almanac's own objects.
fn write_own_kubeconfig(dir: &Path, mut config: Kubeconfig) -> anyhow::Result<()> {
    let current = config.current_context.clone();
    let is_current = |it: &&mut NamedContext| Some(&it.name) == current.as_ref();
    for context in config.contexts.iter_mut().filter(is_current) {
        if let Some(context) = &mut context.context {
            context.namespace = Some(NAMESPACE.to_owned());
        }
    }
    write_private(&dir.join(OWN_KUBECONFIG), &serde_json::to_string(&config)?)
}
