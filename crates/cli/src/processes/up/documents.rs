//! The documents that are applied to the cluster: the named files, and the demo. Almanac checks the documents before
//! anything starts, and applies them with kubectl.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use almanac_api::reading::Source;
use almanac_local::{NodeSpec, await_answer_of, question_to, write_whole};
use anyhow::{Context as _, ensure};
use jiff::Timestamp;

use super::arguments::UpArguments;
use super::demo::{self, DemoPace};
use super::nodes_file;
use super::running_cluster::{RunningCluster, version_to_run};
use crate::files::FileArguments;
use crate::findings::{CheckArguments, Format};
use crate::outcome::FailOn;
use crate::text_width;

/// The field manager of kubectl, so that a later `kubectl apply` of a file causes no conflict.
const MANAGER: &str = "--field-manager=kubectl";

/// The file in a data directory for applied text that does not come from a file.
const APPLIED: &str = "applied.yaml";
/// The description of the nodes in a directory of data.
const NODES: &str = "nodes.yaml";

/// The documents to apply, and the nodes for them.
pub(super) struct Documents {
    files: Vec<PathBuf>,
    /// The pace of the demo; `None` without the demo.
    demo: Option<DemoPace>,
    nodes: Vec<NodeSpec>,
    /// The description of the nodes; `None` for the default nodes.
    described: Option<Source>,
}

impl Documents {
    /// Checks the files as `almanac validate` does, and writes the findings; returns the exit code if the files cannot
    /// be used.
    pub(super) fn check(
        arguments: &UpArguments,
        now: Timestamp,
        output: &mut impl Write,
    ) -> anyhow::Result<Result<Self, ExitCode>> {
        let described = match (&arguments.nodes, arguments.demo) {
            (Some(file), _) => Some(nodes_file::source(file)?),
            (None, true) => Some(demo::nodes()),
            (None, false) if arguments.ephemeral || arguments.cluster.is_some() => None,
            (None, false) => {
                let stored = arguments.data_directory()?.join(NODES);
                stored.is_file().then(|| nodes_file::source(&stored)).transpose()?
            }
        };
        let nodes = described.as_ref().map(nodes_file::parse).transpose()?;
        let nodes = nodes.unwrap_or_else(nodes_file::usual);
        if !arguments.file.is_empty() {
            ensure!(
                !arguments.file.iter().any(|it| it == "-"),
                "-f: standard input cannot be applied again at the next start; name a file"
            );
            let mut files = FileArguments::for_paths(arguments.file.clone(), &[]);
            files.kubernetes_version = version_to_run(arguments)?.minor().parse().ok();
            let checked = CheckArguments::from(files).check("up", now)?;
            let (report, fail_on) = (checked.report(), FailOn::default());
            let code = fail_on.code(&report.everything.findings);
            if code != ExitCode::SUCCESS {
                report.write(Format::Text, text_width::for_stdout(), fail_on, output)?;
                return Ok(Err(code));
            }
        }
        let files = arguments.file.iter().map(std::path::absolute).collect::<Result<_, _>>();
        let demo = arguments.demo.then(|| DemoPace::at_speed(arguments.speed));
        let files = files.context("-f: failed to find the current directory")?;
        Ok(Ok(Self { files, demo, nodes, described }))
    }

    /// Keeps the description of the nodes for the next start.
    pub(super) fn keep_nodes(&self, dir: &Path) -> anyhow::Result<()> {
        match &self.described {
            Some(described) => write_whole(&dir.join(NODES), described.text()),
            None => Ok(()),
        }
    }

    /// The nodes to simulate.
    pub(super) fn nodes(&self) -> &[NodeSpec] {
        &self.nodes
    }

    /// Whether the documents contain no object to apply.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.demo.is_none()
    }

    /// Applies the documents. The demo starts at this instant of the policy clock.
    pub(super) async fn apply(
        &self,
        running_cluster: &RunningCluster,
        now: Timestamp,
    ) -> anyhow::Result<()> {
        if let Some(pace) = self.demo {
            let (documents, statuses) = (demo::documents(now, pace), demo::statuses(now, pace));
            apply_text(running_cluster, &documents, &[])
                .await
                .context("failed to apply the demo")?;
            apply_text(running_cluster, &statuses, &["--subresource=status"])
                .await
                .context("failed to apply the statuses of the demo")?;
        }
        if !self.files.is_empty() {
            let files = self.files.iter().map(|file| quoted_path(file));
            let flags: Vec<_> = files.flat_map(|file| ["-f".to_owned(), file]).collect();
            let flags: Vec<_> = flags.iter().map(String::as_str).chain(["--recursive"]).collect();
            apply(running_cluster, &flags).await.context("failed to apply -f")?;
        }
        Ok(())
    }
}

/// Applies the objects in this text, with these additional flags.
pub(super) async fn apply_text(
    running_cluster: &RunningCluster,
    text: &str,
    flags: &[&str],
) -> anyhow::Result<()> {
    let file = running_cluster.folder().join(APPLIED);
    write_whole(&file, text)?;
    apply(running_cluster, &[&["-f", &quoted_path(&file)], flags].concat()).await
}

/// Runs `kubectl apply` with these flags, and prints its warnings.
async fn apply(running_cluster: &RunningCluster, flags: &[&str]) -> anyhow::Result<()> {
    let mut kubectl = question_to(running_cluster.kubectl()?);
    kubectl
        .arg("--kubeconfig")
        .arg(running_cluster.kubeconfig())
        // The discovery cache must not be in the user's home directory.
        .arg("--cache-dir")
        .arg(running_cluster.folder().join("kubectl-cache"))
        .args(["apply", "--server-side", "--force-conflicts", MANAGER])
        .args(flags);
    let output = await_answer_of(kubectl).await.context("failed to run kubectl")?;
    let messages = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}", messages.trim());
    anstream::eprint!("{messages}");
    Ok(())
}

/// A path in kubectl's list of files, quoted if a comma would end it.
fn quoted_path(path: &Path) -> String {
    let path = path.display().to_string();
    if path.contains([',', '"']) { format!("\"{}\"", path.replace('"', "\"\"")) } else { path }
}
