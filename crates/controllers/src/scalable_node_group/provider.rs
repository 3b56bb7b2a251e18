//! The providers that make and remove the nodes of groups: one for each type of group. Which groups there are, and
//! when something may be done for them, is not a provider's concern.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;

/// The providers of a process, by the type of group.
pub type NodeProviders = BTreeMap<&'static str, Arc<dyn NodeProvider>>;

/// A group of nodes, as its object describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeGroup {
    /// The namespace of the object.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The provider's name for the group.
    pub id: String,
}

/// The nodes that a provider has for a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProvidedNodes {
    /// How many nodes.
    pub replicas: u32,
    /// Selects them among all nodes.
    pub selector: String,
}

/// Why a provider could not fulfill a request. Each message names what would help.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProviderError {
    /// It cannot have such a group. Another attempt is of no use before the object changes.
    #[error("{0}")]
    Invalid(String),
    /// A node that is not of the group has a name that its node would have.
    #[error("{0}")]
    NameTaken(String),
    /// It failed, and may succeed later.
    #[error("{0}")]
    Failed(String),
}

/// Returns whether something may be written now. A provider checks it before every write, and leaves the rest undone
/// where the answer is no.
pub type MayWrite<'a> = &'a (dyn Fn() -> bool + Sync);

/// Is told the namespace and the name of a group whose nodes may have changed.
pub type NodesChanged = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// Provides nodes for the groups of one type. Nobody asks it about one group twice at once.
pub trait NodeProvider: Send + Sync {
    /// Runs as long as the process leads, then is dropped; never ends by itself. It reports changes, and each group
    /// that has nodes at the beginning.
    fn serve(&self, changed: NodesChanged) -> BoxFuture<'_, ()>;

    /// What there is for a group. The id of a group that is gone is not known, and is empty.
    fn observe<'a>(
        &'a self,
        group: &'a NodeGroup,
    ) -> BoxFuture<'a, Result<ProvidedNodes, ProviderError>>;

    /// Has as many nodes made or removed as it takes. What was done before a failure stays.
    fn scale<'a>(
        &'a self,
        group: &'a NodeGroup,
        replicas: u32,
        may_write: MayWrite<'a>,
    ) -> BoxFuture<'a, Result<(), ProviderError>>;

    /// Removes the nodes of a group that is not there, or is of another type: those that are nothing without the
    /// object. Where nodes outlive it, there is nothing to do.
    fn abandon<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        may_write: MayWrite<'a>,
    ) -> BoxFuture<'a, Result<(), ProviderError>>;
}
