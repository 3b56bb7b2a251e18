//! The kubectl that was built together with the control plane, run against one cluster.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::binaries::{Binaries, KUBECTL};
use crate::environment;

/// kubectl with a kubeconfig and an optional namespace.
#[derive(Clone, Debug)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    namespace: Option<String>,
}

impl Kubectl {
    /// The kubectl among the programs of the control plane, for the cluster of a kubeconfig and a default namespace.
    pub async fn provide(kubeconfig: &Path, namespace: Option<&str>) -> Result<Self> {
        let program = match Binaries::provide_async().await {
            Ok(binaries) => binaries.program(KUBECTL)?,
            // With an external cluster, Go may be missing.
            Err(error) => environment::program_on_path(KUBECTL).ok_or(error)?,
        };
        Ok(Self {
            program,
            kubeconfig: kubeconfig.to_owned(),
            namespace: namespace.map(str::to_owned),
        })
    }

    /// The path of the program, for use in a shell.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs kubectl and returns its output; its error output is the error when it fails.
    pub async fn run(&self, arguments: &[&str]) -> Result<String> {
        self.run_with_input(arguments, "").await
    }

    /// Runs kubectl with an input on standard input, for `-f -`.
    pub async fn run_with_input(&self, arguments: &[&str], input: &str) -> Result<String> {
        // Next to the kubeconfig, so that discovery neither reads from the user's home nor writes to it.
        let cache = self.kubeconfig.with_file_name("kubectl-cache");
        let mut command = Command::new(&self.program);
        command.arg("--kubeconfig").arg(&self.kubeconfig).arg("--cache-dir").arg(cache);
        if let Some(namespace) = &self.namespace {
            command.args(["--namespace", namespace]);
        }
        let mut child = command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("failed to start {}", self.program.display()))?;
        let stdin = child.stdin.take();
        let feed = async {
            if let Some(mut stdin) = stdin {
                // kubectl may end before it has read all input; then its exit status decides.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
        };
        // kubectl writes its output while it reads its input. Writing the input first and then reading could deadlock.
        let ((), output) = tokio::join!(feed, child.wait_with_output());
        let output = output?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            bail!("kubectl {} failed: {}", arguments.join(" "), stderr.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
