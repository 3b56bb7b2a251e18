//! The recent Events, in which repetitions are counted, as client-go's and kube's recorders do it.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::{Event, cut};

/// A series ends after this time without a new Event: the same as in client-go and kube.
const SERIES_TTL: Duration = Duration::from_mins(6);

/// The current series. Since Events are written at a limited rate, there are not
/// many.
#[derive(Default)]
pub(super) struct RecentSeries {
    /// The series by the hash of the Event, which needs much less memory than the Event.
    series: BTreeMap<u64, Series>,
    hasher: RandomState,
    begun: u64,
}

struct Series {
    /// The name of the Event of the series.
    name: String,
    count: u32,
    last: Instant,
}

/// The start of the name of an Event: the name of its object, cut off at the maximum length.
pub(super) fn name_of_object(event: &Event) -> &str {
    cut(&event.regarding.name, 200).trim_end_matches(['-', '.'])
}

impl RecentSeries {
    /// Counts a repetition of a recent Event; returns the name of that Event and its count.
    pub(super) fn count_again(&mut self, happening: &Event) -> Option<(&str, u32)> {
        self.series.retain(|_, series| series.last.elapsed() < SERIES_TTL);
        let series = self.series.get_mut(&self.hasher.hash_one(happening))?;
        series.count = series.count.saturating_add(1);
        series.last = Instant::now();
        Some((&series.name, series.count))
    }

    /// Starts a series with this Event; returns the name for it.
    pub(super) fn begin(&mut self, happening: &Event, at: Timestamp) -> &str {
        self.begun += 1;
        // The name must be unique; the object's name in front makes it readable.
        let unique = format!("{:x}{:x}", at.as_nanosecond(), self.begun);
        let name = format!("{}.{unique}", name_of_object(happening));
        let series = Series { name, count: 1, last: Instant::now() };
        let key = self.hasher.hash_one(happening);
        &self.series.entry(key).insert_entry(series).into_mut().name
    }

    /// Removes a series whose Event could not be created.
    pub(super) fn remove(&mut self, happening: &Event) {
        self.series.remove(&self.hasher.hash_one(happening));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::event_in;
    use super::*;

    fn event(number: usize) -> Event {
        let mut event = event_in("shop");
        event.regarding.uid = number.to_string();
        event
    }

    #[tokio::test(start_paused = true)]
    async fn ended_series_of_short_lived_objects_take_no_memory() {
        let mut recent = RecentSeries::default();
        for number in 0..1_000 {
            assert_eq!(recent.count_again(&event(number)), None);
            recent.begin(&event(number), Timestamp::UNIX_EPOCH);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert!(recent.count_again(&event(999)).is_some());
        assert_eq!(u64::try_from(recent.series.len()), Ok(SERIES_TTL.as_secs() - 1));
        let of_each = size_of::<(u64, Series)>();
        assert!(of_each <= 64, "{of_each} bytes besides the name");
    }
}
