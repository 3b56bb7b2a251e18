//! Reads and writes the Lease object.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Api;

use super::STOP;
use crate::writer::post_params;

/// The annotation with the address of the holder.
const ADDRESS: &str = "almanac.dev/address";

/// The Lease as last read.
#[derive(Clone, Debug)]
pub(super) struct LeaseRecord {
    lease: Lease,
}

/// The part that changes whenever a holder renews, and not when others write to the Lease.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    holder: Option<String>,
    renewed: Option<Timestamp>,
    transitions: Option<i32>,
}

/// The identity of a candidate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder<'a> {
    pub(super) identity: &'a str,
    /// The address of the candidate, if it has one.
    pub(super) address: Option<&'a str>,
    pub(super) lease_duration: Duration,
}

impl Holder<'_> {
    /// Replaces the address of the previous holder in the Lease.
    fn state_address(&self, lease: &mut Lease) {
        let annotations = lease.metadata.annotations.get_or_insert_default();
        match self.address {
            Some(address) => annotations.insert(ADDRESS.to_owned(), address.to_owned()),
            None => annotations.remove(ADDRESS),
        };
    }
}

impl LeaseRecord {
    pub(super) async fn find(api: &Api<Lease>, name: &str) -> kube::Result<Option<LeaseRecord>> {
        Ok(api.get_opt(name).await?.map(|lease| LeaseRecord { lease }))
    }

    pub(super) async fn create(
        api: &Api<Lease>,
        name: &str,
        holder: Holder<'_>,
        why_stopped: Option<String>,
    ) -> kube::Result<LeaseRecord> {
        let mut lease = Lease::default();
        lease.metadata.name = Some(name.to_owned());
        lease.metadata.annotations = why_stopped.map(|why| [(STOP.to_owned(), why)].into());
        holder.state_address(&mut lease);
        lease.spec = Some(taken(None, holder));
        let lease = api.create(&post_params(), &lease).await?;
        Ok(LeaseRecord { lease })
    }

    /// The holder; `None` for a released Lease.
    pub(super) fn holder(&self) -> Option<&str> {
        let spec = self.lease.spec.as_ref()?;
        spec.holder_identity.as_deref().filter(|holder| !holder.is_empty())
    }

    /// The address of its holder, if the Lease has one.
    pub(super) fn address(&self) -> Option<&str> {
        self.holder()?;
        self.lease.metadata.annotations.as_ref()?.get(ADDRESS).map(String::as_str)
    }

    /// The value of the annotation that stops everything, if it is set.
    pub(super) fn why_stopped(&self) -> Option<&str> {
        self.lease.metadata.annotations.as_ref()?.get(STOP).map(String::as_str)
    }

    /// Whether the same holder has held the Lease without interruption since the same instant.
    pub(super) fn is_of_the_same_term(&self, other: &LeaseRecord) -> bool {
        let acquired = |record: &LeaseRecord| record.lease.spec.as_ref()?.acquire_time.clone();
        self.holder() == other.holder()
            && self.holder().is_some()
            && acquired(self) == acquired(other)
    }

    /// The time that other candidates must wait after a renewal.
    pub(super) fn lease_duration(&self) -> Duration {
        let seconds = self.lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
        Duration::from_secs(seconds.and_then(|it| u64::try_from(it).ok()).unwrap_or(0))
    }

    pub(super) fn mark(&self) -> Mark {
        let spec = self.lease.spec.as_ref();
        Mark {
            holder: self.holder().map(str::to_owned),
            renewed: spec.and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0),
            transitions: spec.and_then(|spec| spec.lease_transitions),
        }
    }

    /// Acquires the Lease from its previous holder. Fails if the Lease has changed since it was read.
    pub(super) async fn take(
        &self,
        api: &Api<Lease>,
        holder: Holder<'_>,
    ) -> kube::Result<LeaseRecord> {
        let mut lease = self.lease.clone();
        holder.state_address(&mut lease);
        let spec = taken(self.lease.spec.as_ref(), holder);
        LeaseRecord { lease }.replace(api, spec).await
    }

    /// Renews the Lease of this process. Fails if the Lease has changed since it was read.
    pub(super) async fn renew(&self, api: &Api<Lease>) -> kube::Result<LeaseRecord> {
        let spec = self.lease.spec.clone().unwrap_or_default();
        self.replace(api, LeaseSpec { renew_time: Some(MicroTime(Timestamp::now())), ..spec }).await
    }

    /// Releases the Lease of this process, so that no other candidate must wait.
    pub(super) async fn release(&self, api: &Api<Lease>) -> kube::Result<LeaseRecord> {
        let spec = self.lease.spec.clone().unwrap_or_default();
        let released = LeaseSpec {
            holder_identity: None,
            lease_duration_seconds: Some(1),
            renew_time: Some(MicroTime(Timestamp::now())),
            ..spec
        };
        self.replace(api, released).await
    }

    async fn replace(&self, api: &Api<Lease>, spec: LeaseSpec) -> kube::Result<LeaseRecord> {
        // The write includes the resourceVersion of the read: the API server rejects the write if
        // another write was faster.
        let mut lease = self.lease.clone();
        lease.spec = Some(spec);
        lease.metadata.managed_fields = None;
        let name = lease.metadata.name.clone().unwrap_or_default();
        let lease = api.replace(&name, &post_params(), &lease).await?;
        Ok(LeaseRecord { lease })
    }
}

fn taken(before: Option<&LeaseSpec>, holder: Holder<'_>) -> LeaseSpec {
    let now = MicroTime(Timestamp::now());
    let transitions =
        before.map_or(0, |spec| spec.lease_transitions.unwrap_or(0).saturating_add(1));
    let seconds = i32::try_from(holder.lease_duration.as_secs()).unwrap_or(i32::MAX);
    LeaseSpec {
        holder_identity: Some(holder.identity.to_owned()),
        lease_duration_seconds: Some(seconds),
        acquire_time: Some(now.clone()),
        renew_time: Some(now),
        lease_transitions: Some(transitions),
        ..LeaseSpec::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mark(version: &str, renewed: &str, transitions: i32) -> Mark {
        let lease = json!({
            "metadata": { "name": "almanac", "resourceVersion": version },
            "spec": {
                "holderIdentity": "us", "renewTime": renewed, "leaseTransitions": transitions,
            },
        });
        let lease = serde_json::from_value(lease).expect("a Lease");
        LeaseRecord { lease }.mark()
    }

    #[test]
    fn only_the_holder_extends_a_lease_and_no_other_writer() {
        let [at_nine, later] = ["2026-11-20T09:00:00.000000Z", "2026-11-20T09:00:02.000000Z"];
        let before = mark("7", at_nine, 3);
        assert_eq!(mark("8", at_nine, 3), before, "another client has annotated it");
        assert_ne!(mark("8", later, 3), before, "its holder has renewed it");
        assert_ne!(mark("8", at_nine, 4), before, "it has changed hands");
    }
}
