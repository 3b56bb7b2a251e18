//! The providers that create and remove the nodes of groups: one for each type of group. The caller tracks the groups,
//! and decides when a provider may act.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;

/// The providers of a process, by the type of group.
pub type NodeProviders = BTreeMap<&'static str, Arc<dyn NodeProvider>>;

/// A node group, as its object describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeGroup {
    /// The namespace of the object.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// The provider's name for the group.
    pub id: String,
}

/// The nodes that a provider has for a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProvidedNodes {
    /// The number of nodes.
    pub replicas: u32,
    /// The label selector of these nodes.
    pub selector: String,
}

/// The reason that a provider could not fulfill a request. Each message names the next step.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProviderError {
    /// The provider cannot have such a group. A retry does not help before the object changes.
    #[error("{0}")]
    Invalid(String),
    /// A node of another group already has the name that a node of this group would have.
    #[error("{0}")]
    NameTaken(String),
    /// The request failed, and may succeed later.
    #[error("{0}")]
    Failed(String),
}

/// Returns whether something may be written now. A provider checks it before every write, and stops if the result is
/// `false`.
pub type MayWrite<'a> = &'a (dyn Fn() -> bool + Sync);

/// Receives the namespace and the name of a group whose nodes may have changed.
pub type NodesChanged = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// Provides nodes for the groups of one type. There is never more than one request for a group at a time.
pub trait NodeProvider: Send + Sync {
    /// Runs while the process leads, then is dropped; never ends by itself. It reports changes, and at the start each
    /// group with nodes.
    fn serve(&self, changed: NodesChanged) -> BoxFuture<'_, ()>;

    /// Returns the nodes of a group. The id of a deleted group is unknown, and is empty.
    fn observe<'a>(
        &'a self,
        group: &'a NodeGroup,
    ) -> BoxFuture<'a, Result<ProvidedNodes, ProviderError>>;

    /// Creates or removes nodes until the group has its desired number. Changes before a failure stay.
    fn scale<'a>(
        &'a self,
        group: &'a NodeGroup,
        replicas: u32,
        may_write: MayWrite<'a>,
    ) -> BoxFuture<'a, Result<(), ProviderError>>;

    /// Removes the nodes of a group that does not exist, or is of another type. A provider whose nodes outlive the
    /// object does nothing.
    fn abandon<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        may_write: MayWrite<'a>,
    ) -> BoxFuture<'a, Result<(), ProviderError>>;
}
