//! Decides the current number, and the instant of its next change.

use jiff::{SignedDuration, Timestamp};

use super::{Behavior, Cause, Change, Input, PublishedNumber, Recorded, ScheduledCapacity};
use crate::reason::{Reasons, WholeChain, Winners};
use crate::{Action, Reason, Verdict};

/// The decision about a schedule.
pub type Decision = crate::Decision<Cause, PublishedNumber, Recorded>;

/// The maximum time until the next number for its announcement: the length of a leap year, so that the same day of the
/// next year is always included.
pub const LOOKS_AHEAD: SignedDuration = SignedDuration::from_hours(366 * 24);

/// The maximum number of earlier changes to search for the start of a winner.
const MAX_LOOKBACK: usize = 64;

/// Decides the number at `now`.
#[must_use]
pub fn decide(input: &Input<'_>, now: Timestamp) -> Decision {
    let mut reasons = Winners(Vec::with_capacity(1));
    let mut decision = decide_with(input, now, &mut reasons);
    decision.reasons = reasons.0;
    decision
}

/// The whole chain of reasons of [`decide`]: the verdict on every behavior.
#[must_use]
pub fn explain(input: &Input<'_>, now: Timestamp) -> Vec<Reason<Cause>> {
    let mut reasons = WholeChain(Vec::new());
    decide_with(input, now, &mut reasons);
    for reason in reasons.0.iter_mut().filter(|reason| reason.verdict == Verdict::Won) {
        let winner = reason.rule.map(|rule| rule as usize);
        reason.since = began_to_win(input.policy, winner, now);
    }
    reasons.0
}

/// The instant from which the winner has won. It may be later than the opening of the window, because a different
/// behavior may have won until then.
fn began_to_win(
    policy: &ScheduledCapacity,
    winner: Option<usize>,
    now: Timestamp,
) -> Option<Timestamp> {
    let mut until = now;
    // The search may meet a window without length, but not this many in a row.
    for _ in 0..MAX_LOOKBACK {
        let changes = deciding(policy, winner);
        let last = changes.filter_map(|(_, it)| it.windows.previous_transition(until));
        let last = last.map(|it| it.at).max()?;
        let before = last.checked_sub(SignedDuration::from_nanos(1)).ok()?;
        if winner_at(policy, before) != winner {
            return Some(last);
        }
        until = before;
    }
    None
}

/// The number at an instant, without the reason.
#[must_use]
pub fn value_at(policy: &ScheduledCapacity, at: Timestamp) -> u32 {
    value_of(policy, winner_at(policy, at))
}

/// The instant at which the number next changes. If that is more than a year after the next change of the winner, an
/// earlier instant.
#[must_use]
pub fn next_change(policy: &ScheduledCapacity, after: Timestamp) -> Option<Timestamp> {
    let winner = winner_at(policy, after);
    let first_change = winner_changes_after(policy, winner, after)?;
    let different = next_different(policy, winner, Some(first_change)).map(|change| change.at);
    different.or_else(|| first_change.checked_add(LOOKS_AHEAD).ok())
}

fn decide_with(input: &Input<'_>, now: Timestamp, reasons: &mut impl Reasons<Cause>) -> Decision {
    let policy = input.policy;
    let winner = winner_at(policy, now);
    let first_change = winner_changes_after(policy, winner, now);
    give_reasons(policy, winner, now, first_change, reasons);

    let value = value_of(policy, winner);
    let different = next_different(policy, winner, first_change);
    let in_sight = |change: &Change| change.at.duration_since(now) <= LOOKS_AHEAD;
    let published =
        PublishedNumber { value, winner: winner.map(position), next: different.filter(in_sight) };
    // A change that is too far in the future for its announcement is announced later, by time alone.
    let comes_into_sight = different
        .filter(|change| !in_sight(change))
        .and_then(|change| change.at.checked_sub(LOOKS_AHEAD).ok());
    let unchanged = input.published.is_some_and(|before| before.value == value);
    let publish = || Action::Publish { schedule: input.identity.clone(), value };
    Decision {
        actions: if unchanged { Vec::new() } else { vec![publish()] },
        reasons: Vec::new(),
        wake_at: first_change.into_iter().chain(comes_into_sight).min(),
        memory: published,
        recorded: Vec::new(),
    }
}

/// The open behavior with the highest priority; of several with equal priority, the first in the spec.
fn winner_at(policy: &ScheduledCapacity, at: Timestamp) -> Option<usize> {
    let reading = policy.zone.reading(at);
    let mut winner = None;
    for (index, behavior) in policy.behaviors.iter().enumerate() {
        if outranks(policy, index, winner) && behavior.windows.is_open_by(reading) {
            winner = Some(index);
        }
    }
    winner
}

/// Whether a behavior would outrank the current winner while open.
fn outranks(policy: &ScheduledCapacity, index: usize, winner: Option<usize>) -> bool {
    let Some(winner) = winner else { return true };
    let priority = |index: usize| policy.behaviors[index].priority;
    priority(index) > priority(winner) || (priority(index) == priority(winner) && index < winner)
}

/// The instant at which the winner closes, or a behavior that outranks it opens. Until then, behaviors of lower rank
/// have no effect.
fn winner_changes_after(
    policy: &ScheduledCapacity,
    winner: Option<usize>,
    after: Timestamp,
) -> Option<Timestamp> {
    let reading = policy.zone.reading(after);
    // Every behavior that outranks the winner is closed; otherwise it would have won.
    let changes = deciding(policy, winner)
        .filter_map(|(wins, it)| it.windows.next_transition_by(reading, wins));
    changes.map(|it| it.at).min()
}

/// The winner and the behaviors that outrank it, each with whether it is the winner.
fn deciding(
    policy: &ScheduledCapacity,
    winner: Option<usize>,
) -> impl Iterator<Item = (bool, &Behavior)> {
    let behaviors = policy.behaviors.iter().enumerate();
    let behaviors = behaviors.map(move |(index, it)| (index, winner == Some(index), it));
    let deciding =
        behaviors.filter(move |(index, wins, _)| *wins || outranks(policy, *index, winner));
    deciding.map(|(_, wins, behavior)| (wins, behavior))
}

/// The first change of the winner that results in a different number. The search covers a year from the first change.
/// By its end, a new decision has been made.
fn next_different(
    policy: &ScheduledCapacity,
    winner: Option<usize>,
    first_change: Option<Timestamp>,
) -> Option<Change> {
    let value_now = value_of(policy, winner);
    let mut at = first_change?;
    let last = at.saturating_add(LOOKS_AHEAD).ok()?;
    while at <= last {
        let winner = winner_at(policy, at);
        let value = value_of(policy, winner);
        if value != value_now {
            return Some(Change { at, value });
        }
        at = may_differ_after(policy, value, winner, at)?;
    }
    None
}

/// The first instant at which the value can differ, or an earlier one. Usually that is the next change of the winner.
/// While every open behavior agrees with the default, it is the opening of a behavior that disagrees. So the search
/// skips a year of windows that change nothing.
fn may_differ_after(
    policy: &ScheduledCapacity,
    value: u32,
    winner: Option<usize>,
    at: Timestamp,
) -> Option<Timestamp> {
    let others = || policy.behaviors.iter().filter(|it| it.value != value);
    if policy.default_value != value || others().any(|it| it.windows.is_open(at)) {
        return winner_changes_after(policy, winner, at);
    }
    others().filter_map(|it| it.windows.next_transition(at)).map(|it| it.at).min()
}

fn value_of(policy: &ScheduledCapacity, winner: Option<usize>) -> u32 {
    winner.map_or(policy.default_value, |index| policy.behaviors[index].value)
}

fn give_reasons(
    policy: &ScheduledCapacity,
    winner: Option<usize>,
    now: Timestamp,
    until: Option<Timestamp>,
    reasons: &mut impl Reasons<Cause>,
) {
    let won = |rule, cause| Reason { rule, verdict: Verdict::Won, cause, since: None, until };
    match winner {
        Some(index) => reasons.won(won(Some(position(index)), Cause::Open)),
        None => reasons.won(won(None, Cause::NothingOpen)),
    }
    for (index, behavior) in policy.behaviors.iter().enumerate() {
        if winner == Some(index) {
            continue;
        }
        reasons.other(|| {
            let windows = &behavior.windows;
            let (verdict, cause) = match winner.filter(|_| windows.is_open(now)) {
                None => (Verdict::Inactive, Cause::Closed),
                Some(winner) => {
                    let than = position(winner);
                    let cause = if behavior.priority < policy.behaviors[winner].priority {
                        Cause::LowerPriority { than }
                    } else {
                        Cause::LaterInTheSpec { than }
                    };
                    (Verdict::Lost, cause)
                }
            };
            Reason {
                rule: Some(position(index)),
                verdict,
                cause,
                since: windows.previous_transition(now).map(|it| it.at),
                until: windows.next_transition(now).map(|it| it.at),
            }
        });
    }
}

/// The conversion cannot saturate: a spec has a bounded number of behaviors.
fn position(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
