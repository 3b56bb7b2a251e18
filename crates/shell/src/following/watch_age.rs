//! The age of each watch: the time since the last response about its kind. Also the number of objects of each kind that
//! were not fully readable.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::time::Instant;

/// A watch that is older than this is stale. A healthy watch delivers something at least every
/// minute.
const STALE_AFTER: Duration = Duration::from_mins(3);

/// The ages of all running watches.
#[derive(Clone, Debug, Default)]
pub struct WatchAges {
    watches: Arc<Mutex<Watches>>,
}

#[derive(Debug, Default)]
struct Watches {
    /// By the kind and a number: a kind may have several watches, each of which may fall silent.
    ages: BTreeMap<(String, u64), Age>,
    /// The number of objects of a kind that were not fully readable.
    unread: BTreeMap<String, u64>,
    begun: u64,
}

#[derive(Clone, Copy, Debug)]
struct Age {
    since: Instant,
    need: Need,
    /// Whether the last response was a success.
    is_answered: bool,
}

/// Whether a process can do its work without a watch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// The process can work.
    Never,
    /// The process cannot work.
    Always,
    /// The process can work while the watch is refused, as long as another watch of the kind is not: a namespace, or
    /// the permission in it, may be missing on purpose. Otherwise, the process cannot work.
    UnlessRefused,
}

/// The age of one watch. Dropping the value removes the entry.
#[derive(Debug)]
pub struct WatchAge {
    watch_ages: WatchAges,
    watch: (String, u64),
}

impl WatchAges {
    /// Adds a watch of a kind.
    #[must_use]
    pub fn begin(&self, kind: &str, need: Need) -> WatchAge {
        let mut watches = self.lock();
        watches.begun += 1;
        let watch = (kind.to_owned(), watches.begun);
        watches.unread.entry(kind.to_owned()).or_default();
        let age = Age { since: Instant::now(), need, is_answered: false };
        watches.ages.insert(watch.clone(), age);
        WatchAge { watch_ages: self.clone(), watch }
    }

    /// The kind of a required, stale watch; `None` if no such watch exists.
    #[must_use]
    pub fn stale(&self) -> Option<String> {
        let watches = self.lock();
        let is_old = |age: &Age| age.since.elapsed() > STALE_AFTER;
        let of_kind = |kind: &str| {
            let kind = kind.to_owned();
            let from = watches.ages.range((kind.clone(), 0)..);
            from.take_while(move |((it, _), _)| *it == kind).map(|(_, age)| age)
        };
        let is_needed = |kind: &str, age: &Age| match age.need {
            Need::Never => false,
            Need::Always => true,
            Need::UnlessRefused => age.is_answered || of_kind(kind).all(|other| !other.is_answered),
        };
        let mut old = watches.ages.iter().filter(|(_, age)| is_old(age));
        old.find(|((kind, _), age)| is_needed(kind, age)).map(|((kind, _), _)| kind.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Watches> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchAge {
    /// Notes a response about the kind.
    pub fn mark_fresh(&self) {
        if let Some(age) = self.watch_ages.lock().ages.get_mut(&self.watch) {
            age.since = Instant::now();
            age.is_answered = true;
        }
    }

    /// Counts an object that is not fully readable.
    pub(super) fn count_unread(&self) {
        *self.watch_ages.lock().unread.entry(self.watch.0.clone()).or_default() += 1;
    }

    /// Records that the watch of the kind was refused.
    pub fn mark_refused(&self) {
        if let Some(age) = self.watch_ages.lock().ages.get_mut(&self.watch) {
            age.is_answered = false;
        }
    }
}

impl Drop for WatchAge {
    fn drop(&mut self) {
        self.watch_ages.lock().ages.remove(&self.watch);
    }
}

impl Collector for WatchAges {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let watches = self.lock();
        let mut ages: BTreeMap<&str, Duration> = BTreeMap::new();
        for ((kind, _), age) in &watches.ages {
            // The age of a kind is the age of its oldest watch.
            let oldest = ages.entry(kind).or_default();
            *oldest = age.since.elapsed().max(*oldest);
        }
        let Some(any) = ages.values().next() else { return Ok(()) };
        let name = "almanac_view_age_seconds";
        let help = "Seconds since the last response about a watched kind";
        let kind = ConstGauge::new(any.as_secs_f64()).metric_type();
        let mut family = encoder.encode_descriptor(name, help, None, kind)?;
        for (kind, age) in ages {
            let labels = [("kind", kind)];
            ConstGauge::new(age.as_secs_f64()).encode(family.encode_family(&labels)?)?;
        }
        let name = "almanac_unread_objects";
        let help = "Reads of objects of a watched kind in which a part could not be read";
        let counted = ConstCounter::new(0_u64).metric_type();
        let mut family = encoder.encode_descriptor(name, help, None, counted)?;
        for (kind, count) in &watches.unread {
            let labels = [("kind", kind.as_str())];
            ConstCounter::new(*count).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process_metrics::tests::exported;

    #[tokio::test(start_paused = true)]
    async fn only_a_required_running_watch_can_be_stale() {
        let watch_ages = WatchAges::default();
        let _targets = watch_ages.begin("deployments", Need::Never);
        let policies = watch_ages.begin("cronfederatedhpas", Need::Always);
        tokio::time::sleep(STALE_AFTER + Duration::from_secs(1)).await;
        assert_eq!(watch_ages.stale().as_deref(), Some("cronfederatedhpas"));
        policies.mark_fresh();
        assert_eq!(watch_ages.stale(), None);
        tokio::time::sleep(STALE_AFTER + Duration::from_secs(1)).await;
        drop(policies);
        assert_eq!(watch_ages.stale(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_watched_twice_is_as_old_as_the_older_watch() {
        let watch_ages = WatchAges::default();
        let both = [(); 2].map(|()| watch_ages.begin("scalablenodegroups", Need::Always));
        for (healthy, silent) in [(0, 1), (1, 0)] {
            tokio::time::sleep(STALE_AFTER + Duration::from_secs(1)).await;
            both[healthy].mark_fresh();
            assert_eq!(watch_ages.stale().as_deref(), Some("scalablenodegroups"));
            let text = exported(|it| it.register_collector(Box::new(watch_ages.clone())));
            let series = "almanac_view_age_seconds{kind=\"scalablenodegroups\"} 181.0";
            assert!(text.lines().any(|line| line == series), "{text}");
            both[silent].mark_fresh();
            assert_eq!(watch_ages.stale(), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_watch_is_not_stale_while_another_watch_of_its_kind_succeeds() {
        let watch_ages = WatchAges::default();
        let [east, west] = [(); 2].map(|()| watch_ages.begin("policies", Need::UnlessRefused));
        let stale_later = async || {
            tokio::time::sleep(STALE_AFTER + Duration::from_secs(1)).await;
            east.mark_fresh();
            watch_ages.stale()
        };
        east.mark_fresh();
        assert_eq!(stale_later().await, None, "the watch has never had a response");
        west.mark_fresh();
        assert_eq!(stale_later().await.as_deref(), Some("policies"), "the watch has become silent");
        west.mark_refused();
        assert_eq!(stale_later().await, None);
        east.mark_refused();
        tokio::time::sleep(STALE_AFTER + Duration::from_secs(1)).await;
        assert_eq!(watch_ages.stale().as_deref(), Some("policies"), "no watch has a response");
    }
}
