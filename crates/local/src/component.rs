//! The four programs of a control plane, by name.

use std::fmt;

/// One program of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The store.
    Etcd,
    /// The API server.
    ApiServer,
    /// The controllers: Deployments, HPAs, Jobs, garbage collection and the rest.
    ControllerManager,
    /// The scheduler.
    Scheduler,
}

impl Component {
    /// All four programs, in the order of their dependencies.
    pub const ALL: [Self; 4] =
        [Self::Etcd, Self::ApiServer, Self::ControllerManager, Self::Scheduler];

    /// The name of the program.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
        }
    }

    /// The path that responds with 200 once the program is ready.
    pub(crate) fn readiness_path(self) -> &'static str {
        match self {
            Self::Etcd => "/health",
            Self::ApiServer | Self::Scheduler => "/readyz",
            Self::ControllerManager => "/healthz",
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.program())
    }
}
