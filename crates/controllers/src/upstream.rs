//! Detects the upstream controllers of the families. While one runs in the cluster, its family is left to it, unless
//! the process is configured to take it over. Two controllers on one object are worse than none.
//!
//! A controller runs as long as its Lease is renewed, which is observed: the clocks of two machines are not compared,
//! except to recognize an abandoned Lease. A family that is left alone has no turns and no published values, and its
//! status only reports that; the callers of [`Upstreams::running`] ensure this. The descriptor of a family defines how
//! its controller is recognized.

mod report;
mod sightings;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use almanac_api::families::{Controlled, Upstream};
use almanac_shell::backoff::Backoff;
use almanac_shell::clock::Clock;
use almanac_shell::following::WatchFailure;
use almanac_shell::writer::summarize;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::time::timeout;

use crate::list_progress::ListReport;
pub(crate) use report::{LeftAlone, composed, message};
use sightings::Sightings;

/// The annotation that controller-gen, which generates the CRDs of all these projects, adds to each. Our CRDs do not
/// have it.
const GENERATED: &str = "controller-gen.kubebuilder.io/version";

/// A controller that is installed later is detected within this time.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// A term waits for the first check, so the check is retried sooner.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// The time limit of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The running upstream controllers. Clones share their state.
#[derive(Clone, Default)]
pub(crate) struct Upstreams {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The checked families. Families that were taken over are not checked, nor families without an upstream
    /// controller.
    sightings: BTreeMap<Controlled, Sightings>,
    running: BTreeMap<Controlled, Upstream>,
    /// The families whose check is forbidden, which has been logged.
    forbidden: BTreeSet<Controlled>,
}

impl Upstreams {
    /// The upstream controllers of these families, except for the families to take over.
    pub(crate) fn for_families(families: &[Controlled], taken_over: &[Controlled]) -> Self {
        let looked_for = families
            .iter()
            .filter(|family| !taken_over.contains(family) && family.upstream().is_some());
        let sightings = looked_for.map(|family| (*family, Sightings::default())).collect();
        let state = State { sightings, ..State::default() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// The controller to which a family is left, if one runs.
    pub(crate) fn running(&self, family: impl Into<Controlled>) -> Option<Upstream> {
        self.lock().running.get(&family.into()).copied()
    }

    /// Checks periodically, and reports when the first check is done. `changed` is called for each family that
    /// is left alone from now on, or is no longer.
    pub(crate) async fn watch(
        self,
        client: Client,
        clock: Clock,
        first: ListReport,
        changed: impl Fn(Controlled) + Send,
    ) {
        let families: Vec<(Controlled, Upstream)> = {
            let state = self.lock();
            let families = state.sightings.keys();
            families.filter_map(|family| Some((*family, family.upstream()?))).collect()
        };
        let mut retries = Backoff::new(FIRST_RETRY, CHECK_INTERVAL, 0);
        loop {
            let mut is_known = true;
            for (family, upstream) in &families {
                match find_leases(&client, *family, *upstream).await {
                    Ok(leases) => {
                        if self.note(*family, *upstream, &leases, &clock) {
                            changed(*family);
                        }
                    }
                    Err(CheckError::Forbidden(why)) => {
                        self.complain(*family, *upstream, &why);
                        if self.note(*family, *upstream, &[], &clock) {
                            changed(*family);
                        }
                    }
                    // A previous result stays valid.
                    Err(CheckError::Unknown(error)) if first.is_complete() => {
                        tracing::debug!(error, "failed to check for an upstream controller");
                    }
                    Err(CheckError::Unknown(error)) => {
                        tracing::warn!(error, "failed to check for an upstream controller");
                        let (is_absent, is_forbidden, reason) = (false, false, error);
                        first.failed(&WatchFailure { is_absent, is_forbidden, reason });
                        is_known = false;
                    }
                }
            }
            if is_known {
                first.complete();
            }
            let delay = if is_known { CHECK_INTERVAL } else { retries.next_pause() };
            tokio::time::sleep(delay).await;
        }
    }

    /// Records the existing leases. Returns whether that changes which process reconciles the family.
    fn note(
        &self,
        family: Controlled,
        upstream: Upstream,
        leases: &[Lease],
        clock: &Clock,
    ) -> bool {
        let mut state = self.lock();
        let now = clock.real_now();
        let Some(sightings) = state.sightings.get_mut(&family) else { return false };
        let runs = sightings.note(leases, now);
        let changes = if runs {
            state.running.insert(family, upstream).is_none()
        } else {
            state.running.remove(&family).is_some()
        };
        let (name, kind) = (upstream.name, family.flag());
        match (changes, runs) {
            (true, true) => tracing::warn!(
                upstream = name,
                lease = upstream.lease,
                "{name} runs in this cluster: leaving {kind} to it; --take-over={kind} overrides this"
            ),
            (true, false) => tracing::info!(
                upstream = name,
                "{name} does not run in this cluster any more: reconciling {kind}"
            ),
            (false, _) => {}
        }
        changes
    }

    fn complain(&self, family: Controlled, upstream: Upstream, why: &str) {
        if self.lock().forbidden.insert(family) {
            let kind = family.flag();
            tracing::warn!(
                error = why,
                "failed to check whether {} runs in this cluster; reconciling {kind} as if it did not",
                upstream.name
            );
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reason that the state of a controller is unknown.
enum CheckError {
    /// A permission is missing.
    Forbidden(String),
    /// A failure that may pass by itself.
    Unknown(String),
}

impl From<kube::Error> for CheckError {
    fn from(error: kube::Error) -> Self {
        let is_forbidden = matches!(&error, kube::Error::Api(status) if status.code == 403);
        let why = summarize(&error);
        if is_forbidden { Self::Forbidden(why) } else { Self::Unknown(why) }
    }
}

/// The leases that the controller of a family may have; none if its CRD is required and missing.
async fn find_leases(
    client: &Client,
    family: Controlled,
    upstream: Upstream,
) -> Result<Vec<Lease>, CheckError> {
    let search = async {
        if upstream.by_definition {
            let definitions = Api::<CustomResourceDefinition>::all(client.clone());
            let definition = definitions.get_metadata_opt(&family.kind().resource_name()).await?;
            let annotations = definition.and_then(|it| it.metadata.annotations);
            if !annotations.is_some_and(|it| it.contains_key(GENERATED)) {
                return Ok(Vec::new());
            }
        }
        let params = ListParams::default().fields(&format!("metadata.name={}", upstream.lease));
        let leases = Api::<Lease>::all(client.clone()).list(&params).await?.items;
        let is_named = |lease: &Lease| lease.metadata.name.as_deref() == Some(upstream.lease);
        Ok(leases.into_iter().filter(is_named).collect())
    };
    let timed_out = |_| CheckError::Unknown("no response in time".to_owned());
    timeout(REQUEST_TIMEOUT, search).await.map_err(timed_out)?
}
