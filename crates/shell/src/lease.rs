//! Leader election: one of the replicas leads, by a Lease that it renews.
//!
//! A [`Candidate`] acquires the Lease and keeps it; the [`Fence`] that it holds states, by the monotonic clock, how
//! long it may still write. The fence closes before any other replica may take the Lease, so a leader that was
//! paused, cut off or starved finds it closed before it writes anything stale. The [`Switch`] is an annotation on the
//! same Lease, with which users stop all writes; [`Addresses`] are another one, by which standbys find the leader.
//! This module does not depend on the work of the leader.

mod addresses;
mod candidate;
mod record;
mod switch;

pub use addresses::Addresses;
pub use candidate::{Candidate, LeadershipLoss, LeaseOptions};
pub use switch::{STOP, StopState, Switch};

pub use crate::fence::{Fence, Fenced};
