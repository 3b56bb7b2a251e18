//! The workspace as `cargo metadata` describes it, reduced to the fields that the recipes use.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::run::Step;

/// The fields of `cargo metadata` that have a variable `CARGO_PKG_…`.
const ABOUT_A_PACKAGE: &[&str] = &[
    "authors",
    "description",
    "homepage",
    "license",
    "license_file",
    "readme",
    "repository",
    "rust_version",
    "version",
];

/// The members of this workspace.
#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    #[serde(rename = "target_directory", default)]
    pub(crate) build_folder: PathBuf,
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
    /// The other fields. cargo passes those in `ABOUT_A_PACKAGE` to programs.
    #[serde(flatten)]
    about: BTreeMap<String, Value>,
}

/// An entry of a member's dependency tables.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `dev` or `build`; absent for a normal dependency.
    kind: Option<String>,
}

/// A target that cargo builds from a member.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    kind: Vec<String>,
    #[serde(rename = "src_path")]
    pub(crate) source: PathBuf,
}

impl Workspace {
    /// Reads the workspace that this program was built from, with `cargo metadata`.
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

    /// Every target of a kind (`test`, `bench` …) with its member.
    pub(crate) fn targets<'a>(
        &'a self,
        kind: &'a str,
    ) -> impl Iterator<Item = (&'a Member, &'a Target)> {
        self.members.iter().flat_map(move |member| {
            let of_kind = member.targets.iter().filter(move |target| target.is(kind));
            of_kind.map(move |target| (member, target))
        })
    }

    /// A path relative to the workspace's root, with `/` between its parts.
    pub(crate) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().replace('\\', "/")
    }
}

impl Member {
    pub(crate) fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }

    /// The variables that cargo sets when it runs a program of this package.
    pub(crate) fn environment(&self) -> BTreeMap<String, String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut variables = BTreeMap::from([
            ("CARGO_MANIFEST_DIR".to_owned(), text(self.folder())),
            ("CARGO_MANIFEST_PATH".to_owned(), text(&self.manifest_path)),
            ("CARGO_PKG_NAME".to_owned(), self.name.clone()),
        ]);
        for field in ABOUT_A_PACKAGE {
            let value = match self.about.get(*field) {
                Some(Value::String(value)) => value.clone(),
                Some(Value::Array(values)) => {
                    values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(":")
                }
                _ => String::new(),
            };
            variables.insert(format!("CARGO_PKG_{}", field.to_uppercase()), value);
        }
        let version = variables.get("CARGO_PKG_VERSION").cloned().unwrap_or_default();
        let version = version.split('+').next().unwrap_or_default();
        let (numbers, pre) = version.split_once('-').unwrap_or((version, ""));
        let numbers = numbers.splitn(3, '.').chain(std::iter::repeat("0"));
        for (part, number) in ["MAJOR", "MINOR", "PATCH"].into_iter().zip(numbers) {
            variables.insert(format!("CARGO_PKG_VERSION_{part}"), number.to_owned());
        }
        variables.insert("CARGO_PKG_VERSION_PRE".to_owned(), pre.to_owned());
        variables
    }
}

impl Dependency {
    /// Whether only tests, benches and examples use the dependency.
    pub(crate) fn is_for_development(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

impl Target {
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.kind.iter().any(|own| own == kind)
    }
}
