//! The age of each watch: the time since the last response about its kind.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::time::Instant;

/// A watch that is older than this is stale. A healthy watch delivers something at least every
/// minute.
const STALE_AFTER: Duration = Duration::from_mins(3);

/// The ages of all running watches.
#[derive(Clone, Debug, Default)]
pub struct WatchAges {
    kinds: Arc<Mutex<BTreeMap<String, Age>>>,
}

#[derive(Clone, Copy, Debug)]
struct Age {
    since: Instant,
    is_needed: bool,
}

/// The age of one watch. Dropping it ends the entry.
#[derive(Debug)]
pub struct WatchAge {
    watch_ages: WatchAges,
    kind: String,
}

impl WatchAges {
    /// Adds the watch of a kind. `is_needed`: whether the process cannot do its work without it. Two watches of one
    /// kind have one age.
    #[must_use]
    pub fn begin(&self, kind: &str, is_needed: bool) -> WatchAge {
        {
            let mut kinds = self.lock();
            let is_needed = is_needed || kinds.get(kind).is_some_and(|age| age.is_needed);
            kinds.insert(kind.to_owned(), Age { since: Instant::now(), is_needed });
        }
        WatchAge { watch_ages: self.clone(), kind: kind.to_owned() }
    }

    /// A needed kind whose watch is stale, if there is one.
    #[must_use]
    pub fn stale(&self) -> Option<String> {
        let kinds = self.lock();
        let mut needed = kinds.iter().filter(|(_, age)| age.is_needed);
        needed.find(|(_, age)| age.since.elapsed() > STALE_AFTER).map(|(kind, _)| kind.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Age>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchAge {
    /// Notes a response about the kind.
    pub fn mark_fresh(&self) {
        if let Some(age) = self.watch_ages.lock().get_mut(&self.kind) {
            age.since = Instant::now();
        }
    }
}

impl Drop for WatchAge {
    fn drop(&mut self) {
        self.watch_ages.lock().remove(&self.kind);
    }
}

impl Collector for WatchAges {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let ages: Vec<_> =
            self.lock().iter().map(|(kind, age)| (kind.clone(), age.since.elapsed())).collect();
        let Some(any) = ages.first() else { return Ok(()) };
        let name = "almanac_view_age_seconds";
        let help = "Seconds since the last response about a watched kind";
        let kind = ConstGauge::new(any.1.as_secs_f64()).metric_type();
        let mut family = encoder.encode_descriptor(name, help, None, kind)?;
        for (kind, age) in ages {
            let labels = [("kind", kind)];
            ConstGauge::new(age.as_secs_f64()).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_a_required_running_watch_can_be_stale() {
        let watch_ages = WatchAges::default();
        let _targets = watch_ages.begin("deployments", false);
        let policies = watch_ages.begin("cronfederatedhpas", true);
        tokio::time::sleep(STALE_AFTER + Duration::from_secs(1)).await;
        assert_eq!(watch_ages.stale().as_deref(), Some("cronfederatedhpas"));
        policies.mark_fresh();
        assert_eq!(watch_ages.stale(), None);
        tokio::time::sleep(STALE_AFTER + Duration::from_secs(1)).await;
        drop(policies);
        assert_eq!(watch_ages.stale(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_watched_twice_is_required_if_either_watch_requires_it() {
        for watches in [[true, false], [false, true]] {
            let watch_ages = WatchAges::default();
            let _both = watches.map(|is_needed| watch_ages.begin("scalablenodegroups", is_needed));
            tokio::time::sleep(STALE_AFTER + Duration::from_secs(1)).await;
            assert_eq!(watch_ages.stale().as_deref(), Some("scalablenodegroups"));
        }
    }
}
