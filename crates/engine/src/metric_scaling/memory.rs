//! The policy state of an autoscaler: its recommendations and its changes of the replicas.
//!
//! The object's status stores it. Only entries that can still affect a decision are kept: recommendations within the
//! longer of the two windows, and changes within the longest period of a policy.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{Direction, MetricScaling};
use crate::Identity;

/// The policy state of one autoscaler.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// The recommendations, oldest first. Each applies until the next one, and the last one still applies.
    pub recommendations: Vec<Recommendation>,
    /// Whether earlier recommendations exist that are unknown.
    pub is_lost: bool,
    /// The autoscaler's changes of the replicas, oldest first.
    pub scale_events: Vec<ScaleEvent>,
    /// The last write of the replicas.
    pub last_scale: Option<LastScale>,
    /// The contention with another field manager that sets different replicas; `None` after it ends.
    pub contest: Option<Contest>,
    /// The reason that the last attempt to set the replicas failed; `None` once they have the desired value.
    pub failure: Option<Arc<str>>,
    /// The target of this policy state, as a string; `None` before the first decision.
    pub target: Option<Arc<str>>,
    /// The desired replicas when the status was written. The status may lack later actions. `None` once these are
    /// accounted for.
    pub written_with: Option<u32>,
}

/// A recommendation that applies from an instant on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recommendation {
    /// The instant from which it applies.
    pub since: Timestamp,
    /// The recommended replicas, before the bounds.
    pub replicas: u32,
}

/// A change of the replicas by the autoscaler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScaleEvent {
    /// The instant of the change.
    pub at: Timestamp,
    /// The direction.
    pub direction: Direction,
    /// The number of added or removed replicas.
    pub change: u32,
}

/// The replicas that were last set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastScale {
    /// The instant of the write.
    pub at: Timestamp,
    /// The number of replicas.
    pub replicas: u32,
    /// The number of consecutive replacements of the previously set value by another field manager.
    pub again: u32,
}

/// Contention with another field manager that sets different replicas.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contest {
    /// The instant of the last detection.
    pub at: Timestamp,
    /// The value of the other field manager at that time.
    pub found: u32,
    /// The name of the other field manager; `None` if it is unknown.
    pub by: Option<Arc<str>>,
}

/// Up to this number of consecutive times, a value is set again after one query period; then after a delay that
/// doubles.
const AT_ONCE: u32 = 3;

/// The first and the maximum delay: in the long run, at most three writes an hour.
const INITIAL_BACKOFF: SignedDuration = SignedDuration::from_mins(1);
const MAX_BACKOFF: SignedDuration = SignedDuration::from_mins(20);

/// A value that has stayed for this long beyond its delay is no longer contested.
const CALM: SignedDuration = SignedDuration::from_mins(10);

impl LastScale {
    /// The backoff before a value that another field manager has replaced is set again. With a query period of zero,
    /// the backoff is zero.
    pub(super) fn backoff(&self, query_period: SignedDuration) -> SignedDuration {
        if query_period.is_zero() { query_period } else { self.doubled().max(query_period) }
    }

    /// The delay, doubled for each further replacement.
    fn doubled(&self) -> SignedDuration {
        let doublings = self.again.checked_sub(AT_ONCE);
        let backoff = doublings.map(|doublings| INITIAL_BACKOFF * 2_i32.pow(doublings.min(8)));
        backoff.map_or(SignedDuration::ZERO, |backoff| backoff.min(MAX_BACKOFF))
    }

    /// Whether another field manager has replaced the value so often that each write waits for a delay.
    pub(super) fn is_contested(&self) -> bool {
        self.again >= AT_ONCE
    }

    /// The number of consecutive replacements, given whether the value is replaced again after this time.
    fn count(&self, is_replaced: bool, now: Timestamp) -> u32 {
        let is_calm = now.duration_since(self.at) > self.doubled() * 2 + CALM;
        let before = if is_calm { 0 } else { self.again };
        before.saturating_add(u32::from(is_replaced))
    }
}

/// The time without replacements after which the contention is assumed to be over.
pub(super) const QUIET: SignedDuration = SignedDuration::from_mins(2);

/// The maximum number of recommendations in the policy state. Only recommendations that rise and fall without end reach
/// it.
pub const MAX_RECOMMENDATIONS: usize = 256;

/// The maximum number of changes in the policy state.
pub const MAX_SCALE_EVENTS: usize = 256;

impl Memory {
    /// The policy state for a decision at an instant, given the replicas that are set now.
    pub(super) fn carried_over(
        &self,
        target: &Identity,
        replicas: Option<u32>,
        now: Timestamp,
    ) -> Memory {
        // The policy state of a different target is of no use.
        let is_other = self.target.as_ref().is_some_and(|known| **known != *target.to_string());
        let mut memory = if is_other { Memory::default() } else { self.clone() };
        memory.target.get_or_insert_with(|| Arc::from(target.to_string()));
        // An instant ahead of now comes from a clock that was wrong, or that was set back.
        for recommendation in &mut memory.recommendations {
            recommendation.since = recommendation.since.min(now);
        }
        for event in &mut memory.scale_events {
            event.at = event.at.min(now);
        }
        memory.last_scale =
            memory.last_scale.map(|last| LastScale { at: last.at.min(now), ..last });
        if let Some(contest) = &mut memory.contest {
            contest.at = contest.at.min(now);
        }
        if let Some((written, replicas)) = memory.written_with.zip(replicas) {
            memory.written_with = None;
            memory.record_unwritten_scaling(written, replicas, now);
        }
        if let Some(replicas) = replicas.filter(|_| memory.is_lost) {
            memory.is_lost = false;
            memory.recommendations = vec![Recommendation { since: now, replicas }];
        }
        if memory.contest_ends().is_some_and(|end| end <= now) {
            memory.contest = None;
        }
        memory
    }

    /// If the replicas differ from the status, a process might have set them and ended before it wrote the status. The
    /// difference is then recorded as a change now, and as recommended until now. The record delays later changes, and
    /// accelerates none.
    fn record_unwritten_scaling(&mut self, written: u32, replicas: u32, now: Timestamp) {
        if written != replicas {
            self.recommend(replicas, now);
            self.scaled(written, replicas, now);
        }
    }

    /// The instant at which contention is assumed to be over unless it is detected again. `None` while a replaced value
    /// must still be set again: contention cannot be detected before that.
    pub(super) fn contest_ends(&self) -> Option<Timestamp> {
        let contest = self.contest.as_ref()?;
        let backoff = self.last_scale.map_or(SignedDuration::ZERO, |it| it.doubled());
        contest.at.saturating_add(QUIET + backoff).ok()
    }

    /// Records the recommendations from now on.
    pub(super) fn recommend(&mut self, replicas: u32, now: Timestamp) {
        if self.recommendations.last().is_none_or(|last| last.replicas != replicas) {
            self.recommendations.push(Recommendation { since: now, replicas });
        }
    }

    /// Records that the autoscaler has set the replicas.
    pub(super) fn scaled(&mut self, from: u32, replicas: u32, now: Timestamp) {
        let again = self.last_scale.map_or(0, |last| last.count(last.replicas != from, now));
        self.last_scale = Some(LastScale { at: now, replicas, again });
        self.failure = None;
        if from == replicas {
            return;
        }
        let direction = if replicas > from { Direction::Up } else { Direction::Down };
        let change = replicas.abs_diff(from);
        self.scale_events.push(ScaleEvent { at: now, direction, change });
    }

    /// Discards entries that can no longer affect a decision.
    pub(super) fn trim(&mut self, policy: &MetricScaling, now: Timestamp) {
        let window = policy.up.window_seconds.max(policy.down.window_seconds);
        let cutoff = before(now, window);
        // A recommendation applies until the next one starts.
        let ended = self.recommendations.windows(2);
        let ended = ended.take_while(|pair| pair[1].since <= cutoff).count();
        self.recommendations.drain(..ended);
        self.remove_ineffective();
        let up = policy.up.longest_period().map(|period| before(now, period));
        let down = policy.down.longest_period().map(|period| before(now, period));
        // A change in one direction marks the start of a period of the other direction.
        let cutoff = up.into_iter().chain(down).min().unwrap_or(now);
        self.scale_events.retain(|event| event.at > cutoff);
        if let Some(excess) = self.scale_events.len().checked_sub(MAX_SCALE_EVENTS) {
            // The remaining part of the oldest entry belongs to the first entry that stays.
            for _ in 0..excess {
                let oldest = self.scale_events.remove(0);
                if let Some(next) =
                    self.scale_events.iter_mut().find(|it| it.direction == oldest.direction)
                {
                    next.change = next.change.saturating_add(oldest.change);
                }
            }
        }
    }

    /// Keeps only the recommendations that can become the largest or the smallest of a window. A recommendation that a
    /// later one reaches in both directions cannot.
    fn remove_ineffective(&mut self) {
        let (mut largest, mut smallest) = (None::<u32>, None::<u32>);
        let mut kept = Vec::with_capacity(self.recommendations.len());
        for recommendation in self.recommendations.iter().rev() {
            let replicas = recommendation.replicas;
            let counts =
                largest.is_none_or(|it| replicas > it) || smallest.is_none_or(|it| replicas < it);
            largest = largest.max(Some(replicas));
            smallest = Some(smallest.map_or(replicas, |it| it.min(replicas)));
            kept.push((*recommendation, counts));
        }
        kept.reverse();
        // A recommendation without effect still ends the previous one.
        let mut previous_counts = false;
        self.recommendations.clear();
        for (recommendation, counts) in kept {
            if counts || previous_counts {
                self.recommendations.push(recommendation);
            }
            previous_counts = counts;
        }
        while self.recommendations.len() > MAX_RECOMMENDATIONS {
            // The oldest recommendation then seems to have applied longer, so that it does not accelerate any scaling.
            self.recommendations.remove(1);
        }
    }

    /// The latest instant in the policy state.
    pub(super) fn known_until(&self) -> Option<Timestamp> {
        let recommended = self.recommendations.last().map(|it| it.since);
        let scaled = self.last_scale.map(|it| it.at);
        recommended.into_iter().chain(scaled).max()
    }

    /// The policy state with more of the recent past, of two states of one object.
    #[must_use]
    pub fn joined(self, other: Memory) -> Memory {
        match (self.is_lost, other.is_lost) {
            (true, false) => other,
            (false, true) => self,
            _ if other.known_until() > self.known_until() => other,
            _ => self,
        }
    }
}

/// A number of seconds before an instant.
pub(super) fn before(at: Timestamp, seconds: u32) -> Timestamp {
    at.checked_sub(SignedDuration::from_secs(seconds.into())).unwrap_or(Timestamp::MIN)
}

/// A number of seconds after an instant; `None` if that is out of range.
pub(super) fn after(at: Timestamp, seconds: u32) -> Option<Timestamp> {
    at.checked_add(SignedDuration::from_secs(seconds.into())).ok()
}
