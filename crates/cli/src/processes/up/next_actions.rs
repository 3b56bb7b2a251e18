//! The next actions in the cluster, as `almanac next` lists them.

use std::path::{Path, PathBuf};

use almanac_api::policy_clock::PolicyClock;
use almanac_forecast::Period;
use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};

use crate::next::lines;

/// The period of the search for the next action. A later action is not useful at a terminal.
const SEARCH_PERIOD: SignedDuration = SignedDuration::from_hours(366 * 24);

/// The maximum number of listed actions, so that the list fits on the screen.
pub(super) const MAX_LISTED: usize = 20;

/// Searches the cluster for the next actions.
pub(super) struct NextActions {
    kubeconfig: PathBuf,
    clock: PolicyClock,
}

/// An upcoming action.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Next {
    /// The instant by the policy clock.
    pub(super) at: Timestamp,
    /// A short description.
    pub(super) what: String,
}

impl NextActions {
    pub(super) fn new(kubeconfig: &Path, clock: PolicyClock) -> Self {
        Self { kubeconfig: kubeconfig.to_owned(), clock }
    }

    /// The policy clock.
    pub(super) fn clock(&self) -> PolicyClock {
        self.clock
    }

    /// The current instant of the policy clock.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.shown_at(Timestamp::now())
    }

    /// The actions at the first instant with an action after this instant; empty if none follows.
    pub(super) async fn next(&self, after: Timestamp) -> anyhow::Result<Vec<Next>> {
        let mut all = self.find(after, SEARCH_PERIOD, 5).await?;
        let first = all.first().map(|next| next.at);
        all.retain(|next| Some(next.at) == first);
        Ok(all)
    }

    /// The first actions in this many minutes of the wall clock.
    pub(super) async fn listed(&self, minutes: i64) -> anyhow::Result<Vec<Next>> {
        let rate = i32::try_from(self.clock.rate()).unwrap_or(i32::MAX);
        let length =
            SignedDuration::from_mins(minutes).checked_mul(rate).unwrap_or(SignedDuration::MAX);
        self.find(self.now(), length, MAX_LISTED + 1).await
    }

    async fn find(
        &self,
        from: Timestamp,
        length: SignedDuration,
        count: usize,
    ) -> anyhow::Result<Vec<Next>> {
        let to = from.saturating_add(length).unwrap_or(Timestamp::MAX);
        // A clock at the maximum instant has no actions ahead.
        let Some(period) = Period::new(from, to) else { return Ok(Vec::new()) };
        let (kubeconfig, clock) = (self.kubeconfig.clone(), self.clock);
        // On another thread, so that the runtime can check that all processes still run.
        let actions = tokio::task::spawn_blocking(move || {
            lines::for_cluster(kubeconfig, clock, period, count)
        });
        let actions = actions.await?.context("failed to compute the next actions")?;
        Ok(actions.into_iter().map(|(at, what)| Next { at, what }).collect())
    }
}
