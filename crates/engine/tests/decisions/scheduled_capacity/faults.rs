//! Proof that the checker and the properties can fail: decisions and turns with one fault each, and
//! the check that must catch each of them.

use almanac_checker::{Fault, prove};
use almanac_engine::scheduled_capacity::{Decision, Input, Recorded, decide};
use almanac_engine::turn::Turn;
use almanac_engine::{Value, World};
use jiff::{SignedDuration, Timestamp};

use super::properties::{cases, check};
use crate::support::NANOSECOND;
use crate::support::property::failures;

type Spoil = fn(&Input<'_>, Timestamp, &mut Decision);

/// Lets a behavior win whether or not it is open.
fn let_win(input: &Input<'_>, now: Timestamp, it: &mut Decision, is_open: bool) {
    let all = input.policy.behaviors.iter();
    let other = all.enumerate().find(|(index, behavior)| {
        let is_other = it.memory.winner.is_some_and(|winner| winner as usize != *index);
        is_other && behavior.windows.is_open(now) == is_open
    });
    if let Some((index, behavior)) = other {
        (it.memory.winner, it.memory.value) = (u32::try_from(index).ok(), behavior.value);
    }
}

const FAULTS: [Fault<Spoil>; 20] = [
    ("publish another number than the winner's", "is not what behavior", |_, _, it| {
        it.memory.value += u32::from(it.memory.winner.is_some());
    }),
    ("publish another number than the default", "is not the default", |_, _, it| {
        it.memory.value += u32::from(it.memory.winner.is_none());
    }),
    ("let none win", "is open, but does not win", |input, _, it| {
        (it.memory.winner, it.memory.value) = (None, input.policy.default_value);
    }),
    ("let a behavior win that is not there", "there is no behavior", |_, _, it| {
        it.memory.winner = Some(99);
    }),
    ("let a closed behavior win", "wins, but is closed", |input, now, it| {
        let_win(input, now, it, false);
    }),
    ("let a lower behavior win", "which is above it", |input, now, it| {
        let_win(input, now, it, true);
    }),
    ("give another reason", "do not name the winner", |_, _, it| {
        it.reasons.iter_mut().for_each(|reason| reason.rule = Some(99));
    }),
    ("give no reason", "do not name the winner", |_, _, it| it.reasons.clear()),
    ("record what has yet to happen", "before it has happened", |_, now, it| {
        it.recorded = vec![Recorded { at: now, before: None, published: it.memory }];
    }),
    ("never publish", "instead of [Publish", |_, _, it| it.actions.clear()),
    ("announce a number for now", "not within a year", |_, now, it| {
        it.memory.next.iter_mut().for_each(|next| next.at = now);
    }),
    ("announce the same number", "again", |_, _, it| {
        let value = it.memory.value;
        it.memory.next.iter_mut().for_each(|next| next.value = value);
    }),
    ("announce another number", "nothing that is open at", |_, _, it| {
        it.memory.next.iter_mut().for_each(|next| next.value += 1);
    }),
    ("announce a number late", "nothing opens or closes", |_, _, it| {
        it.memory.next.iter_mut().for_each(|next| next.at += NANOSECOND);
    }),
    ("announce nothing", "the transitions lead to", |_, _, it| it.memory.next = None),
    ("wake now", "which is over", |_, now, it| it.wake_at = Some(now)),
    ("wake a nanosecond late", "would sleep past", |_, _, it| {
        it.wake_at = it.wake_at.map(|at| at + NANOSECOND);
    }),
    ("never wake", "would sleep past", |_, _, it| it.wake_at = None),
    ("wake a nanosecond early", "nothing changes at", |_, _, it| {
        it.wake_at = it.wake_at.map(|at| at - NANOSECOND);
    }),
    ("poll every fifteen seconds", "is before it wakes", |_, now, it| {
        let tick = now + SignedDuration::from_secs(15);
        it.wake_at = Some(it.wake_at.map_or(tick, |at| at.min(tick)));
    }),
];

#[test]
fn every_fault_in_a_decision_is_caught_by_its_check() {
    prove(&["scheduled_capacity.rs"], &FAULTS, |spoil| {
        let spoil = *spoil;
        failures(200, cases(), move |case| {
            let spoiled = |input: &Input<'_>, now: Timestamp| {
                let mut decision = decide(input, now);
                spoil(input, now, &mut decision);
                decision
            };
            check(&case, &spoiled, &|_, _| {})
        })
    });
}

type SpoilTurn = fn(&mut Turn, &mut World);

const TURN_FAULTS: [Fault<SpoilTurn>; 12] = [
    ("forget the number", "is settled as", |_, world| {
        world.scheduled_capacity.policies.values_mut().for_each(|it| it.memory = None);
    }),
    ("never wake", "wakes at None instead of", |it, _| it.wake_at = None),
    ("did something else", "is not what was done", |it, _| drop(it.done.pop())),
    ("forget the effect", "are not the effects", |it, _| it.effects.clear()),
    ("have the effect twice", "are not the effects", |it, _| {
        it.effects.extend(it.effects.first().cloned());
    }),
    ("set another value", "are not the effects", |it, _| {
        it.effects.iter_mut().for_each(|effect| effect.value = Value::Number(77));
    }),
    ("leave another value in the world", "are not the effects", |_, world| {
        let published =
            world.scheduled_capacity.policies.values_mut().filter_map(|it| it.memory.as_mut());
        published.for_each(|published| published.value = 77);
    }),
    ("forget to record another winner", "records []", |it, _| it.recorded.clear()),
    ("record another winner twice", "records [", |it, _| {
        it.recorded.extend(it.recorded.first().cloned());
    }),
    ("record another number", "records [", |it, _| record(it, |it| it.published.value = 77)),
    ("record another number before", "records [", |it, _| {
        record(it, |it| it.before = it.before.xor(Some(it.published)));
    }),
    ("record another instant", "records [", |it, _| record(it, |it| it.at += NANOSECOND)),
];

/// Changes what a turn records.
fn record(turn: &mut Turn, change: impl Fn(&mut Recorded)) {
    for one in &mut turn.recorded {
        if let almanac_engine::Recorded::ScheduledCapacity(recorded) = one {
            change(recorded);
        }
    }
}

#[test]
fn every_fault_in_the_result_of_a_turn_is_caught_by_its_check() {
    prove(&["schedule_settled.rs"], &TURN_FAULTS, |spoil| {
        let spoil = *spoil;
        failures(200, cases(), move |case| check(&case, &decide, &spoil))
    });
    assert_eq!(failures(200, cases(), |case| check(&case, &decide, &|_, _| {})).next(), None);
}
