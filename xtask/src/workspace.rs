//! The workspace as `cargo metadata` describes it, cut down to what the recipes ask about.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use crate::run::Step;

/// The members of this workspace.
#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    #[serde(rename = "packages")]
    pub(crate) members: Vec<Member>,
}

/// One package of the workspace.
#[derive(Debug, Deserialize)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
}

/// One line of a member's dependency tables.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `dev` or `build`; absent for a normal one.
    kind: Option<String>,
}

/// One thing cargo builds from a member.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    kind: Vec<String>,
    #[serde(rename = "src_path")]
    pub(crate) source: PathBuf,
}

impl Workspace {
    /// Asks cargo about the workspace this program was built from.
    pub(crate) fn load() -> anyhow::Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let step = Step::cargo(&["metadata", "--format-version", "1", "--no-deps"]);
        let output = step
            .command()
            .current_dir(root)
            .stderr(Stdio::inherit())
            .output()
            .context("failed to start cargo")?;
        ensure!(output.status.success(), "failed to read the workspace: `{step}` failed");
        serde_json::from_slice(&output.stdout).context("failed to understand `cargo metadata`")
    }

    /// Every target of a kind (`test`, `bench` …) with the member it belongs to.
    pub(crate) fn targets<'a>(
        &'a self,
        kind: &'a str,
    ) -> impl Iterator<Item = (&'a Member, &'a Target)> {
        self.members.iter().flat_map(move |member| {
            let of_kind = member.targets.iter().filter(move |target| target.is(kind));
            of_kind.map(move |target| (member, target))
        })
    }

    /// A path as it reads from the workspace's root, with `/` between its parts.
    pub(crate) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().replace('\\', "/")
    }
}

impl Member {
    pub(crate) fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }
}

impl Dependency {
    /// Whether only tests, benches and examples see it.
    pub(crate) fn is_for_development(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

impl Target {
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.kind.iter().any(|own| own == kind)
    }
}
