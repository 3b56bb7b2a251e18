//! What a test file needs, by its name, and whether it is there. One rule for the harness, which
//! holds tests to it, and for the test command, which lists beforehand what it cannot run.

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use crate::binaries::Binaries;
use crate::component::Component;
use crate::environment;
use crate::go_build::GoBuild;

/// What the tests in a file need. The longest prefix that fits the file's name says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// `cluster_own_api_…`: control planes of its own, etcd and the API server being enough.
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
    /// They can.
    CanRun,
    /// They cannot, because of this.
    NotRun(String),
}

impl Needs {
    /// Every kind, the longer prefix before the shorter one it begins with.
    pub const ALL: [Self; 4] = [Self::OwnApi, Self::Own, Self::Api, Self::Cluster];

    /// What a file's name begins with to say it.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Self::OwnApi => "cluster_own_api_",
            Self::Own => "cluster_own_",
            Self::Api => "cluster_api_",
            Self::Cluster => "cluster_",
        }
    }

    /// What a test file of that name needs; nothing, when it needs no real cluster.
    #[must_use]
    pub fn of_file(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|needs| name.starts_with(needs.prefix()))
    }

    /// Looks whether it is there. It builds nothing.
    #[must_use]
    pub fn check(self) -> Verdict {
        match self.look() {
            Ok(()) => Verdict::CanRun,
            Err(error) => Verdict::NotRun(format!("{error:#}")),
        }
    }

    fn is_whole(self) -> bool {
        matches!(self, Self::Own | Self::Cluster)
    }

    fn is_own(self) -> bool {
        matches!(self, Self::OwnApi | Self::Own)
    }

    fn look(self) -> Result<()> {
        if !self.is_own() && environment::foreign_kubeconfig()?.is_some() {
            return Ok(());
        }
        let Some(folder) = environment::assets_folder()? else {
            return GoBuild::of_control_plane()?.check();
        };
        let binaries = Binaries::in_folder(&folder)?;
        if self.is_whole() && !binaries.are_complete() {
            bail!(
                "{} names {}, which lacks {} or {}",
                environment::KUBEBUILDER_ASSETS,
                folder.display(),
                Component::ControllerManager,
                Component::Scheduler
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

/// Fails a test that stands in a file whose name promises less than the test asks for: the test
/// command would try to run it where it cannot.
pub(crate) fn hold_to_file(own: bool, whole: bool) -> Result<()> {
    let program = std::env::current_exe()?;
    let file = program
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let fits = |needs: Needs| needs.is_own() == own && (needs.is_whole() || !whole);
    match Needs::of_file(&file) {
        Some(needs) if fits(needs) => Ok(()),
        _ if !is_test_program(&program) => Ok(()),
        _ => {
            let right: Vec<_> = Needs::ALL
                .into_iter()
                .filter(|needs| fits(*needs))
                .map(Needs::prefix)
                .collect();
            bail!(
                "this test belongs in a file whose name begins with {}, and stands in {file}",
                right.join(" or ")
            )
        }
    }
}

/// cargo puts test programs into `deps`, and examples and binaries elsewhere.
fn is_test_program(program: &Path) -> bool {
    program
        .parent()
        .and_then(Path::file_name)
        .is_some_and(|folder| folder == "deps")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_says_what_a_file_needs() {
        let of = |name| Needs::of_file(name);
        assert_eq!(of("cluster_own_api_restarts"), Some(Needs::OwnApi));
        assert_eq!(of("cluster_own_runs"), Some(Needs::Own));
        assert_eq!(of("cluster_api_apply"), Some(Needs::Api));
        assert_eq!(of("cluster_workloads"), Some(Needs::Cluster));
        assert_eq!(of("calendar"), None);
    }
}
