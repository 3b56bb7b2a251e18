//! Acquires and renews the Lease, and detects its loss.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;

use super::record::{Holder, LeaseRecord, Mark};
use super::{Addresses, Fence, Switch};
use crate::backoff::Backoff;
use crate::endpoints::Health;
use crate::monotonic::Monotonic;
use crate::writer::summarize;

/// The name of the Lease, and its times.
#[derive(Clone, Debug)]
pub struct LeaseOptions {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// The unique name of this process.
    pub identity: String,
    /// The time that other candidates wait after the last renewal that they observed.
    pub lease_duration: Duration,
    /// The time after its last renewal in which the holder may still write. Shorter than `lease_duration`:
    /// the difference is for writes in flight.
    pub renew_deadline: Duration,
    /// The interval of the holder's renewals, and of the checks of other candidates.
    pub retry_period: Duration,
    /// The clock that measures these times.
    pub clock: Monotonic,
    /// The address of this process while it leads, and that of the leader while it does not; `None` if no address is
    /// needed.
    pub addresses: Option<Addresses>,
}

impl LeaseOptions {
    /// The default times of Kubernetes' own components, by the system clock.
    #[must_use]
    pub fn new(namespace: String, name: String, identity: String) -> Self {
        Self {
            namespace,
            name,
            identity,
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            clock: Monotonic::system(),
            addresses: None,
        }
    }

    fn holder(&self) -> Holder<'_> {
        let address = self.addresses.as_ref().map(Addresses::own);
        Holder { identity: &self.identity, address, lease_duration: self.lease_duration }
    }
}

/// A candidate for leadership.
pub struct Candidate {
    options: LeaseOptions,
    api: Api<Lease>,
    health: Health,
    switch: Switch,
    chance: fastrand::Rng,
}

/// The acquired Lease.
pub(crate) struct Acquired {
    record: LeaseRecord,
    fence: Fence,
}

/// The instant at which a holder tries to renew again.
enum Renewal {
    /// Immediately: another client changed the Lease, and it has been read again.
    Again,
    /// At the next regular renewal.
    Later,
}

/// The maximum number of attempts in a row to renew a Lease that other clients keep changing.
const MAX_RENEW_ATTEMPTS: usize = 3;

/// The reason for the loss of leadership.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LeadershipLoss {
    /// Another process holds the Lease.
    To(String),
    /// The Lease could not be renewed in time.
    NotRenewed,
}

impl std::fmt::Display for LeadershipLoss {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::To(holder) => write!(formatter, "the lease is held by {holder}"),
            Self::NotRenewed => formatter.write_str("the lease could not be renewed in time"),
        }
    }
}

impl Candidate {
    /// A candidate; the seed determines the jitter of its attempts. The process is ready once it can read the
    /// Lease, which is sufficient for a standby. The switch follows the annotation of the Lease.
    #[must_use]
    pub fn new(
        client: Client,
        options: LeaseOptions,
        health: Health,
        switch: Switch,
        seed: u64,
    ) -> Self {
        let api = Api::namespaced(client, &options.namespace);
        Self { options, api, health, switch, chance: fastrand::Rng::with_seed(seed) }
    }

    /// Acquires the Lease, then leads: runs the future that `term` creates from the fence, and renews the
    /// Lease while it runs. Ends when the term ends by itself (`Ok`; the Lease is released) or the Lease is lost (the
    /// fence is closed, and the term is dropped). No term starts if the token is canceled before that.
    pub async fn lead(
        &mut self,
        end: &CancellationToken,
        term: impl AsyncFnOnce(Fence),
    ) -> Result<(), LeadershipLoss> {
        let Some(Acquired { record, fence }) = self.acquire(end).await else { return Ok(()) };
        if end.is_cancelled() {
            fence.shut();
            self.release(&record, self.options.retry_period).await;
            return Ok(());
        }
        let term = term(fence.clone());
        tokio::pin!(term);
        let mut latest = record;
        let lost = tokio::select! {
            () = &mut term => None,
            lost = self.keep(&mut latest, &fence) => Some(lost),
        };
        let Some(lost) = lost else {
            // After the fence has closed, another process may already hold the Lease, so it is not released.
            if let Ok(left) = fence.check() {
                fence.shut();
                self.release(&latest, left.min(self.options.retry_period)).await;
            }
            return Ok(());
        };
        fence.shut();
        Err(lost)
    }

    /// Waits until this process has the Lease, or the token is canceled. An attempt in progress is completed even
    /// then, for as long as a write may take: otherwise this process could acquire the Lease without knowing it.
    async fn acquire(&mut self, end: &CancellationToken) -> Option<Acquired> {
        let mut seen: Option<(Mark, Duration)> = None;
        let mut failures = Backoff::new(
            self.options.retry_period,
            self.options.lease_duration,
            self.chance.u64(..),
        );
        while !end.is_cancelled() {
            let mut pause = self.options.retry_period.mul_f64(1.0 + 0.2 * self.chance.f64());
            let attempt = self.attempt(&mut seen, end);
            match tokio::time::timeout(self.options.renew_deadline, attempt).await {
                Ok(Ok(Some(won))) => return Some(won),
                Ok(Ok(None)) if end.is_cancelled() => {}
                Ok(Ok(None)) => {
                    failures.reset();
                    self.health.set_ready();
                }
                // Another candidate was faster, which is not a failure.
                Ok(Err(kube::Error::Api(status))) if status.code == 409 => {}
                Ok(Err(error)) => {
                    self.report_failure(&summarize(&error));
                    pause += failures.next_pause();
                }
                Err(_) => self.report_failure("no response in time"),
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = end.cancelled() => {}
            }
        }
        None
    }

    fn report_failure(&self, why: &str) {
        tracing::warn!(error = why, "failed to read the lease");
        self.health.set_waiting_for(format!("the lease: {why}"));
    }

    async fn attempt(
        &self,
        seen: &mut Option<(Mark, Duration)>,
        end: &CancellationToken,
    ) -> kube::Result<Option<Acquired>> {
        let LeaseOptions { name, lease_duration, clock, addresses, .. } = &self.options;
        let found = tokio::select! {
            biased;
            () = end.cancelled() => return Ok(None),
            found = LeaseRecord::find(&self.api, name) => found?,
        };
        // The duration counts from the time of the request: other candidates count from when they observe its effect.
        let sent = clock.now();
        let record = match found {
            // Deleted while held: the holder has not noticed yet.
            None if seen.as_ref().is_some_and(|(_, since)| sent < *since + *lease_duration) => {
                return Ok(None);
            }
            // Deleting a Lease must not lift the stop.
            None => {
                let why = self.switch.reason();
                LeaseRecord::create(&self.api, name, self.options.holder(), why).await?
            }
            Some(record) => {
                self.switch.update(record.why_stopped());
                if let Some(addresses) = addresses {
                    addresses.set_leader(record.address());
                }
                if !self.may_be_taken(&record, seen) {
                    return Ok(None);
                }
                record.take(&self.api, self.options.holder()).await?
            }
        };
        if let Some(addresses) = addresses {
            addresses.set_leader(record.address());
        }
        let fence = Fence::open_until(clock.clone(), sent + self.options.renew_deadline);
        Ok(Some(Acquired { record, fence }))
    }

    /// Whether the Lease is free, or its holder has not renewed it for its duration: by the local
    /// monotonic clock, since this process first observed the current state of the Lease.
    fn may_be_taken(&self, record: &LeaseRecord, seen: &mut Option<(Mark, Duration)>) -> bool {
        // This applies to the name of this process, too: another process may have the same name.
        if record.holder().is_none() {
            return true;
        }
        let mark = record.mark();
        let now = self.options.clock.now();
        match seen {
            Some((before, since)) if *before == mark => {
                now.saturating_sub(*since)
                    > record.lease_duration().max(self.options.lease_duration)
            }
            _ => {
                *seen = Some((mark, now));
                false
            }
        }
    }

    /// Renews the Lease until that is no longer possible.
    async fn keep(&mut self, latest: &mut LeaseRecord, fence: &Fence) -> LeadershipLoss {
        loop {
            tokio::time::sleep(self.options.retry_period).await;
            for _ in 0..MAX_RENEW_ATTEMPTS {
                match self.renew(latest, fence).await {
                    Ok(Renewal::Again) => {}
                    Ok(Renewal::Later) => break,
                    Err(lost) => return lost,
                }
            }
        }
    }

    /// Tries to renew the Lease; returns the time of the next attempt.
    async fn renew(
        &self,
        latest: &mut LeaseRecord,
        fence: &Fence,
    ) -> Result<Renewal, LeadershipLoss> {
        let patience = self.patience(fence)?;
        let sent = self.options.clock.now();
        match tokio::time::timeout(patience, latest.renew(&self.api)).await {
            Ok(Ok(renewed)) => {
                *latest = renewed;
                self.switch.update(latest.why_stopped());
                let extended = fence.extend(sent + self.options.renew_deadline);
                extended.map_err(|_| LeadershipLoss::NotRenewed)?;
            }
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => {
                return self.look_again(latest, fence).await;
            }
            Ok(Err(error)) => {
                tracing::warn!(error = %summarize(&error), "failed to renew the lease");
            }
            Err(_) => tracing::warn!("failed to renew the lease: no response in time"),
        }
        Ok(Renewal::Later)
    }

    /// Reads a changed Lease again. This process may still hold it: other clients annotate it, or a response was lost.
    /// Then the Lease is renewed immediately, before it changes again.
    async fn look_again(
        &self,
        latest: &mut LeaseRecord,
        fence: &Fence,
    ) -> Result<Renewal, LeadershipLoss> {
        let patience = self.patience(fence)?;
        let find = LeaseRecord::find(&self.api, &self.options.name);
        match tokio::time::timeout(patience, find).await {
            Ok(Ok(Some(record))) if record.is_of_the_same_term(latest) => {
                // The annotation may be the change.
                self.switch.update(record.why_stopped());
                *latest = record;
                return Ok(Renewal::Again);
            }
            Ok(Ok(Some(record))) => {
                return Err(LeadershipLoss::To(record.holder().unwrap_or("nobody").to_owned()));
            }
            Ok(Ok(None)) => return Err(LeadershipLoss::To("nobody".to_owned())),
            Ok(Err(error)) => {
                tracing::warn!(error = %summarize(&error), "failed to read the lease");
            }
            Err(_) => tracing::warn!("failed to read the lease: no response in time"),
        }
        Ok(Renewal::Later)
    }

    /// The timeout of a request while the fence is open: a hanging request must not use up the
    /// time in which another request could succeed.
    fn patience(&self, fence: &Fence) -> Result<Duration, LeadershipLoss> {
        let remaining = fence.check().map_err(|_| LeadershipLoss::NotRenewed)?;
        Ok(remaining.min(2 * self.options.retry_period))
    }

    async fn release(&self, latest: &LeaseRecord, patience: Duration) {
        let released = async {
            match latest.release(&self.api).await {
                // A renewal was in flight, and its response was not awaited.
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    match LeaseRecord::find(&self.api, &self.options.name).await? {
                        Some(found) if found.is_of_the_same_term(latest) => {
                            found.release(&self.api).await.map(|_| ())
                        }
                        _ => Ok(()),
                    }
                }
                released => released.map(|_| ()),
            }
        };
        match tokio::time::timeout(patience, released).await {
            Ok(Ok(())) => tracing::info!("released the lease"),
            Ok(Err(error)) => {
                tracing::warn!(error = %summarize(&error), "failed to release the lease");
            }
            Err(_) => tracing::warn!("failed to release the lease: no response in time"),
        }
    }
}

#[cfg(test)]
mod contended;
#[cfg(test)]
mod tests;
