//! Leader election: one of the replicas leads, by a Lease that it renews.
//!
//! A [`Candidate`] acquires and renews the Lease. Its [`Fence`] states, by the monotonic clock, how
//! long the candidate may still write. The fence closes before another replica may acquire the Lease, so a leader that
//! was paused, cut off or starved finds it closed before a stale write. The [`Switch`] is an annotation on the
//! same Lease, with which users stop all writes; [`Addresses`] is another annotation, by which standbys find the
//! leader. This module does not depend on the work of the leader.

mod addresses;
mod candidate;
mod record;
mod switch;

pub use addresses::Addresses;
pub use candidate::{Candidate, LeadershipLoss, LeaseOptions};
pub use switch::{STOP, StopState, Switch};

pub use crate::fence::{Fence, Fenced};
