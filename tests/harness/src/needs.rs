//! The needs of a test file, by its name, and whether this machine meets the needs. The test command uses this rule to
//! list the tests that cannot run, and the harness enforces the rule.

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use almanac_local::environment::{self, KUBEBUILDER_ASSETS};
use almanac_local::{Binaries, KubernetesVersion};

use crate::environment::{KUBECONFIG_TEST, foreign_kubeconfig};
use almanac_local::GoBuild;

/// The needs of the tests in a file. The longest prefix of the file's name decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// `cluster_own_api_…`: control planes of its own with only etcd and the API server.
    OwnApi,
    /// `cluster_own_…`: whole control planes of its own.
    Own,
    /// `cluster_api_…`: an API server to share.
    Api,
    /// `cluster_…`: a whole cluster to share.
    Cluster,
}

/// Whether tests with some needs can run here.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The tests can run.
    CanRun,
    /// The tests cannot run, for this reason.
    NotRun(String),
}

impl Needs {
    /// All values. A longer prefix comes before a shorter prefix that it starts with.
    pub const ALL: [Self; 4] = [Self::OwnApi, Self::Own, Self::Api, Self::Cluster];

    /// The prefix of a file's name for these needs.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Self::OwnApi => "cluster_own_api_",
            Self::Own => "cluster_own_",
            Self::Api => "cluster_api_",
            Self::Cluster => "cluster_",
        }
    }

    /// The needs of a test file of that name; `None` if the file needs no real cluster.
    #[must_use]
    pub fn for_file(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|needs| name.starts_with(needs.prefix()))
    }

    /// Checks whether this machine meets the needs, without building anything.
    #[must_use]
    pub fn check(self) -> Verdict {
        match self.look() {
            Ok(()) => Verdict::CanRun,
            Err(error) if self.is_own() => Verdict::NotRun(format!("{error:#}")),
            Err(error) => Verdict::NotRun(format!(
                "{error:#}; or set {KUBECONFIG_TEST} to the kubeconfig of a cluster for tests"
            )),
        }
    }

    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Self::Own | Self::Cluster)
    }

    fn is_own(self) -> bool {
        matches!(self, Self::OwnApi | Self::Own)
    }

    fn look(self) -> Result<()> {
        if !self.is_own() && foreign_kubeconfig()?.is_some() {
            return Ok(());
        }
        let Some(folder) = environment::assets_folder()? else {
            return GoBuild::for_control_plane(KubernetesVersion::from_environment()?)?.check();
        };
        let lacking = Binaries::in_folder(&folder)?.lacking();
        if self.is_whole() && !lacking.is_empty() {
            bail!(
                "{} names {}, which lacks {}",
                KUBEBUILDER_ASSETS,
                folder.display(),
                lacking.join(", ")
            );
        }
        Ok(())
    }
}

impl fmt::Display for Needs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::OwnApi => "an API server of their own",
            Self::Own => "a control plane of their own",
            Self::Api => "an API server",
            Self::Cluster => "a cluster",
        })
    }
}

/// The needs of the running test file; unknown for a program that is not a test file.
///
/// Fails a test that requests more than its file's name promises: the test command would try to run the test where the
/// test cannot run.
pub(crate) fn for_running_file(own: bool, whole: bool) -> Result<Option<Needs>> {
    let program = std::env::current_exe()?;
    if !is_test_program(&program) {
        return Ok(None);
    }
    let file = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let fits = |needs: &Needs| needs.is_own() == own && (needs.is_whole() || !whole);
    let found = Needs::for_file(&file).filter(fits);
    if found.is_none() {
        let right: Vec<_> = Needs::ALL.into_iter().filter(fits).map(Needs::prefix).collect();
        bail!(
            "this test belongs in a file whose name starts with {}, but is in {file}",
            right.join(" or ")
        );
    }
    Ok(found)
}

/// cargo puts test programs into `deps`, and examples and binaries elsewhere.
fn is_test_program(program: &Path) -> bool {
    program.parent().and_then(Path::file_name).is_some_and(|folder| folder == "deps")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_determines_the_needs_of_a_file() {
        let of = |name| Needs::for_file(name);
        assert_eq!(of("cluster_own_api_restarts"), Some(Needs::OwnApi));
        assert_eq!(of("cluster_own_runs"), Some(Needs::Own));
        assert_eq!(of("cluster_api_apply"), Some(Needs::Api));
        assert_eq!(of("cluster_workloads"), Some(Needs::Cluster));
        assert_eq!(of("calendar"), None);
    }
}
