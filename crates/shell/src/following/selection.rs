//! The watched objects of a kind, and the cost of the watch for the API server.

use std::time::Duration;

/// A part of the objects of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection {
    /// The namespace; `None` for all namespaces.
    pub namespace: Option<String>,
    /// The field selector, such as `spec.nodeName=worker-1`; `None` for all objects.
    pub fields: Option<String>,
    /// The label selector; `None` for all objects.
    pub labels: Option<String>,
    /// The time after which a watch is restarted. A process that runs on every node restarts its watches
    /// less often than a process with two replicas in a cluster.
    pub lasting: Duration,
    /// Whether only the metadata of the objects is needed.
    pub metadata_only: bool,
    /// The maximum delay before requesting forbidden objects again. If a permission may be missing on
    /// purpose, thousands of processes need not retry every half a minute.
    pub forbidden_pause: Duration,
    /// Whether lists may come from the cache of the API server, which may be slightly behind. That cache has an index
    /// of the pods of each node. A list at the latest version is read from etcd, which has no index: the API server
    /// then reads all pods of the cluster to find those of one node. Stale lists do no harm to writes that carry a
    /// version.
    pub from_cache: bool,
    /// The seed of all jitter, so that processes whose watches broke at one instant do not retry at the same time.
    pub seed: u64,
}

impl Default for Selection {
    /// All objects, at the latest version.
    fn default() -> Self {
        Self {
            namespace: None,
            fields: None,
            labels: None,
            lasting: Duration::from_mins(1),
            metadata_only: false,
            forbidden_pause: Duration::from_secs(30),
            from_cache: false,
            seed: 0,
        }
    }
}
