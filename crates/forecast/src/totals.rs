//! The sums of the numbers of a series over its period.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Sub};
use std::sync::Arc;

use almanac_engine::Value;

use crate::{Period, Segment, Series};

/// The nanoseconds of a hundredth of an hour.
const HUNDREDTH: i128 = 36_000_000_000;

/// The peak and the sum of a number over a period.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Total {
    /// The maximum of the number.
    pub peak: u32,
    /// The sum of the number over time.
    pub hours: PodHours,
}

/// Pods times hours, exactly; displayed in hundredths, rounded half up. Negative for a decrease.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct PodHours {
    nanoseconds: i128,
}

const WEEK: i128 = 7 * 24 * 100 * HUNDREDTH;

impl PodHours {
    /// A number of pods over a number of nanoseconds.
    #[must_use]
    pub fn new(pods: i64, nanoseconds: i128) -> PodHours {
        PodHours { nanoseconds: nanoseconds.saturating_mul(i128::from(pods)) }
    }

    /// The pod-hours of `count` equal parts.
    #[must_use]
    pub fn times(self, count: usize) -> PodHours {
        let count = i128::try_from(count).unwrap_or(i128::MAX);
        PodHours { nanoseconds: self.nanoseconds.saturating_mul(count) }
    }

    /// The pod-hours of a week, given those of a period.
    #[must_use]
    pub fn a_week(self, period: Period) -> PodHours {
        let length = period.to().as_nanosecond() - period.from().as_nanosecond();
        PodHours { nanoseconds: self.nanoseconds.saturating_mul(WEEK) / length }
    }
}

impl Add for PodHours {
    type Output = PodHours;

    fn add(self, other: PodHours) -> PodHours {
        PodHours { nanoseconds: self.nanoseconds.saturating_add(other.nanoseconds) }
    }
}

impl Sub for PodHours {
    type Output = PodHours;

    fn sub(self, other: PodHours) -> PodHours {
        PodHours { nanoseconds: self.nanoseconds.saturating_sub(other.nanoseconds) }
    }
}

impl Sum for PodHours {
    fn sum<All: Iterator<Item = PodHours>>(all: All) -> PodHours {
        all.fold(PodHours::default(), Add::add)
    }
}

impl Series {
    /// The total of each number of a series, by its name; the only number of a series has an empty name. Unknown
    /// values add nothing.
    #[must_use]
    pub fn totals(&self) -> BTreeMap<Option<Arc<str>>, Total> {
        let mut sums: BTreeMap<Option<Arc<str>>, (u32, i128)> = BTreeMap::new();
        let mut add = |name: Option<Arc<str>>, number: u32, segment: &Segment| {
            let length = segment.to.as_nanosecond() - segment.from.as_nanosecond();
            let (peak, sum) = sums.entry(name).or_default();
            *peak = number.max(*peak);
            *sum = sum.saturating_add(length.saturating_mul(i128::from(number)));
        };
        for segment in &self.segments {
            match &segment.value {
                Some(Value::Number(number)) => add(None, *number, segment),
                Some(Value::Numbers(numbers)) => {
                    for (name, number) in numbers.iter() {
                        add(Some(Arc::clone(name)), *number, segment);
                    }
                }
                Some(Value::Text(_) | Value::Names(_) | Value::Nothing) | None => {}
            }
        }
        let total =
            |(name, (peak, sum))| (name, Total { peak, hours: PodHours { nanoseconds: sum } });
        sums.into_iter().map(total).collect()
    }
}

/// `12`, `12.5` or `-12.25`: also a number in JSON.
impl fmt::Display for PodHours {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = (self.nanoseconds.abs() + HUNDREDTH / 2) / HUNDREDTH;
        let (whole, rest) = (hundredths / 100, hundredths % 100);
        if self.nanoseconds < 0 && hundredths > 0 {
            formatter.write_str("-")?;
        }
        match (rest, rest % 10) {
            (0, _) => write!(formatter, "{whole}"),
            (_, 0) => write!(formatter, "{whole}.{}", rest / 10),
            _ => write!(formatter, "{whole}.{rest:02}"),
        }
    }
}
