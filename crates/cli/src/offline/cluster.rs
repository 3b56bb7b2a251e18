//! The replacement of `cluster.rs` in a build without the feature `cluster`: hidden flags, and an error with a fix.

use std::time::Duration;

use clap::Args;
use jiff::Timestamp;

use crate::input::{ClusterRequest, Input};

/// The way to get a build with all features.
pub(crate) const FIX: &str = "build almanac with its default features";

/// The addition to `--version`.
pub(crate) const BUILD: &str = ", offline build";

/// An argument of each command that reads a cluster if no files are named.
pub(crate) const KUBECONFIG: &str = "kubeconfig";

/// The flags of a build that reads clusters. Each flag causes an error with the fix.
#[derive(Args, Clone)]
pub(crate) struct ClusterArguments {
    #[arg(id = KUBECONFIG, long, value_name = "FILE", hide = true, value_parser = refused::<String>)]
    _kubeconfig: Option<String>,

    #[arg(id = "context", long, value_name = "NAME", hide = true, value_parser = refused::<String>)]
    _context: Option<String>,

    #[arg(id = "what_if", long, value_name = "PATH", hide = true, value_parser = refused::<String>)]
    _what_if: Option<String>,

    #[arg(short = 'A', long, conflicts_with_all = ["file", "kustomize", "namespace"], hide = true)]
    pub(crate) all_namespaces: bool,
}

impl ClusterArguments {
    /// Whether an argument selects the cluster to read, or a part of it.
    pub(crate) fn is_named(&self) -> bool {
        self.all_namespaces
    }

    /// Always fails, because this build reads no cluster.
    #[expect(clippy::unused_self, reason = "the same call watches a cluster in other builds")]
    pub(crate) fn changes(&self, _: Option<&str>, _: Timestamp) -> anyhow::Result<Changes> {
        refused("").map_err(anyhow::Error::msg)
    }

    /// Always fails, because this build reads no cluster.
    #[expect(clippy::unused_self, reason = "the same call reads a cluster in other builds")]
    pub(crate) fn load(&self, _: &ClusterRequest<'_>) -> anyhow::Result<Input> {
        refused("").map_err(anyhow::Error::msg)
    }
}

/// The flag of a build that can watch a cluster.
#[derive(Args)]
pub(crate) struct WatchArguments {
    #[arg(short, long, hide = true, conflicts_with_all = ["file", "kustomize", "what_if", "from"])]
    pub(crate) watch: bool,
}

/// A type without values, because this build watches no cluster.
pub(crate) enum Changes {}

impl Changes {
    pub(crate) fn wait(&mut self, _: Duration) {
        match *self {}
    }
}

fn refused<Anything>(_: &str) -> Result<Anything, String> {
    Err(format!("this build reads files only; to read a cluster, {FIX}"))
}
