//! Which objects of a kind are watched, and how long a watch lasts.

use std::time::Duration;

/// A part of the objects of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection {
    /// Those in this namespace; `None` for all namespaces.
    pub namespace: Option<String>,
    /// Those that this field selector selects, such as `spec.nodeName=worker-1`; `None` for all.
    pub fields: Option<String>,
    /// A watch is restarted after this long. A process of which there is one on every node restarts its watches
    /// less often than one of which there are two in a cluster.
    pub lasting: Duration,
}

impl Default for Selection {
    /// Everything.
    fn default() -> Self {
        Self { namespace: None, fields: None, lasting: Duration::from_mins(1) }
    }
}
