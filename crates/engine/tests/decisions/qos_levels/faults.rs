//! Proof that the checker and the month can fail: decisions with one fault each, and the check that
//! must catch each of them.

use almanac_checker::{Fault, prove};
use almanac_engine::qos_levels::{
    Cause, DecidedPod, Decision, Input, ListInForce, QosAnnotations, QosLevels, decide,
};
use almanac_engine::{Action, Reason, Verdict};
use jiff::Timestamp;

use super::month::{Logic, Month, of_each_list, refollowed, taken_for_empty};
use crate::support::NANOSECOND;

type Spoil = fn(&Input<'_>, Timestamp, &mut Decision);

/// Changes pods, and writes the results.
fn spoil(decision: &mut Decision, spoil: impl Fn(&mut DecidedPod)) {
    decision.pods.iter_mut().for_each(spoil);
    write_again(decision);
}

fn write_again(decision: &mut Decision) {
    let written = decision.pods.iter().filter(|it| it.is_written());
    let annotate = |it: &DecidedPod| Action::Annotate {
        pod: it.pod.clone(),
        annotations: Box::new(it.wanted.clone()),
    };
    decision.actions = written.map(annotate).collect();
}

fn spoil_set(decision: &mut Decision, change: impl Fn(&mut QosAnnotations)) {
    spoil(decision, |it| {
        if it.policy.is_some() {
            change(&mut it.wanted);
        }
    });
}

fn spoil_restored(decision: &mut Decision, change: impl Fn(&mut QosAnnotations)) {
    spoil(decision, |it| {
        if it.policy.is_none() {
            change(&mut it.wanted);
        }
    });
}

/// The faults that the month detects as well.
const FAULTS: [Fault<Spoil>; 14] = [
    ("never apply a policy", "is left out, though", |_, _, it| {
        it.pods.retain(|pod| pod.policy.is_none());
        write_again(it);
    }),
    ("never restore a level", "is left as a policy has made it", |_, _, it| {
        it.pods.retain(|pod| pod.policy.is_some());
        write_again(it);
    }),
    ("never write the last pod", "instead of [Annotate", |input, _, it| {
        let last = input.pods.last().map(|it| it.identity);
        it.actions.retain(|action| Some(action.target()) != last);
    }),
    ("save no original", "is what the user of", |_, _, it| spoil_set(it, |it| it.original = None)),
    ("save the original as none", "is what the user of", |_, _, it| {
        spoil_set(it, |it| it.original = Some("".into()));
    }),
    ("save what they have set as the original", "is what the user of", |_, _, it| {
        spoil(it, |it| {
            if it.policy.is_some() {
                it.wanted.original = Some(it.found.level.clone().unwrap_or_default());
            }
        });
    }),
    ("restore by removing the level", "and becomes", |_, _, it| {
        spoil_restored(it, |it| it.level = None);
    }),
    ("leave their marks", "and becomes", |_, _, it| {
        spoil_restored(it, |it| it.policy = Some("old".into()));
    }),
    ("do not say what they have set", "does not say what", |_, _, it| {
        spoil_set(it, |it| it.applied = None);
    }),
    ("say that they have set another level", "does not say what", |_, _, it| {
        spoil_set(it, |it| it.applied = Some("9".into()));
    }),
    ("set another level", " gets Some(\"7\")", |_, _, it| {
        spoil_set(it, |it| it.level = Some("7".into()));
    }),
    ("wake a nanosecond late", "would sleep past", |_, _, it| {
        it.wake_at = it.wake_at.map(|at| at + NANOSECOND);
    }),
    ("never wake", "would sleep past", |_, _, it| it.wake_at = None),
    ("wake now", "which is over", |_, now, it| it.wake_at = it.wake_at.map(|_| now)),
];

const FOUND_BY_THE_CHECKER: [Fault<Spoil>; 8] = [
    ("decide a pod twice", "is decided twice", |_, _, it| {
        it.pods.extend(it.pods.first().cloned());
    }),
    ("decide a pod that is not there", "not there to be changed", |_, _, it| {
        spoil(it, |it| it.pod = almanac_fixtures::levels::pod_name("other"));
    }),
    ("decide a pod of an unknown list", "its list is unknown", |input, _, it| {
        let is_unknown = |list| !matches!(list, ListInForce::Known(..));
        let unknown = input.pods.iter().filter(|it| is_unknown(it.list));
        it.pods.extend(unknown.map(|pod| DecidedPod {
            pod: pod.identity.clone(),
            reason: Reason {
                rule: None,
                verdict: Verdict::Won,
                cause: Cause::NothingOpen { entry: None },
                since: None,
                until: None,
            },
            policy: None,
            opened: None,
            wanted: pod.pod.annotations(),
            found: pod.pod.annotations(),
        }));
    }),
    ("take a pod for another", "is taken for another", |_, _, it| {
        spoil(it, |it| it.found.level = Some("other".into()));
    }),
    ("restore a pod too early", "is restored, though", |_, _, it| {
        spoil(it, |it| {
            let level = it.found.level_of_user();
            (it.policy, it.wanted) = (None, QosAnnotations { level, ..QosAnnotations::default() });
        });
    }),
    ("name another policy", "but is not the first in force", |_, _, it| {
        spoil(it, |it| it.policy = it.policy.as_ref().map(|_| "other".into()));
    }),
    ("do not say which policy it was", "does not say that", |_, _, it| {
        spoil_set(it, |it| it.policy = None);
    }),
    ("wake a nanosecond early", "which is no boundary", |_, _, it| {
        it.wake_at = it.wake_at.map(|at| at - NANOSECOND);
    }),
];

fn logic(spoil: Spoil, is_checked: bool) -> Logic<'static> {
    let corrupted = move |input: &Input<'_>, now: Timestamp| {
        let mut decision = decide(input, now);
        spoil(input, now, &mut decision);
        decision
    };
    Logic { decide: Box::new(corrupted), is_checked, ..Logic::sound() }
}

/// The failures of months with this logic, the same in each run.
fn months(logic: Logic<'static>) -> impl Iterator<Item = String> {
    (0..8).filter_map(move |seed| Month::new(seed, &logic).live(600).err())
}

#[test]
fn every_fault_in_a_decision_is_caught_by_its_check() {
    let all = [&FAULTS[..], &FOUND_BY_THE_CHECKER].concat();
    prove(&["qos_levels.rs"], &all, |spoil| months(logic(*spoil, true)));
}

/// Faults in the policies in force, in the treatment of unusable lists, and in the writes.
const FAULTY_LOGICS: [Fault<fn() -> Logic<'static>>; 5] = [
    ("apply the last open policy instead of the first", "", || {
        with_levels(|it| of_each_list(it, |all| all.reverse()))
    }),
    ("apply disabled policies", "", || {
        with_levels(|it| {
            of_each_list(it, |all| all.iter_mut().for_each(|it| it.is_enabled = true));
        })
    }),
    ("take an unusable list for an empty one", "", || Logic {
        decide: Box::new(|input, now| decide(&taken_for_empty(input), now)),
        ..Logic::sound()
    }),
    ("forget lists while they are unusable", "", || Logic { keeps_lists: false, ..Logic::sound() }),
    ("write over edits that were not seen", "", || Logic { is_guarded: false, ..Logic::sound() }),
];

fn with_levels(change: fn(&mut QosLevels)) -> Logic<'static> {
    let decide_with = move |input: &Input<'_>, now: Timestamp| {
        let mut policy = input.policy.clone();
        change(&mut policy);
        decide(&Input { policy: &policy, ..refollowed(input, &policy) }, now)
    };
    Logic { decide: Box::new(decide_with), ..Logic::sound() }
}

#[test]
fn the_month_finds_faults_without_the_checker() {
    let faults = FAULTS.map(|(fault, _, spoil)| (fault, "", spoil));
    prove(&[], &faults, |spoil| months(logic(*spoil, false)));
    prove(&[], &FAULTY_LOGICS, |faulty| months(Logic { is_checked: false, ..faulty() }));
    assert_eq!(months(logic(|_, _, _| {}, false)).next(), None);
}
