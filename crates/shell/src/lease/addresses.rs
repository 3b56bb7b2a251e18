//! The address of the leader: the leader writes it to an annotation on the Lease, which the standbys read anyway.

use std::sync::{Arc, Mutex, PoisonError};

/// The address of this process, and that of the leader as last read. Copies share one state.
#[derive(Clone, Debug)]
pub struct Addresses {
    own: Arc<str>,
    leader: Arc<Mutex<Option<Arc<str>>>>,
}

impl Addresses {
    /// Starts with the address of this process. The leader is still unknown.
    #[must_use]
    pub fn new(own: &str) -> Self {
        Self { own: own.into(), leader: Arc::default() }
    }

    /// The address of this process.
    #[must_use]
    pub fn own(&self) -> &str {
        &self.own
    }

    /// The address of the leader in the Lease when this process last tried to acquire it.
    #[must_use]
    pub fn leader(&self) -> Option<Arc<str>> {
        self.leader.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records the address in the Lease.
    pub(super) fn set_leader(&self, address: Option<&str>) {
        let mut leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        if leader.as_deref() != address {
            *leader = address.map(Arc::from);
        }
    }
}
