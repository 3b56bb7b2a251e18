//! The minutes of a day: a set of minutes in each of a set of hours.

/// The minutes (0 to 59) of certain hours (0 to 23), as one bit each.
///
/// Apart from [`TimeSet::EMPTY`], which stands for nothing to remove, both sets have a member;
/// the parsers guarantee that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TimeSet {
    pub(crate) minutes: u64,
    pub(crate) hours: u32,
}

impl TimeSet {
    pub(crate) const EMPTY: TimeSet = TimeSet { minutes: 0, hours: 0 };

    /// These minutes of these hours, as one bit each.
    #[expect(clippy::cast_possible_truncation, reason = "no hour is over 23")]
    pub(crate) fn from_bits(minutes: u64, hours: u64) -> TimeSet {
        TimeSet { minutes, hours: hours as u32 }
    }

    /// A single time of day.
    pub(crate) fn single(hour: u8, minute: u8) -> TimeSet {
        TimeSet { minutes: 1 << minute, hours: 1 << hour }
    }

    /// The first time at or after `time`, in minutes of the day; at 1440 the day is over.
    pub(crate) fn next(self, time: u16) -> Option<u16> {
        let (hour, minute) = (time / 60, time % 60);
        if self.hours >> hour & 1 == 1 && self.minutes >> minute != 0 {
            return Some(time + below_64(u64::trailing_zeros(self.minutes >> minute)));
        }
        let later = self.hours >> hour >> 1;
        (later != 0).then(|| {
            let hour = hour + 1 + below_64(later.trailing_zeros());
            hour * 60 + below_64(self.minutes.trailing_zeros())
        })
    }

    /// The last time at or before `time`.
    pub(crate) fn previous(self, time: u16) -> Option<u16> {
        let (hour, minute) = (time / 60, time % 60);
        let earlier_minutes = self.minutes & (u64::MAX >> (63 - minute));
        if self.hours >> hour & 1 == 1 && earlier_minutes != 0 {
            return Some(hour * 60 + below_64(earlier_minutes.ilog2()));
        }
        let earlier = self.hours & ((1 << hour) - 1);
        (earlier != 0).then(|| below_64(earlier.ilog2()) * 60 + below_64(self.minutes.ilog2()))
    }

    pub(crate) fn first(self) -> u16 {
        below_64(self.hours.trailing_zeros()) * 60 + below_64(self.minutes.trailing_zeros())
    }

    pub(crate) fn last(self) -> u16 {
        below_64(self.hours.ilog2()) * 60 + below_64(self.minutes.ilog2())
    }

    /// The times of this set that are not in `other`.
    pub(crate) fn without(self, other: TimeSet) -> Remaining {
        Remaining { base: self, removed: other }
    }

    /// All times of the set, in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = u16> {
        std::iter::successors(self.next(0), move |time| {
            if *time == super::LAST_TIME { None } else { self.next(time + 1) }
        })
    }
}

/// The times of a day that remain when others are taken away. Not a [`TimeSet`], because the hours
/// that both have keep other minutes than the rest.
#[derive(Clone, Copy)]
pub(crate) struct Remaining {
    base: TimeSet,
    removed: TimeSet,
}

impl Remaining {
    pub(crate) fn next(self, time: u16) -> Option<u16> {
        let first_hour = time / 60;
        (first_hour..24).find_map(|hour| {
            let from = if hour == first_hour { time % 60 } else { 0 };
            let minutes = self.minutes_of(hour) >> from << from;
            (minutes != 0).then(|| hour * 60 + below_64(minutes.trailing_zeros()))
        })
    }

    pub(crate) fn previous(self, time: u16) -> Option<u16> {
        let last_hour = time / 60;
        (0..=last_hour).rev().find_map(|hour| {
            let to = if hour == last_hour { time % 60 } else { 59 };
            let minutes = self.minutes_of(hour) & (u64::MAX >> (63 - to));
            (minutes != 0).then(|| hour * 60 + below_64(minutes.ilog2()))
        })
    }

    fn minutes_of(self, hour: u16) -> u64 {
        match (self.base.hours >> hour & 1, self.removed.hours >> hour & 1) {
            (0, _) => 0,
            (_, 0) => self.base.minutes,
            _ => self.base.minutes & !self.removed.minutes,
        }
    }
}

/// The position of a bit in a word of at most 64.
#[expect(clippy::cast_possible_truncation, reason = "the argument is at most 64")]
fn below_64(bits: u32) -> u16 {
    bits as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_and_previous_agree_with_listing_every_minute_of_the_day() {
        let sets = [
            TimeSet::single(0, 0),
            TimeSet::single(23, 59),
            TimeSet { minutes: (1 << 60) - 1, hours: (1 << 24) - 1 },
            TimeSet { minutes: 1 | 1 << 59, hours: 1 << 9 | 1 << 17 },
        ];
        for set in sets {
            let listed: Vec<u16> = (0..1440)
                .filter(|time| set.hours >> (time / 60) & set.minutes_bit(*time) == 1)
                .collect();
            assert_eq!(set.iter().collect::<Vec<_>>(), listed);
            for time in 0..1440 {
                assert_eq!(set.next(time), listed.iter().copied().find(|it| *it >= time));
                assert_eq!(set.previous(time), listed.iter().copied().rfind(|it| *it <= time));
            }
            for removed in sets {
                let kept: Vec<u16> =
                    listed.iter().copied().filter(|it| !removed.iter().any(|r| r == *it)).collect();
                let left = set.without(removed);
                for time in 0..1440 {
                    assert_eq!(left.next(time), kept.iter().copied().find(|it| *it >= time));
                    assert_eq!(left.previous(time), kept.iter().copied().rfind(|it| *it <= time));
                }
            }
        }
    }

    impl TimeSet {
        fn minutes_bit(self, time: u16) -> u32 {
            u32::from(self.minutes >> (time % 60) & 1 == 1)
        }
    }
}
