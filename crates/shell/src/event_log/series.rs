//! The recent Events, in which repetitions are counted, as client-go's and kube's recorders do it.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::{Event, cut};

/// A series is over when nothing has been added to it for this long: the same as in client-go and kube.
const SERIES_TTL: Duration = Duration::from_mins(6);

/// The series that are not over yet. Since Events are written at a limited rate, there are not
/// many.
#[derive(Default)]
pub(super) struct RecentSeries {
    series: BTreeMap<Event, Series>,
    begun: u64,
}

struct Series {
    /// The name of its Event.
    name: String,
    count: u32,
    last: Instant,
}

/// The beginning of the name of an Event: the name of its object, as far as there is room for it.
pub(super) fn name_of_object(event: &Event) -> &str {
    cut(&event.regarding.name, 200).trim_end_matches(['-', '.'])
}

impl RecentSeries {
    /// Counts a repetition of a recent Event; returns the name of that Event and its count.
    pub(super) fn count_again(&mut self, happening: &Event) -> Option<(&str, u32)> {
        self.series.retain(|_, series| series.last.elapsed() < SERIES_TTL);
        let series = self.series.get_mut(happening)?;
        series.count = series.count.saturating_add(1);
        series.last = Instant::now();
        Some((&series.name, series.count))
    }

    /// Starts a series with this Event; returns the name for it.
    pub(super) fn begin(&mut self, happening: &Event, at: Timestamp) -> &str {
        self.begun += 1;
        // The name has to be unique; the object's name in front makes it readable.
        let unique = format!("{:x}{:x}", at.as_nanosecond(), self.begun);
        let name = format!("{}.{unique}", name_of_object(happening));
        let series = Series { name, count: 1, last: Instant::now() };
        &self.series.entry(happening.clone()).insert_entry(series).into_mut().name
    }

    /// Forgets a series whose Event could not be created.
    pub(super) fn forget(&mut self, happening: &Event) {
        self.series.remove(happening);
    }
}
