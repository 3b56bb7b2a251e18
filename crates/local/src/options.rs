//! The components and options of a control plane, before it is started.

use crate::component::Component;

/// The components and options of a control plane.
#[derive(Clone, Debug, Default)]
pub struct ControlPlaneOptions {
    components: Vec<Component>,
    pub(crate) extra_flags: Vec<(Component, String)>,
    pub(crate) is_audited: bool,
    pub(crate) reads_of: Vec<String>,
    pub(crate) extender_port: Option<u16>,
}

impl ControlPlaneOptions {
    /// All four programs.
    #[must_use]
    pub fn whole() -> Self {
        Self::with_components(&Component::ALL)
    }

    /// etcd and the API server: no controllers and no scheduler. This control plane is ready sooner, and any
    /// directory in `KUBEBUILDER_ASSETS` contains these two programs.
    #[must_use]
    pub fn api_only() -> Self {
        Self::with_components(&[Component::Etcd, Component::ApiServer])
    }

    /// With an API server that logs every change and its author: see
    /// [`ControlPlane::audit_log`](crate::ControlPlane::audit_log).
    #[must_use]
    pub fn audited(mut self) -> Self {
        self.is_audited = true;
        self
    }

    /// Also logs the reads of this user. Can be called once per user.
    #[must_use]
    pub fn audited_with_reads_of(mut self, user: impl Into<String>) -> Self {
        self.reads_of.push(user.into());
        self.audited()
    }

    /// Adds a flag of one of the programs. Of duplicate flags, the last one applies.
    #[must_use]
    pub fn flag(mut self, component: Component, flag: impl Into<String>) -> Self {
        self.extra_flags.push((component, flag.into()));
        self
    }

    /// With a scheduler that has an extender at this port of the machine: no pod is scheduled without it.
    #[must_use]
    pub fn extender(mut self, port: u16) -> Self {
        self.extender_port = Some(port);
        self
    }

    /// Whether the options include more than etcd and the API server.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.has(Component::ControllerManager) || self.has(Component::Scheduler)
    }

    fn with_components(components: &[Component]) -> Self {
        Self { components: components.to_vec(), ..Self::default() }
    }

    pub(crate) fn has(&self, component: Component) -> bool {
        self.components.contains(&component)
    }
}
