//! Keeps two field managers from changing a pod against each other without end.
//!
//! If the agent's last value was replaced, the cause may be a user, or another agent with another `ConfigMap` or
//! another form of levels. The agent writes the value again immediately a few times, and then after delays that double,
//! up to about an hour. So contention causes few writes, and ends soon after the other field manager stops. A new
//! desired value, as at a boundary, resets the delays.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use almanac_engine::qos_levels::QosAnnotations;
use jiff::{SignedDuration, Timestamp};

/// The number of times that the same value is written again without a delay.
const IMMEDIATE_REPEATS: u32 = 3;

/// The first delay.
const FIRST_DELAY: SignedDuration = SignedDuration::from_secs(1);

/// The maximum delay is a bit more than an hour, which is also how long an API server keeps an Event.
const MAX_DOUBLINGS: u32 = 12;

/// After the maximum delay and this time without another change, a write is uncontested.
const CALM: SignedDuration = SignedDuration::from_mins(10);

/// The last write to a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LastWrite {
    /// A hash of the policy and of the value that it sets. The user's level is not part of it, because it changes when
    /// the user changes it.
    wanted: u64,
    at: Timestamp,
    /// The number of times that the same value was written again.
    repeats: u32,
}

impl LastWrite {
    /// Records a write.
    pub(super) fn note(before: Option<LastWrite>, wanted: &QosAnnotations, at: Timestamp) -> Self {
        let hash = hash_of(wanted);
        let previous = before.filter(|it| it.wanted == hash && !it.is_calm(at));
        LastWrite {
            wanted: hash,
            at,
            repeats: previous.map_or(0, |it| it.repeats.saturating_add(1)),
        }
    }

    /// The end of the delay before the same value is written again; `None` if no delay is necessary.
    pub(super) fn waits_until(
        before: Option<LastWrite>,
        wanted: &QosAnnotations,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let before = before.filter(|it| it.wanted == hash_of(wanted) && !it.is_calm(now))?;
        let until = before.at.saturating_add(before.delay()).ok()?;
        // After the clock was set back, an earlier instant does not delay the write.
        (until > now && before.at <= now).then_some(until)
    }

    /// Whether the number of repeated writes has just reached the limit for an Event.
    pub(super) fn is_contested(&self) -> bool {
        self.repeats == IMMEDIATE_REPEATS
    }

    /// Whether to report the contention again: the API server has deleted the earlier Event by now.
    pub(super) fn is_reported_again(&self) -> bool {
        self.repeats >= IMMEDIATE_REPEATS + MAX_DOUBLINGS
    }

    fn delay(&self) -> SignedDuration {
        match self.repeats.checked_sub(IMMEDIATE_REPEATS) {
            None => SignedDuration::ZERO,
            Some(doublings) => FIRST_DELAY * 2_i32.pow(doublings.min(MAX_DOUBLINGS)),
        }
    }

    fn is_calm(&self, now: Timestamp) -> bool {
        now.duration_since(self.at) > self.delay() + self.delay() + CALM
    }
}

fn hash_of(wanted: &QosAnnotations) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&wanted.policy, &wanted.applied).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(policy: &str, level: &str, original: &str) -> QosAnnotations {
        let [policy, level, original] = [policy, level, original].map(|it| Some(it.into()));
        QosAnnotations { level: level.clone(), original, policy, applied: level }
    }

    /// Writes as soon as allowed, against a field manager that reverts each write immediately.
    fn fight(wanted: &QosAnnotations, from: Timestamp, lasting: SignedDuration) -> Vec<i64> {
        let (mut last, mut now, mut writes) = (None, from, Vec::new());
        while now <= from + lasting {
            if let Some(until) = LastWrite::waits_until(last, wanted, now) {
                now = until;
                continue;
            }
            last = Some(LastWrite::note(last, wanted, now));
            writes.push(now.duration_since(from).as_secs());
            now += SignedDuration::from_millis(10);
        }
        writes
    }

    #[test]
    fn a_value_that_is_replaced_repeatedly_is_written_less_often() {
        let day = SignedDuration::from_hours(24);
        let writes = fight(&wanted("p", "-1", "1"), Timestamp::UNIX_EPOCH, day);
        assert_eq!(writes[..8], [0, 0, 0, 0, 1, 3, 7, 15], "{writes:?}");
        assert!(writes.len() < 4 + 12 + 24, "{writes:?}");
        let last = writes.len() - 1;
        assert_eq!(writes[last] - writes[last - 1], 4096, "{writes:?}");
    }

    #[test]
    fn another_value_is_written_immediately() {
        let (first, then) = (wanted("p", "-1", "1"), wanted("q", "-1", "1"));
        let mut last = None;
        for _ in 0..10 {
            last = Some(LastWrite::note(last, &first, Timestamp::UNIX_EPOCH));
        }
        let now = Timestamp::UNIX_EPOCH;
        assert!(LastWrite::waits_until(last, &first, now).is_some());
        // A change of the user's level is not a new value.
        assert!(LastWrite::waits_until(last, &wanted("p", "-1", "2"), now).is_some());
        assert_eq!(LastWrite::waits_until(last, &then, now), None);
        assert_eq!(LastWrite::waits_until(last, &QosAnnotations::default(), now), None);
        assert_eq!(LastWrite::note(last, &then, now).repeats, 0);
    }

    #[test]
    fn neither_an_old_write_nor_a_write_after_a_clock_set_back_is_contested() {
        let written = wanted("p", "-1", "1");
        let mut last = None;
        for _ in 0..5 {
            last = Some(LastWrite::note(last, &written, Timestamp::UNIX_EPOCH));
        }
        let later = Timestamp::UNIX_EPOCH + SignedDuration::from_mins(11);
        assert_eq!(LastWrite::note(last, &written, later).repeats, 0);
        let before = Timestamp::UNIX_EPOCH - SignedDuration::from_hours(1);
        assert_eq!(LastWrite::waits_until(last, &written, before), None);
    }
}
