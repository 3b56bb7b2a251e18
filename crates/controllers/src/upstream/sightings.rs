//! The observed leases of one controller, and whether one is renewed.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use tokio::time::Instant;

/// A holder that has not renewed its lease for this long, or for the lease duration if that is longer, does not run.
const STALE_AFTER: Duration = Duration::from_mins(1);

/// A lease whose last renewal is this old when it is first seen is abandoned. Clocks rarely differ that much; if one
/// does, the next renewal corrects the result.
const ABANDONED_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// The leases of a controller, by namespace.
#[derive(Debug, Default)]
pub(super) struct Sightings {
    seen: BTreeMap<String, Sighting>,
}

#[derive(Clone, Debug)]
struct Sighting {
    renewed: Option<Timestamp>,
    /// The instant at which a renewal was observed; `None` for an abandoned lease.
    at: Option<Instant>,
}

impl Sightings {
    /// Records the existing leases; returns whether one is renewed.
    pub(super) fn note(&mut self, leases: &[Lease], now: Timestamp) -> bool {
        let before = std::mem::take(&mut self.seen);
        let mut is_renewed = false;
        for lease in leases {
            let spec = lease.spec.clone().unwrap_or_default();
            // A released lease has no holder.
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
