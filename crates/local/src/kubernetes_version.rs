//! The versions of Kubernetes whose Go sources this program contains. `go_build.rs` builds them.

use std::fmt::{self, Display};
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};

use crate::environment;

/// A minor version of Kubernetes that can be built, at the patch version of its `go.mod`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KubernetesVersion {
    minor: &'static str,
    pub(crate) go_mod: &'static str,
    pub(crate) go_sum: &'static str,
}

macro_rules! versions {
    ($($minor:literal),+) => {
        [$(KubernetesVersion {
            minor: $minor,
            go_mod: include_str!(concat!("../cluster/", $minor, "/go.mod")),
            go_sum: include_str!(concat!("../cluster/", $minor, "/go.sum")),
        }),+]
    };
}

impl KubernetesVersion {
    /// All versions, the oldest first.
    pub const ALL: [Self; 3] = versions!["1.35", "1.36", "1.37"];

    /// The newest version, which is the default.
    pub const NEWEST: Self = Self::ALL[Self::ALL.len() - 1];

    /// The version in `ALMANAC_KUBERNETES_VERSION`, else the newest.
    pub fn from_environment() -> Result<Self> {
        Ok(Self::requested()?.unwrap_or(Self::NEWEST))
    }

    /// The version in `ALMANAC_KUBERNETES_VERSION`, if it is set.
    pub fn requested() -> Result<Option<Self>> {
        let name = environment::KUBERNETES_VERSION;
        let value = std::env::var_os(name).filter(|value| !value.is_empty());
        value.map(|value| value.to_string_lossy().parse().context(name)).transpose()
    }

    /// The minor version, such as `1.36`.
    #[must_use]
    pub fn minor(self) -> &'static str {
        self.minor
    }

    /// The whole version, such as `1.36.3`.
    #[must_use]
    pub fn patch(self) -> &'static str {
        patch_in(self.go_mod).unwrap_or(self.minor)
    }
}

/// The version of `k8s.io/kubernetes` that a `go.mod` requires.
pub(crate) fn patch_in(go_mod: &str) -> Option<&str> {
    let lines = go_mod.lines().map(|line| line.trim().trim_start_matches("require "));
    lines
        .filter_map(|line| line.strip_prefix("k8s.io/kubernetes v"))
        .find_map(|version| version.split_whitespace().next())
}

impl Display for KubernetesVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.minor)
    }
}

impl FromStr for KubernetesVersion {
    type Err = anyhow::Error;

    /// Reads a minor version (`1.36`), or exactly the embedded patch version (`1.36.3`), with or without a `v`.
    fn from_str(text: &str) -> Result<Self> {
        let version = text.strip_prefix('v').unwrap_or(text);
        let is_named = |it: &Self| it.minor == version || it.patch() == version;
        if let Some(named) = Self::ALL.into_iter().find(is_named) {
            return Ok(named);
        }
        let carried = Self::ALL.map(Self::patch).join(", ");
        let minors = Self::ALL.map(Self::minor).join(", ");
        bail!("Kubernetes {version:?} cannot be built: only {carried} can; give one of {minors}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_minor_version_has_a_go_mod_of_that_minor() {
        for version in KubernetesVersion::ALL {
            let patch = version.patch();
            assert!(patch.starts_with(&format!("{version}.")), "{version} is built as {patch}");
            assert!(version.go_sum.contains(&format!("k8s.io/kubernetes v{patch} h1:")));
        }
        assert_eq!(KubernetesVersion::NEWEST.minor(), "1.37");
    }

    #[test]
    fn a_version_is_named_by_its_minor_or_its_exact_patch_version() {
        let [oldest, ..] = KubernetesVersion::ALL;
        for text in ["1.35", "v1.35", oldest.patch()] {
            assert_eq!(text.parse::<KubernetesVersion>().unwrap(), oldest, "{text}");
        }
        for text in ["1.34", "1.35.0", "1.3", "1", "", "latest", "../1.35"] {
            let error = text.parse::<KubernetesVersion>().unwrap_err().to_string();
            assert!(error.ends_with("give one of 1.35, 1.36, 1.37"), "{error}");
        }
    }
}
