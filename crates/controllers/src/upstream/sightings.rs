//! The leases of one controller as they were seen, and whether somebody renews one.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use tokio::time::Instant;

/// Whoever has not renewed a lease for so long, or for as long as it lasts, does not run.
const STALE_AFTER: Duration = Duration::from_mins(1);

/// A lease that was last renewed so long ago when it is first seen was left behind. No clock is that wrong; and
/// if one is, the next renewal tells.
const ABANDONED_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// The leases of a controller, by their namespace.
#[derive(Debug, Default)]
pub(super) struct Sightings {
    seen: BTreeMap<String, Sighting>,
}

#[derive(Clone, Debug)]
struct Sighting {
    renewed: Option<Timestamp>,
    /// When it was seen to be renewed; nothing for one that was left behind.
    at: Option<Instant>,
}

impl Sightings {
    /// Notes what leases there are. Whether somebody renews one.
    pub(super) fn note(&mut self, leases: &[Lease], now: Timestamp) -> bool {
        let before = std::mem::take(&mut self.seen);
        let mut is_renewed = false;
        for lease in leases {
            let spec = lease.spec.clone().unwrap_or_default();
            // One that was let go of has no holder.
            if spec.holder_identity.is_none_or(|holder| holder.is_empty()) {
                continue;
            }
            let renewed = spec.renew_time.map(|at| at.0);
            let namespace = lease.metadata.namespace.clone().unwrap_or_default();
            let at = match before.get(&namespace) {
                Some(sighting) if sighting.renewed == renewed => sighting.at,
                Some(_) => Some(Instant::now()),
                None => {
                    let age = renewed.map(|renewed| now.duration_since(renewed));
                    let is_left = age.is_some_and(|age| age > ABANDONED_AFTER);
                    (!is_left).then(Instant::now)
                }
            };
            let lasts = u64::try_from(spec.lease_duration_seconds.unwrap_or(0)).unwrap_or(0);
            let lasts = STALE_AFTER.max(Duration::from_secs(lasts));
            is_renewed |= at.is_some_and(|at| at.elapsed() < lasts);
            self.seen.insert(namespace, Sighting { renewed, at });
        }
        is_renewed
    }
}
